"""Generators: states, seeds, forks, and what operators draw from them."""

import copy
import functools
import json
import pickle
import sys

import numpy as np
import pytest
from scipy import stats

import lamella as lm
from support.threads import run_on_threads

WORD = 2**64 - 1
DRAWS = {
    "rand": lambda g: lm.rand([1003], generator=g),
    "randn": lambda g: lm.randn([1003], dtype="float64", generator=g),
    "uniform": lambda g: lm.uniform([100], -2.0, 3.0, dtype="bfloat16", generator=g),
    "normal": lambda g: lm.normal([101], 1.0, 0.1, generator=g),
    "randint": lambda g: lm.randint(-50, 50, [1001], dtype="int8", generator=g),
    "randperm": lambda g: lm.randperm(100, generator=g),
    "bernoulli": lambda g: lm.bernoulli(lm.full([1000], 0.3), generator=g),
    "dropout": lambda g: lm.dropout(lm.ones([1000]), 0.3, generator=g),
    "nn.functional.dropout": lambda g: lm.nn.functional.dropout(lm.ones([1000]), generator=g),
    "init.uniform_": lambda g: lm.nn.init.uniform_(lm.empty([30, 40]), -1.0, 1.0, generator=g),
    "init.normal_": lambda g: lm.nn.init.normal_(lm.empty([30, 40], dtype="float64"), generator=g),
    "init.xavier_uniform_": lambda g: lm.nn.init.xavier_uniform_(lm.empty([30, 40]), generator=g),
    "init.xavier_normal_": lambda g: lm.nn.init.xavier_normal_(lm.empty([30, 40]), 2.0, generator=g),
    "init.kaiming_uniform_": lambda g: lm.nn.init.kaiming_uniform_(lm.empty([30, 40]), generator=g),
    "init.kaiming_normal_": lambda g: lm.nn.init.kaiming_normal_(lm.empty([30, 40]), mode="fan_out", generator=g),
}


def bits(x):
    return x.to(lm.float64).numpy().tobytes()


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_operators_draw_from_the_generator_they_are_given(draw):
    g = lm.Generator(seed=3)
    before = lm.get_rng_state()
    first, second = bits(draw(g)), bits(draw(g))
    assert lm.get_rng_state() == before, "the default generator was drawn from"
    assert first != second and g.get_state()[1] > 0
    assert bits(draw(lm.Generator("cpu", 3))) == first
    # Without one they draw from the default one, as the same seed has it.
    lm.seed(3)
    assert bits(draw(None)) == first
    assert bits(draw(lm.random.default_generator())) == second
    assert lm.get_rng_state() == g.get_state()


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_number_of_threads_changes_nothing(draw):
    before = lm.get_num_threads()
    try:
        results = set()
        for threads in (1, 2, 3, 7):
            lm.set_num_threads(threads)
            results.add(bits(draw(lm.Generator(seed=11))))
        assert len(results) == 1
    finally:
        lm.set_num_threads(before)


def test_large_draws_are_the_same_for_any_number_of_threads():
    before = lm.get_num_threads()
    try:
        results = set()
        for threads in (1, 2, 5):
            lm.set_num_threads(threads)
            g = lm.Generator(seed=1)
            results.add((bits(lm.randn([200_003], generator=g)), bits(lm.dropout(lm.ones([100_001]), generator=g))))
        assert len(results) == 1
    finally:
        lm.set_num_threads(before)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize(
    "wrong",
    [3, "cpu", object(), np.random.default_rng(), lm.Generator],
    ids=["int", "str", "object", "of numpy", "class"],
)
def test_what_is_no_generator(draw, wrong):
    with pytest.raises(TypeError, match="generator"):
        draw(wrong)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_generator_of_another_device(draw):
    g = lm.Generator("cuda:1", 4)
    with pytest.raises(ValueError, match=r"cuda:1.*cpu"):
        draw(g)
    assert g.get_state() == (4, 0, 0)


