"""The default generators: states by device, and scopes that leave no trace."""

import threading

import pytest

import lamella as lm


@pytest.fixture(autouse=True)
def put_back():
    states = lm.random.rng_states()
    yield
    lm.random.restore_rng_states(states)


def test_states_by_device():
    lm.seed(7)
    first = lm.rand([5]).tolist()
    for state in (lm.get_rng_state(), lm.get_rng_state(None), lm.get_rng_state("cpu"), lm.get_rng_state(device="cpu")):
        assert state == (7, 2, 0)
        lm.rand([5])
        lm.random.set_rng_state(state, device="cpu")
    lm.random.set_rng_state((7, 0))
    assert lm.rand([5]).tolist() == first
    for call in (lm.get_rng_state, lambda device: lm.random.set_rng_state((1, 2, 3), device)):
        with pytest.raises(ValueError, match="meta"):
            call("meta")
        with pytest.raises(ValueError, match="mars"):
            call("mars")
        with pytest.raises(TypeError, match="device"):
            call(3)


def test_states_of_all_devices():
    lm.seed(7)
    lm.rand([5])
    states = lm.random.rng_states()
    assert states["cpu"] == (7, 2, 0) and states["meta"] == (7, 0, 0)
    lm.seed(8)
    lm.random.restore_rng_states(states)
    assert lm.random.rng_states() == states
    assert lm.random.rng_states(["cpu"]) == lm.random.rng_states(("cpu",)) == {"cpu": (7, 2, 0)}
    assert lm.random.rng_states([]) == {}
    missing = f"cuda:{lm.cuda.device_count()}"
    with pytest.raises(RuntimeError, match=missing):
        lm.random.restore_rng_states({"cpu": (1, 2, 3), missing: (1, 2, 3)})
    for wrong, error in [
        ([("cpu", (1, 2, 3))], TypeError),
        (None, TypeError),
        ({0: (1, 2, 3)}, TypeError),
        ({"mars": (1, 2, 3)}, ValueError),
        ({"cpu": (1, 2, 3), "meta": "x"}, TypeError),
    ]:
        with pytest.raises(error):
            lm.random.restore_rng_states(wrong)
    for wrong, error in [("cpu", TypeError), ({"cpu"}, TypeError), ([0], TypeError), (["meta"], ValueError)]:
        with pytest.raises(error):
            lm.random.rng_states(wrong)
    assert lm.random.rng_states() == states


@pytest.mark.parametrize("devices", [None, "cpu", ["cpu"], (), []], ids=repr)
def test_a_scope_leaves_no_trace(devices):
    lm.seed(1)
    state = lm.get_rng_state()
    following = lm.rand([4]).tolist()
    lm.random.set_rng_state(state)
    with lm.random.fork_rng(devices):
        assert lm.get_rng_state() == state, "the scope goes on from where it begins"
        lm.seed(2)
        lm.random.default_generator().fork()
        lm.rand([100])
    assert lm.get_rng_state() == state and lm.rand([4]).tolist() == following


def test_a_scope_of_all_devices_puts_the_seed_back_too():
    lm.seed(1)
    with lm.random.fork_rng():
        lm.seed(2)
        assert lm.random.rng_states()["meta"] == (2, 0, 0)
    assert lm.random.rng_states()["meta"] == (1, 0, 0)


def test_a_scope_ends_by_an_exception():
    lm.seed(1)
    with pytest.raises(KeyError), lm.random.fork_rng():
        lm.rand([100])
        raise KeyError
    assert lm.get_rng_state() == (1, 0, 0)


def test_scopes_nest_and_are_used_again():
    lm.seed(1)
    scope = lm.random.fork_rng()
    for _ in range(2):
        with scope as entered:
            assert entered is scope
            lm.rand([4])
            with scope:
                lm.seed(5)
            assert lm.get_rng_state() == (1, 1, 0)
        assert lm.get_rng_state() == (1, 0, 0)


def test_a_scope_that_is_off():
    lm.seed(1)
    with lm.random.fork_rng(enabled=False):
        lm.rand([4])
    assert lm.get_rng_state() == (1, 1, 0)


def test_a_decorator():
    @lm.random.fork_rng()
    def noisy(x, *, fail=False):
        """Draws."""
        lm.rand([100])
        if fail:
            raise KeyError
        return x + 1

    @lm.random.fork_rng(enabled=False)
    def plain():
        lm.rand([4])

    lm.seed(1)
    assert noisy(2) == 3 and noisy.__name__ == "noisy" and noisy.__doc__ == "Draws."
    with pytest.raises(KeyError):
        noisy(1, fail=True)
    assert lm.get_rng_state() == (1, 0, 0)
    plain()
    assert lm.get_rng_state() == (1, 1, 0)


def test_what_it_does_not_decorate():
    def generator():
        yield

    async def coroutine():
        pass

    async def asynchronous_generator():
        yield

    for function in (generator, coroutine, asynchronous_generator):
        with pytest.raises(TypeError, match=function.__name__):
            lm.random.fork_rng()(function)
    for wrong in (3, None, dict):
        with pytest.raises(TypeError, match="fork_rng"):
            lm.random.fork_rng()(wrong)
    with pytest.raises(TypeError, match=r"@fork_rng\(\)"):
        lm.random.fork_rng(generator)


@pytest.mark.parametrize(
    ("devices", "error"),
    [
        (0, TypeError),
        ([0], TypeError),
        (["cpu", None], TypeError),
        ({"cpu"}, TypeError),
        ("mars", ValueError),
        (["cpu", "meta"], ValueError),
        (f"cuda:{lm.cuda.device_count()}", RuntimeError),
    ],
)
def test_wrong_devices(devices, error):
    with pytest.raises(error):
        lm.random.fork_rng(devices)


def test_enabled_is_a_bool():
    with pytest.raises(TypeError, match="enabled"):
        lm.random.fork_rng(None, "no")


def test_generators_of_ones_own_are_left_alone():
    g = lm.Generator(seed=1)
    with lm.random.fork_rng():
        lm.rand([4], generator=g)
    assert g.get_state() == (1, 1, 0)


def test_seeding_while_others_draw():
    stop = threading.Event()

    def draw():
        while not stop.is_set():
            lm.rand([64])
            with lm.random.fork_rng():
                lm.randn([64])

    threads = [threading.Thread(target=draw) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(200):
        lm.seed(n)
        seed, _, forks = lm.get_rng_state()
        assert seed <= n and forks == 0
    stop.set()
    for thread in threads:
        thread.join()
