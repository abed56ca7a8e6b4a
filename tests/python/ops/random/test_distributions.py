"""Distributions with parameters: what they are distributed as, their domains, in-place forms, vmap, threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lamella as lm
from support import default_device

from ..random_calls import RANDOM_CALLS, RANDOM_WITHOUT_GRADIENT

N = 50_000
vmap = lm.autograd.vmap

CONTINUOUS: dict[str, tuple[Callable[[str], lm.Tensor], Any]] = {
    "exponential": (lambda d: lm.exponential([N], 2.0, dtype=d), stats.expon(scale=0.5)),
    "laplace": (lambda d: lm.laplace([N], 1.0, 2.0, dtype=d), stats.laplace(1, 2)),
    "cauchy": (lambda d: lm.cauchy([N], 1.0, 2.0, dtype=d), stats.cauchy(1, 2)),
    "log_normal": (lambda d: lm.log_normal([N], 1.0, 0.5, dtype=d), stats.lognorm(0.5, scale=np.e)),
    **{
        f"gamma {a}": (lambda d, a=a: lm.gamma([N], a, 2.0, dtype=d), stats.gamma(a, scale=0.5))
        for a in (0.1, 0.5, 1.0, 2.5, 1000.0)
    },
    **{
        f"truncated_normal {low} {high}": (
            lambda d, low=low, high=high: lm.truncated_normal([N], 0.0, 1.0, low, high, dtype=d),
            stats.truncnorm(low, high),
        )
        for low, high in [(-2, 2), (-0.1, 0.2), (3, 9), (5, 5.01), (-9, -4), (-2, 30), (8, np.inf), (-np.inf, np.inf)]
    },
    "uniform by tensors": (
        lambda d: lm.uniform([N], lm.full([1], -1.0, dtype=d), lm.asarray(3.0, dtype=d)),
        stats.uniform(-1, 4),
    ),
    "normal by tensors": (lambda d: lm.normal([N], lm.full([N], 2.0, dtype=d), 0.5), stats.norm(2, 0.5)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str) -> None:
    draw, expected = CONTINUOUS[name]
    lm.seed(3)
    for dtype in ("float64", "float32"):
        x = draw(dtype)
        assert x.dtype.name == dtype and x.shape == (N,)
        if dtype == "float32" and name == "gamma 0.1":
            continue  # float32 has no numbers as small as its lower quantiles
        values = x.numpy().astype("float64")
        if dtype == "float32" and np.isclose(expected.std(), 0, atol=0.05):
            continue  # the interval has few float32 numbers
        assert stats.kstest(values, expected.cdf).pvalue > 1e-3


@pytest.mark.parametrize("rate", [0.2, 3.0, 9.9, 10.0, 40.0, 3000.0])
def test_poisson(rate: float) -> None:
    lm.seed(5)
    x = lm.poisson(lm.full([N], rate)).numpy()
    expected = stats.poisson(rate)
    edges = np.unique(expected.ppf(np.linspace(0.02, 0.98, 25)))
    counts = np.histogram(x, [-np.inf, *(edges + 0.5), np.inf])[0]
    chances = np.diff([0, *expected.cdf(edges), 1])
    assert stats.chisquare(counts, chances * N).pvalue > 1e-3
    assert (x == np.floor(x)).all() and x.min() >= 0


def test_geometric() -> None:
    lm.seed(6)
    x = lm.geometric([N], 0.25).numpy()
    counts = np.bincount(x.astype(int), minlength=21)[1:21]
    chances = stats.geom(0.25).pmf(np.arange(1, 21))
    assert x.min() == 1
    assert stats.chisquare([*counts, N - counts.sum()], [*(chances * N), N * (1 - chances.sum())]).pvalue > 1e-3
    assert (lm.geometric([9], 1.0).numpy() == 1).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_geometric_numbers_of_integers(dtype: str) -> None:
    lm.seed(6)
    x = lm.geometric([N], 0.25, dtype=dtype)
    assert x.dtype.name == dtype and abs(x.numpy().mean() - 4) < 0.1 and x.numpy().min() == 1
    lm.seed(6)
    assert (lm.zeros([N], dtype=dtype).geometric_(0.25) == x).all()
    # Numbers beyond the dtype's are its largest.
    assert lm.geometric([9], 1e-300, dtype=dtype).tolist() == [np.iinfo(dtype).max] * 9


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_in_place(dtype: str) -> None:
    lm.seed(4)
    x = lm.zeros([N], dtype=dtype).normal_(3.0, 2.0).numpy() - 3.0
    for part in (x.real, x.imag):
        assert stats.kstest(part, stats.norm(scale=np.sqrt(2)).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(x.real, x.imag)[0, 1]) < 0.02
    x = lm.zeros([N], dtype=dtype).uniform_(-2.0, 1.0).numpy()
    for part in (x.real, x.imag):
        assert stats.kstest(part, stats.uniform(-2, 3).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(x.real, x.imag)[0, 1]) < 0.02
    half = lm.zeros([2, 6], dtype=dtype)
    half[:, ::2].normal_()
    assert (half[:, 1::2] == 0).all() and (half[:, ::2] != 0).all()
    with pytest.raises(ValueError, match="uniform_"):
        half.uniform_(1.0, 0.0)


def test_multinomial() -> None:
    lm.seed(7)
    weights = lm.asarray([[1.0, 0.0, 3.0, 6.0], [0.0, 2.0, 2.0, 0.0]])
    picked = lm.multinomial(weights, N, replacement=True)
    assert picked.dtype == lm.int64 and picked.shape == (2, N)
    for row, chances in zip(picked.numpy(), [[0.1, 0, 0.3, 0.6], [0, 0.5, 0.5, 0]], strict=True):
        counts = np.bincount(row, minlength=4)
        used = np.array(chances) > 0
        assert (counts[~used] == 0).all()
        assert stats.chisquare(counts[used], np.array(chances)[used] * N).pvalue > 1e-3
    # Without replacement: the second of two is drawn by what the first left over.
    pairs = lm.multinomial(lm.broadcast_to(lm.asarray([1.0, 2.0, 3.0]), (N, 3)), 2).numpy()
    assert (pairs[:, 0] != pairs[:, 1]).all()
    counts = [np.sum((pairs == pair).all(1)) for pair in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]]
    chances = [1 / 6 * 2 / 5, 1 / 6 * 3 / 5, 2 / 6 * 1 / 4, 2 / 6 * 3 / 4, 3 / 6 * 1 / 3, 3 / 6 * 2 / 3]
    assert stats.chisquare(counts, np.array(chances) * N).pvalue > 1e-3
    assert sorted(lm.multinomial(lm.ones([7]), 7).tolist()) == list(range(7))


def test_permutation() -> None:
    lm.seed(8)
    x = lm.arange(12).reshape([3, 4])
    y = lm.permutation(x, 1).numpy()
    assert sorted(y[0]) == [0, 1, 2, 3] and (y - y[0] == np.array([[0], [4], [8]])).all()
    assert lm.permutation(lm.zeros([0, 2])).shape == (0, 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 0.3), (-2.0, -1.0), (-1.0, 0.0), (5.0, 5.0)])
def test_uniform_numbers_stay_below_high(dtype: str, low: float, high: float) -> None:
    lm.seed(9)
    x = lm.uniform([N], low, high, dtype=dtype)
    bounds = [lm.asarray(bound, dtype=dtype).item() for bound in (low, high)]
    values = x.to("float64").numpy()
    assert x.dtype.name == dtype and values.min() >= bounds[0]
    assert values.max() < bounds[1] or low == high
    if low < high:
        assert abs(values.mean() - (low + high) / 2) < 0.02 * (high - low)


def test_dtypes_and_shapes() -> None:
    half = lm.full([3], 2.0, dtype="float16")
    assert lm.normal(None, half).dtype == lm.float16 and lm.normal(None, half).shape == (3,)
    assert lm.gamma(None, half, lm.ones([2, 1])).dtype == lm.float32
    assert lm.gamma(None, half, lm.ones([2, 1])).shape == (2, 3)
    assert lm.exponential(dtype="bfloat16").shape == ()
    assert lm.poisson(half).dtype == lm.float16
    assert lm.laplace([0, 2]).shape == (0, 2)
    for name in ("normal", "gamma", "truncated_normal", "cauchy"):
        assert getattr(lm, name)([2, 3], device="meta").device == "meta"
    assert lm.rand_like(lm.zeros([2, 2], dtype="float64")).dtype == lm.float64
    assert lm.randn_like(lm.zeros([2, 2], dtype="int32"), dtype="float32").dtype == lm.float32
    assert lm.poisson(lm.full([4, 3], 3.0).T).shape == (3, 4)
    assert lm.randint_like(lm.zeros([2, 2], dtype="int16"), -3, 4).dtype == lm.int16
    lm.seed(5)
    alike = lm.randint_like(lm.zeros([4, 3]), -3, 4, dtype="int64")
    lm.seed(5)
    assert lm.all(alike == lm.randint(-3, 4, [4, 3]))


def test_the_number_of_threads_changes_nothing() -> None:
    before = lm.get_num_threads()
    seen = set()
    try:
        for threads in (1, 2, 5):
            lm.set_num_threads(threads)
            g = lm.Generator(seed=4)
            drawn = [
                lm.exponential([70_001], generator=g),
                lm.gamma([5_003], 0.7, generator=g),
                lm.poisson(lm.full([5_003], 20.0), generator=g),
                lm.truncated_normal([5_003], generator=g),
                lm.multinomial(lm.ones([300, 40]), 5, generator=g),
                lm.zeros([70_001]).bernoulli_(0.3, generator=g),
                lm.dropout(lm.ones([70_001]), generator=g),
            ]
            seen.add(b"".join(x.numpy().tobytes() for x in drawn))
    finally:
        lm.set_num_threads(before)
    assert len(seen) == 1


IN_PLACE: dict[str, Callable[[lm.Tensor], lm.Tensor]] = {
    "uniform_": lambda x: x.uniform_(-1.0, 1.0),
    "normal_": lambda x: x.normal_(1.0, 2.0),
    "exponential_": lambda x: x.exponential_(2.0),
    "bernoulli_": lambda x: x.bernoulli_(0.25),
    "bernoulli_ of a tensor": lambda x: x.bernoulli_(lm.full([x.shape[-1]], 0.25)),
    "random_": lambda x: x.random_(3, 9),
    "cauchy_": lambda x: x.cauchy_(1.0, 2.0),
    "log_normal_": lambda x: x.log_normal_(0.0, 0.5),
    "geometric_": lambda x: x.geometric_(0.5),
}


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_in_place(name: str, dtype: str) -> None:
    lm.seed(2)
    x = lm.zeros([40, 50], dtype=dtype)
    version = x.inplace_version
    assert IN_PLACE[name](x) is x and x.inplace_version > version
    assert len(np.unique(x.to("float64").numpy())) > 1
    part = lm.zeros([6, 8], dtype=dtype)
    IN_PLACE[name](part[:, ::2])
    assert (part.numpy()[:, 1::2] == 0).all() and (part.numpy()[:, ::2] != 0).any()
    leaf = lm.tensor([1.0] * 3, dtype=dtype, stop_gradient=False)
    with pytest.raises(RuntimeError):
        IN_PLACE[name](leaf)
    with lm.no_grad():
        IN_PLACE[name](leaf)
    y = IN_PLACE[name](leaf * 2)
    assert y.stop_gradient


def test_random_() -> None:
    lm.seed(1)
    assert set(np.unique(lm.zeros([2000], dtype="int32").random_(-2, 3).numpy())) == {-2, -1, 0, 1, 2}
    assert lm.zeros([2000], dtype="uint8").random_().numpy().max() > 250
    assert lm.zeros([2000]).random_().numpy().max() > 2**23
    assert lm.zeros([2000], dtype="int64").random_(-(2**63), 2**63 - 1).numpy().min() < -(2**61)
    for dtype, low, high in [("int8", 0, 300), ("uint8", -1, 3), ("int32", 5, 5)]:
        with pytest.raises(ValueError, match="random_"):
            lm.zeros([2], dtype=dtype).random_(low, high)


EXAMPLES: dict[str, Callable[[lm.Tensor], lm.Tensor]] = {
    "normal": lambda a: lm.normal(None, a, 1.0),
    "uniform": lambda a: lm.uniform([2], a, a + 1),
    "exponential": lambda a: lm.exponential(None, a),
    "gamma": lambda a: lm.gamma(None, a),
    "poisson": lambda a: lm.poisson(a * 20),
    "truncated_normal": lambda a: lm.truncated_normal([2], a, 1.0, low=-9.0, high=9.0),
    "multinomial": lambda a: lm.multinomial(lm.stack([a] * 30), 5),
    "permutation": lambda a: lm.permutation(lm.stack([a] * 30) * lm.arange(30)),
    "normal_": lambda a: (a * 1).normal_(),
    "dropout": lambda a: lm.dropout(lm.stack([a] * 30)),
    "alpha_dropout": lambda a: lm.alpha_dropout(lm.stack([a] * 30)),
    # Without a tensor argument: the examples differ all the same.
    "rand": lambda a: lm.rand([2]) * a,
    "randn": lambda a: lm.randn([2]) * a,
    "randint": lambda a: lm.randint(0, 1000, [8]) * a,
    "randperm": lambda a: lm.randperm(50) * a,
    "randint_like": lambda a: lm.randint_like(lm.stack([a] * 8), 0, 1000, dtype="int64") * a,
    "rand_like": lm.rand_like,
    "randn_like": lm.randn_like,
    "bernoulli": lambda a: lm.bernoulli(lm.stack([a] * 30) * 0.5),
    "geometric": lambda a: lm.geometric([30], a * 0.3),
    "laplace": lambda a: lm.laplace([2], a, a),
    "cauchy": lambda a: lm.cauchy([2], a, a),
    "log_normal": lambda a: lm.log_normal([2], a, a * 0.5),
    "gumbel_softmax": lambda a: lm.gumbel_softmax(lm.stack([a] * 5)),
    "dropout1d": lambda a: lm.dropout1d(lm.ones([30, 2]) * a),
    "dropout2d": lambda a: lm.dropout2d(lm.ones([5, 6, 2]) * a),
    "dropout3d": lambda a: lm.dropout3d(lm.ones([30, 1, 2, 1]) * a),
    "feature_alpha_dropout": lambda a: lm.feature_alpha_dropout(lm.ones([5, 6, 2]) * a),
    "uniform_": lambda a: (a * 1).uniform_(),
    "exponential_": lambda a: (a * 1).exponential_(),
    "cauchy_": lambda a: (a * 1).cauchy_(),
    "log_normal_": lambda a: (a * 1).log_normal_(),
    "bernoulli_": lambda a: lm.stack([a] * 30).bernoulli_(0.5),
    "geometric_": lambda a: lm.stack([a] * 30).geometric_(0.3),
    "random_": lambda a: lm.stack([a] * 8).random_(0, 1000),
}


def test_every_random_operator_has_an_example() -> None:
    assert set(EXAMPLES) == set(RANDOM_CALLS) | RANDOM_WITHOUT_GRADIENT | {"dropout", "gumbel_softmax"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_vmap(name: str) -> None:
    function = EXAMPLES[name]
    x = lm.ones([4])
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(function)(x)
    lm.seed(1)
    same = vmap(function, randomness="same")(x).numpy()
    assert (same == same[0]).all()
    lm.seed(1)
    np.testing.assert_allclose(same[0], function(x[0]).numpy(), rtol=1e-6)
    different = vmap(function, randomness="different")(x).numpy()
    assert different.shape == same.shape and (different != different[0]).any()


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: lm.normal([2], lm.zeros([3])), ValueError, "broadcast"),
    (lambda: lm.normal([2], lm.zeros([2], dtype="complex64")), TypeError, "complex64"),
    (lambda: lm.normal(lm.zeros([2])), TypeError, "shape"),
    (lambda: lm.uniform([2], 0.0, np.inf), ValueError, "finite"),
    (lambda: lm.exponential([2], 0.0), ValueError, "rate"),
    (lambda: lm.exponential([2], dtype="int32"), TypeError, "floating"),
    (lambda: lm.geometric([2], dtype="bool"), TypeError, "floating"),
    (lambda: lm.geometric([2], dtype="complex64"), TypeError, "floating"),
    (lambda: lm.laplace([2], 0.0, -1.0), ValueError, "scale"),
    (lambda: lm.cauchy([2], 0.0, 0.0), ValueError, "scale"),
    (lambda: lm.geometric([2], 0.0), ValueError, "p must"),
    (lambda: lm.gamma([2], 0.0), ValueError, "concentration"),
    (lambda: lm.gamma([2], 1.0, -1.0), ValueError, "rate"),
    (lambda: lm.truncated_normal([2], low=1.0, high=1.0), ValueError, "low"),
    (lambda: lm.truncated_normal([2], std=0.0), ValueError, "std"),
    (lambda: lm.poisson(lm.arange(3)), TypeError, "int64"),
    (lambda: lm.multinomial(lm.ones([3]), 4), ValueError, "replacement"),
    (lambda: lm.multinomial(lm.ones([3]), 0), ValueError, "num_samples"),
    (lambda: lm.multinomial(lm.ones([1, 2, 3]), 1), ValueError, "axes"),
    (lambda: lm.permutation(lm.asarray(1.0)), ValueError, "0-d"),
    (lambda: lm.permutation(lm.ones([2]), 3), IndexError, "axis"),
    (lambda: lm.ones([2]).normal_(0.0, -1.0), ValueError, "std"),
    (lambda: lm.ones([2]).bernoulli_(1.5), ValueError, "p must"),
    (lambda: lm.ones([2]).bernoulli_(lm.ones([3])), ValueError, "broadcast"),
    (lambda: lm.ones([2], dtype="int32").uniform_(), TypeError, "int32"),
    (lambda: lm.dropout1d(lm.ones([2])), ValueError, "axes"),
    (lambda: lm.dropout2d(lm.ones([2, 2])), ValueError, "axes"),
    (lambda: lm.feature_alpha_dropout(lm.ones([2])), ValueError, "axes"),
    (lambda: lm.alpha_dropout(lm.ones([2]), -0.1), ValueError, "p must"),
    (
        lambda: lm.gamma([2], generator=lm.Generator("cuda" if default_device.ON_CPU else "cpu")),
        ValueError,
        "generator",
    ),
]

#: What depends on elements, which are not checked on a device: that would wait for it.
ERRORS_OF_ELEMENTS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: lm.uniform([2], lm.asarray(2.0), 1.0), ValueError, "low"),
    (lambda: lm.normal([2], 0.0, lm.asarray([1.0, -1.0])), ValueError, "std"),
    (lambda: lm.exponential([2], lm.asarray([1.0, np.nan])), ValueError, "rate"),
    (lambda: lm.geometric([2], lm.asarray(1.5)), ValueError, "p must"),
    (lambda: lm.poisson(lm.asarray([-1.0])), ValueError, "rates"),
    (lambda: lm.poisson(lm.asarray([np.inf])), ValueError, "rates"),
    (lambda: lm.multinomial(lm.asarray([1.0, 0.0]), 2), ValueError, "replacement"),
    (lambda: lm.multinomial(lm.asarray([1.0, -1.0]), 1), ValueError, "weights"),
    (lambda: lm.multinomial(lm.zeros([3]), 1), ValueError, "sum"),
]


@pytest.mark.parametrize(("call", "error", "match"), ERRORS + (ERRORS_OF_ELEMENTS if default_device.ON_CPU else []))
def test_errors(call: Callable[[], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


def test_dropout_of_channels() -> None:
    lm.seed(3)
    for y, axes in [
        (lm.dropout1d(lm.ones([50, 40, 7]), 0.25), (2,)),
        (lm.dropout1d(lm.ones([2000, 7]), 0.25), (1,)),
        (lm.dropout2d(lm.ones([50, 40, 3, 5]), 0.25), (2, 3)),
        (lm.dropout3d(lm.ones([50, 40, 3, 2, 2]), 0.25), (2, 3, 4)),
        (lm.feature_alpha_dropout(lm.ones([50, 40, 7]), 0.25), (2,)),
    ]:
        values = y.numpy()
        assert (values.max(axis=axes) == values.min(axis=axes)).all()
        assert abs((values.min(axis=axes) > 0.5).mean() - 0.75) < 0.05


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    lm.seed(3)
    y = lm.alpha_dropout(lm.randn([200_000]), 0.3).numpy()
    assert abs(y.mean()) < 0.01 and abs(y.std() - 1) < 0.01
    x = lm.randn([5])
    assert (lm.alpha_dropout(x, 1.0).numpy() == 0).all()
    np.testing.assert_array_equal(lm.alpha_dropout(x, 0.3, training=False).numpy(), x.numpy())