def test_a_generator_is_a_keyword():
    g = lm.Generator()
    for call in (
        lambda: lm.rand([2], None, None, g),
        lambda: lm.randperm(2, g),
        lambda: lm.bernoulli(lm.ones(2), g),
        lambda: lm.dropout(lm.ones(2), 0.5, True, g),
        lambda: lm.nn.init.uniform_(lm.ones(2), 0.0, 1.0, g),
    ):
        with pytest.raises(TypeError):
            call()


def test_what_draws_nothing_still_looks_at_its_generator():
    other = lm.Generator("cuda")
    x = lm.ones([3])
    for call in (lambda: lm.dropout(x, 0.5, training=False, generator=other), lambda: lm.rand([0], generator=other)):
        with pytest.raises(ValueError, match="cuda:0"):
            call()
    g = lm.Generator()
    lm.dropout(x, 0.5, training=False, generator=g)
    lm.rand([0], generator=g)
    lm.rand([7], device="meta", generator=g)
    lm.rand([7], device="meta", generator=other)
    lm.nn.init.normal_(lm.empty([3, 4], device="meta"), generator=g)
    assert g.get_state()[1] == 0


def test_members():
    g = lm.Generator(seed=5)
    assert g.device == "cpu" and g.initial_seed() == 5 and g.get_state() == (5, 0, 0)
    assert lm.Generator("cuda").device == "cuda:0" and lm.Generator(device="cuda:3").device == "cuda:3"
    assert g.manual_seed(7) is g and g.initial_seed() == 7
    lm.rand([9], generator=g)
    g.fork()
    assert g.get_state() == (7, 3, 1)
    assert repr(g) == "<lamella.Generator device='cpu' seed=7 offset=3 forks=1>"
    drawn = g.seed()
    assert g.get_state() == (drawn, 0, 0) and 0 <= drawn <= WORD and g.seed() != drawn
    assert lm.Generator().initial_seed() == lm.Generator(seed=None).initial_seed()
    assert bits(lm.rand([5], generator=lm.Generator())) == bits(lm.rand([5], generator=lm.Generator()))
    with pytest.raises(AttributeError):
        g.device = "cuda"
    with pytest.raises(TypeError):
        type("Mine", (lm.Generator,), {})


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1, 2**63, WORD, -1, -(2**63), np.int32(4), np.uint64(WORD)])
def test_seeds(seed):
    expected = int(seed) % 2**64
    assert lm.Generator(seed=seed).initial_seed() == expected
    assert lm.Generator().manual_seed(seed).initial_seed() == expected
    with lm.random.fork_rng():
        lm.seed(seed)
        assert lm.get_rng_state() == (expected, 0, 0)


@pytest.mark.parametrize(
    ("seed", "error"),
    [
        ("1", TypeError),
        (1.0, TypeError),
        (True, TypeError),
        ([1], TypeError),
        (2**64, ValueError),
        (-(2**70), ValueError),
    ],
)
def test_wrong_seeds(seed, error):
    g = lm.Generator(seed=6)
    before = lm.get_rng_state()
    for call in (lambda: lm.Generator(seed=seed), lambda: g.manual_seed(seed), lambda: lm.seed(seed)):
        with pytest.raises(error, match="seed"):
            call()
    assert g.get_state() == (6, 0, 0) and lm.get_rng_state() == before


def test_wrong_devices():
    for device, error in [
        ("meta", ValueError),
        ("mars", ValueError),
        ("", ValueError),
        (0, TypeError),
        (None, TypeError),
    ]:
        with pytest.raises(error):
            lm.Generator(device)
        with pytest.raises(error):
            lm.random.default_generator(device)
    for arguments in [("cpu", 1, 2), ("cpu", 1, "cpu")]:
        with pytest.raises(TypeError):
            lm.Generator(*arguments)
    with pytest.raises(TypeError):
        lm.Generator(speed=1)
    missing = f"cuda:{lm.cuda.device_count()}"
    for call in (lm.random.default_generator, lm.get_rng_state, lambda device: lm.random.rng_states([device])):
        with pytest.raises(RuntimeError, match=missing):
            call(missing)


def test_a_state_goes_on():
    g = lm.Generator(seed=2)
    lm.randn([10], generator=g)
    state = g.get_state()
    numbers, fork = bits(lm.randn([10], generator=g)), g.fork().initial_seed()
    for same in (
        state,
        list(state),
        json.loads(json.dumps(state)),
        pickle.loads(pickle.dumps(state)),
        tuple(np.array(state, np.uint64)),
    ):
        other = lm.Generator()
        other.set_state(same)
        assert bits(lm.randn([10], generator=other)) == numbers and other.fork().initial_seed() == fork
    # Without forks: a state as it was before there were any.
    g.set_state((2, 3))
    assert g.get_state() == (2, 3, 0)
    g.set_state((WORD, WORD, WORD))
    assert g.get_state() == (WORD, WORD, WORD)
    assert np.isfinite(lm.rand([100], generator=g).numpy()).all(), "a stream that ends starts again"


WRONG_STATES = [
    (None, TypeError),
    ("abc", TypeError),
    (b"\0" * 24, TypeError),
    (7, TypeError),
    ({1: 2}, TypeError),
    (np.zeros(3, np.int64), TypeError),
    ((1.0, 0, 0), TypeError),
    ((True, 0, 0), TypeError),
    (("1", "2", "3"), TypeError),
    ((None, None), TypeError),
    ((), ValueError),
    ((1,), ValueError),
    ((1, 2, 3, 4), ValueError),
    ((-1, 0, 0), ValueError),
    ((0, 2**64, 0), ValueError),
    ((0, 0, -(2**80)), ValueError),
]


@pytest.mark.parametrize(("state", "error"), WRONG_STATES, ids=repr)
def test_wrong_states(state, error):
    g = lm.Generator(seed=6)
    before = lm.random.rng_states()
    for call in (
        g.set_state,
        g.__setstate__,
        lm.random.set_rng_state,
        lambda s: lm.random.set_rng_state(s, device="cpu"),
        lambda s: lm.random.restore_rng_states({"cpu": s}),
    ):
        with pytest.raises(error, match="state"):
            call(state)
    assert g.get_state() == (6, 0, 0) and lm.random.rng_states() == before


def test_an_item_that_changes_its_list():
    class Index:
        def __index__(self):
            state.clear()
            return 5

    state = [Index(), 1, 2]
    g = lm.Generator()
    g.set_state(state)
    assert g.get_state() == (5, 1, 2)

    class Broken:
        def __index__(self):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        g.set_state((0, Broken(), 0))
    with pytest.raises(KeyError, match="mine"):
        g.manual_seed(Broken())
    assert g.get_state() == (5, 1, 2)


@pytest.mark.parametrize(
    "again",
    [
        lm.Generator.clone,
        copy.copy,
        copy.deepcopy,
        *(lambda g, p=protocol: pickle.loads(pickle.dumps(g, p)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
def test_copies_stand_at_the_same_place(again, device):
    g = lm.Generator(device, 8)
    g.set_state((8, 5, 2))
    other = again(g)
    assert type(other) is lm.Generator and other is not g
    assert other.device == device and other.get_state() == (8, 5, 2)
    other.manual_seed(1)
    assert g.get_state() == (8, 5, 2)


def test_a_copy_of_the_default_generator_is_its_own():
    default = lm.random.default_generator()
    assert default.device == "cpu" and default.get_state() == lm.get_rng_state()
    other = pickle.loads(pickle.dumps(default))
    lm.rand([10], generator=other)
    assert other.get_state() != default.get_state() == lm.get_rng_state()
    with lm.random.fork_rng():
        default.manual_seed(77)
        assert lm.get_rng_state() == (77, 0, 0)


def test_forks_are_reproducible_and_leave_their_parent_alone():
    a, b = lm.Generator(seed=1), lm.Generator(seed=1)
    lm.rand([1000], generator=b)
    assert [g.initial_seed() for g in a.split(4)] == [b.fork().initial_seed() for _ in range(4)]
    assert a.get_state() == (1, 0, 4)
    assert bits(lm.rand([8], generator=a)) == bits(lm.rand([8], generator=lm.Generator(seed=1)))
    assert a.manual_seed(1).fork().initial_seed() == lm.Generator(seed=1).fork().initial_seed()
    assert all(g.get_state()[1:] == (0, 0) for g in a.split(3))
    assert [g.device for g in lm.Generator("cuda:2").split(2)] == ["cuda:2"] * 2
    assert a.split(0) == []
    for wrong, error in [
        (-1, ValueError),
        (2**62, MemoryError),
        (2**64, ValueError),
        (1.5, TypeError),
        ("2", TypeError),
    ]:
        with pytest.raises(error):
            a.split(wrong)


def test_forks_are_statistically_independent():
    root = lm.Generator(seed=0)
    family = [root, *root.split(10)]
    family += family[1].split(10)
    family += lm.Generator(seed=1).split(10)
    assert len({g.initial_seed() for g in family}) == len(family)
    n = 20_000
    numbers = np.stack([lm.rand([n], dtype="float64", generator=g).numpy() for g in family])
    for row in numbers:
        assert stats.kstest(row, "uniform").pvalue > 1e-4
    # Elements at one place, and neighbors: correlations of independent streams are normal, with variance 1 / n.
    for shift in (0, 1, 4):
        rows = np.roll(numbers, shift, axis=1)
        correlations = np.corrcoef(numbers, rows)[: len(family), len(family) :] * np.sqrt(n)
        z = correlations[np.triu_indices(len(family), 1)]
        assert np.max(np.abs(z)) < 4.5
        assert abs(np.mean(z**2) - 1) < 5 * np.sqrt(2 / len(z))
    # Interleaved, they are one uniform stream.
    cells = np.histogramdd(numbers[:2].T, bins=16, range=[(0, 1)] * 2)[0]
    assert stats.chisquare(cells.ravel()).pvalue > 1e-4
    assert stats.kstest(numbers.T.ravel(), "uniform").pvalue > 1e-4


def test_keys_of_forks_have_no_pattern():
    keys = np.array([g.initial_seed() for g in lm.Generator(seed=0).split(4096)], np.uint64)
    assert len(np.unique(keys)) == len(keys)
    ones = np.unpackbits(keys.view(np.uint8).reshape(-1, 8), axis=1)
    # Each of 64 bits is set in half of the keys, and neighbors differ in half of their bits.
    assert np.max(np.abs(ones.mean(axis=0) - 0.5)) < 5 * 0.5 / np.sqrt(len(keys))
    assert abs((ones[1:] != ones[:-1]).mean() - 0.5) < 0.005


def test_threads_with_their_own_generators_are_reproducible():
    def draw():
        generators = lm.Generator(seed=9).split(4)
        drawn = [None] * 4

        def work(i):
            drawn[i] = b"".join(bits(lm.randn([501], generator=generators[i])) for _ in range(30))

        run_on_threads(*[functools.partial(work, i) for i in range(4)])
        return drawn

    first = draw()
    assert first == draw() and len(set(first)) == 4


def test_threads_that_share_a_generator_draw_each_number_once():
    g = lm.Generator(seed=9)
    drawn = []

    def work():
        drawn.extend(lm.rand([4], generator=g).numpy().tobytes() for _ in range(500))

    run_on_threads(*[work] * 4)
    serial = lm.rand([2000, 4], generator=lm.Generator(seed=9)).numpy()
    assert sorted(drawn) == sorted(row.tobytes() for row in serial)
    assert g.get_state() == (9, 2000, 0)


def test_generators_are_freed():
    before = sys.getrefcount(lm.Generator)
    for _ in range(100):
        g = lm.Generator()
        g.split(3)
        g.fork()
        pickle.loads(pickle.dumps(g))
    del g
    assert sys.getrefcount(lm.Generator) <= before + 2
