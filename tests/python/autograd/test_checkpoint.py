"""checkpoint and checkpoint_sequential: the gradients of a plain call for less memory."""

import contextlib
import dataclasses
import gc
import random
import threading
import weakref
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import checkpoint, checkpoint_sequential
from support.layers import Cube
from support.tensors import leaf
from support.threads import run_on_threads


def counted(function):
    def call(*args, **kwargs):
        call.calls += 1
        return function(*args, **kwargs)

    call.calls = 0
    return call


both = pytest.mark.parametrize("use_reentrant", [False, True], ids=["", "reentrant"])


def chain(x):
    for _ in range(3):
        x = Cube.apply(x * 0.5).tanh()
    return x


@both
def test_gradients_are_those_of_a_plain_call(use_reentrant):
    x, plain = leaf(0.5, 1.5), leaf(0.5, 1.5)
    function = counted(chain)
    y = checkpoint(function, x, use_reentrant=use_reentrant)
    z = chain(plain)
    assert y.tolist() == z.tolist() and function.calls == 1
    (y * y).sum().backward()
    (z * z).sum().backward()
    assert function.calls == 2
    assert x.grad.tolist() == plain.grad.tolist()


@both
@pytest.mark.usefixtures("quiet_collector")
def test_memory_is_lower(use_reentrant):
    x = lm.ones((1 << 16,))
    x.stop_gradient = False

    def block(t):
        for _ in range(4):
            t = (t * 0.5).exp()
        return t

    x.sum().backward()
    x.clear_grad()

    def held(run):
        before = lm.memory.memory_allocated()
        lm.memory.reset_peak_memory()
        y = run(x)
        kept = lm.memory.memory_allocated() - before
        y.sum().backward()
        peak = lm.memory.max_memory_allocated() - before
        del y
        x.clear_grad()
        assert lm.memory.memory_allocated() == before
        return kept, peak

    def model(wrap):
        def run(t):
            for _ in range(8):
                t = wrap(t)
            return t

        return run

    plain = held(model(block))
    lean = held(model(lambda t: checkpoint(block, t, use_reentrant=use_reentrant)))
    assert lean[0] <= 9 * x.nbytes, "the results of the blocks, and nothing else"
    assert plain[0] >= 4 * 8 * x.nbytes
    assert lean[1] < plain[1] / 2


Point = namedtuple("Point", "a b")


@dataclasses.dataclass
class Record:
    x: lm.Tensor
    name: str


@both
def test_nested_containers_and_keywords(use_reentrant):
    a, b, c, d = leaf(2.0), leaf(3.0), leaf(5.0), leaf(7.0)

    def function(pair, *, named, record, factor):
        assert isinstance(pair, Point) and isinstance(named, OrderedDict) and isinstance(record, Record)
        assert pair.b[1] == "text" and record.name == "r"
        return {"y": pair.a * pair.b[0] * factor, "z": (named["c"] * record.x, "other")}

    result = checkpoint(
        function,
        Point(a, [b, "text"]),
        named=OrderedDict(c=c),
        record=Record(d, "r"),
        factor=2,
        use_reentrant=use_reentrant,
    )
    assert result["z"][1] == "other"
    (result["y"] + result["z"][0]).backward()
    assert [t.grad.item() for t in (a, b, c, d)] == [6, 4, 7, 5]


def test_tensors_that_the_function_refers_to():
    layer = lm.nn.Linear(3, 3)
    x = lm.randn((2, 3))
    checkpoint(lambda t: layer(t).tanh(), x).sum().backward()
    grads = [p.grad.numpy() for p in layer.parameters()]
    for p in layer.parameters():
        p.clear_grad()
    layer(x).tanh().sum().backward()
    for p, g in zip(layer.parameters(), grads, strict=True):
        assert np.array_equal(p.grad.numpy(), g)


def test_arguments_that_want_no_gradient():
    x, w = lm.asarray([2.0]), leaf(3.0)
    checkpoint(lambda t, u, k: t * u * u * k, x, w, 2).backward()
    assert w.grad.item() == 24 and x.grad is None
    assert checkpoint(lambda t: t * t, x).stop_gradient


def test_several_passes():
    x = leaf(2.0)
    function = counted(lambda t: t * t * t)
    y = checkpoint(function, x)
    for _ in range(3):
        y.backward(retain_graph=True)
    assert x.grad.item() == 36 and function.calls == 4
    y.backward()
    with pytest.raises(RuntimeError, match="freed by an earlier"):
        y.backward()


@pytest.mark.usefixtures("quiet_collector")
def test_retained_passes_keep_no_more_memory():
    x = lm.ones((1 << 14,))
    x.stop_gradient = False
    y = checkpoint(lambda t: t.exp().exp().exp(), x).sum()
    before = lm.memory.memory_allocated()
    lm.grad(y, x, retain_graph=True)
    assert lm.memory.memory_allocated() == before


def test_higher_derivatives():
    x, w = leaf(2.0), leaf(3.0)
    y = checkpoint(lambda t: Cube.apply(t) * w * t, x)
    (dx,) = lm.grad(y, x, create_graph=True)
    assert dx.item() == 96
    (ddx, dw) = lm.grad(dx, [x, w], create_graph=True)
    assert (ddx.item(), dw.item()) == (144, 32)
    assert lm.grad(ddx, x)[0].item() == 144


def test_a_checkpoint_in_a_backward_that_is_recorded():
    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, dy):
            return checkpoint(lambda t, g: 3 * t * t * g, *ctx.saved_tensors, dy)

    x = leaf(2.0)
    (dx,) = lm.grad(Layer.apply(x), x, create_graph=True)
    assert dx.item() == 12 and lm.grad(dx, x)[0].item() == 12


def test_nested():
    x = leaf(1.1)
    inner, outer = counted(lambda t: Cube.apply(t).tanh()), counted(lambda t: checkpoint(inner, t * t) * t)
    y = checkpoint(lambda t: checkpoint(outer, t).exp(), x)
    (dx,) = lm.grad(y, x, create_graph=True)
    (ddx,) = lm.grad(dx, x)
    p = leaf(1.1)
    z = (Cube.apply(p * p).tanh() * p).exp()
    (dp,) = lm.grad(z, p, create_graph=True)
    (ddp,) = lm.grad(dp, p)
    assert dx.item() == pytest.approx(dp.item()) and ddx.item() == pytest.approx(ddp.item())


@pytest.mark.usefixtures("quiet_collector")
def test_nested_blocks_keep_nothing_in_between():
    x = lm.full((1 << 14,), -1.0)
    x.stop_gradient = False
    before = lm.memory.memory_allocated()
    y = checkpoint(lambda t: checkpoint(lambda u: u.exp().exp(), t.exp()).exp(), x)
    assert lm.memory.memory_allocated() - before < 1.5 * x.nbytes
    (dx,) = lm.grad(x.exp().exp().exp().exp().sum(), [x])
    y.sum().backward()
    assert np.array_equal(x.grad.numpy(), dx.numpy())


def test_reentrant_inside_and_around():
    x, p = leaf(1.1), leaf(1.1)
    f = lambda t: Cube.apply(t).tanh()  # noqa: E731
    checkpoint(lambda t: checkpoint(f, t * t, use_reentrant=True).exp(), x).backward()
    checkpoint(lambda t: checkpoint(f, t * t).exp(), x, use_reentrant=True).backward()
    f(p * p).exp().backward()
    assert x.grad.item() == pytest.approx(2 * p.grad.item())


def test_passes_inside_passes():
    class Inner(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, dy):
            w = leaf(2.0)
            with lm.enable_grad():
                y = checkpoint(lambda t: t * t * t, w)
            y.backward()
            return dy * w.grad

    x = leaf(1.0)
    checkpoint(lambda t: Inner.apply(t * t) * t, x).backward()
    p = leaf(1.0)
    (Inner.apply(p * p) * p).backward()
    assert x.grad.item() == p.grad.item()


def test_gradients_inside_the_function():
    x = leaf(2.0)

    def function(t):
        (dt,) = lm.grad(t * t * t, t, create_graph=True)
        return dt * t

    checkpoint(function, x).backward()
    assert x.grad.item() == 36


@both
def test_random_numbers_are_drawn_again(use_reentrant):
    x = lm.ones((64,))
    x.stop_gradient = False
    y = checkpoint(lambda t: lm.dropout(t * t, 0.5) * t, x, use_reentrant=use_reentrant)
    state = lm.random.get_rng_state()
    y.sum().backward()
    assert lm.random.get_rng_state() == state
    assert x.grad.tolist() == (3 * y).tolist()


def test_random_numbers_are_new_where_that_is_asked():
    x = lm.ones((64,))
    x.stop_gradient = False
    y = checkpoint(lambda t: lm.dropout(t * t, 0.5) * t, x, preserve_rng_state=False)
    state = lm.random.get_rng_state()
    y.sum().backward()
    assert lm.random.get_rng_state() != state
    assert x.grad.tolist() != (3 * y).tolist()


def test_other_threads_draw_meanwhile():
    def run():
        for _ in range(20):
            x = lm.ones((40000,))
            x.stop_gradient = False
            y = checkpoint(lambda t: lm.dropout(t * t, 0.5) * t, x)
            y.sum().backward()
            results.append(np.array_equal(x.grad.numpy(), 3 * y.detach().numpy()))

    results = []
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        lm.rand((100,))
    assert len(results) == 60 and all(results)


def test_two_threads_through_one_graph():
    x = leaf(1.0, 2.0)
    y = checkpoint(chain, x).sum()
    expected = lm.grad(y, x, retain_graph=True)[0]
    results = []

    def run():
        for _ in range(20):
            results.append(lm.grad(y, x, retain_graph=True)[0].tolist())

    run_on_threads(*[run] * 4)
    assert results == [expected.tolist()] * 80


def differing(first, second):
    calls = []

    def function(x):
        calls.append(1)
        return (first if len(calls) == 1 else second)(x)

    return function


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            lambda x: x.exp(),
            lambda x: lm.concat([x, x]).exp(),
            r"saved tensor 0 is float32\[4\] on cpu from exp, and was",
        ),
        (lambda x: x.exp(), lambda x: x.astype("float64").exp(), r"float64\[2\]"),
        (lambda x: Cube.apply(x), lambda x: x + 1, "saved 0 tensors, and 1 in forward; .* number 0, is from Cube"),
    ],
)
def test_a_function_that_does_not_do_the_same(first, second, message):
    x = leaf(1.0, 2.0)
    y = checkpoint(differing(first, second), x).sum()
    with pytest.raises(RuntimeError, match=message):
        y.backward()
    assert x.grad is None


def test_more_is_seen_without_early_stop():
    x = leaf(1.0)
    function = differing(lambda x: x.exp(), lambda x: x.exp().exp())
    y = checkpoint(function, x, early_stop=False)
    with pytest.raises(RuntimeError, match="in forward it saved 1 tensors and no more"):
        y.backward()
    y = checkpoint(differing(lambda x: x.exp(), lambda x: x.exp().exp()), x, early_stop=False, determinism_check="none")
    y.backward()
    assert x.grad.item() == pytest.approx(np.exp(1))


def test_early_stop():
    reached = []

    def function(x):
        y = x.exp()
        try:
            return y + 1
        finally:
            reached.append("finally")

    def shy(x):
        try:
            y = x.exp()
        except Exception:  # an early stop is none
            reached.append("except")
            raise
        reached.append("shy")
        return y

    for early_stop, expected in ((True, ["finally"]), (False, ["finally"] * 2)):
        reached.clear()
        checkpoint(function, leaf(1.0), early_stop=early_stop).backward()
        assert reached == expected
    reached.clear()
    checkpoint(shy, leaf(1.0)).backward()
    assert reached == ["shy"]


def test_a_stop_that_the_function_swallows():
    def function(x):
        try:
            return Cube.apply(x) * x
        except BaseException:
            return x

    x = leaf(2.0)
    checkpoint(function, x).backward()
    assert x.grad.item() == 32


@both
@pytest.mark.usefixtures("quiet_collector")
def test_an_exception_in_the_second_call(use_reentrant):
    fails = []

    def function(x):
        y = x.exp()
        if fails:
            raise KeyError("on purpose")
        return y * y

    before = lm.memory.memory_allocated()
    x = leaf(0.0)
    y = checkpoint(function, x, use_reentrant=use_reentrant)
    fails.append(1)
    for _ in range(2):
        with pytest.raises(KeyError, match="on purpose"):
            y.backward(retain_graph=True)
    fails.clear()
    assert lm.is_grad_enabled()
    y.backward()
    assert x.grad.item() == 2
    del x, y
    assert lm.memory.memory_allocated() == before


@both
@pytest.mark.usefixtures("quiet_collector")
def test_an_exception_in_the_first_call(use_reentrant):
    def function(x):
        x.exp().exp()
        raise KeyError("on purpose")

    before = lm.memory.memory_allocated()
    x = leaf(0.0)
    with pytest.raises(KeyError):
        checkpoint(function, x, use_reentrant=use_reentrant)
    assert (x * x).grad_fn is not None
    del x
    assert lm.memory.memory_allocated() == before


@both
def test_an_argument_that_was_overwritten(use_reentrant):
    x = leaf(1.0) * 1
    y = checkpoint(lambda t: t.exp(), x, use_reentrant=use_reentrant)
    with lm.no_grad():
        x += 1
    with pytest.raises(RuntimeError, match=r"saved tensor 0 \(float32\[1\] on cpu\), saved at .* overwritten by add_"):
        y.backward()


def test_an_argument_that_the_function_overwrites():
    def function(t):
        with lm.no_grad():
            t += 1
        return t * t

    x = leaf(1.0) * 1
    y = checkpoint(function, x)
    with pytest.raises(RuntimeError, match="overwritten by add_"):
        y.backward()


def test_context_fn():
    log = []

    @contextlib.contextmanager
    def named(name):
        log.append(name)
        yield
        log.append("end of " + name)

    class Again:
        def __enter__(self):
            log.append("second")

        def __exit__(self, *error):
            log.append("end of second")

    y = checkpoint(lambda t: t.exp() * 2, leaf(1.0), context_fn=lambda: (named("first"), Again()))
    assert log == ["first", "end of first"]
    y.backward()
    assert log[2:] == ["second", "end of second"]


def test_without_recording():
    function = counted(lambda t: t.exp())
    with lm.no_grad():
        assert checkpoint(function, leaf(1.0)).stop_gradient
    assert function.calls == 1


def test_results_without_tensors():
    assert checkpoint(lambda t: (t.exp(), 3)[1], leaf(1.0)) == 3


def test_wrong_options():
    x = leaf(1.0)
    with pytest.raises(TypeError, match=r"\[checkpoint\] function: expected a function, got Tensor"):
        checkpoint(x, x)
    with pytest.raises(ValueError, match="""expected "default" or "none", got 'no'"""):
        checkpoint(lm.exp, x, determinism_check="no")
    with pytest.raises(TypeError, match="policy: expected a function or a set"):
        checkpoint(lm.exp, x, policy="exp")
    with pytest.raises(TypeError, match="policy: expected operators' names, got int"):
        checkpoint(lm.exp, x, policy={3})
    with pytest.raises(TypeError, match="policy: expected it to return a CheckpointPolicy or a bool, got str"):
        checkpoint(lm.exp, x, policy=lambda op, *xs: "yes")
    with pytest.raises(ValueError, match="use_reentrant=False only"):
        checkpoint(lm.exp, x, use_reentrant=True, policy={"exp"})


# What use_reentrant=True cannot do.


def test_reentrant_without_named_inputs():
    x = leaf(1.0)
    y = checkpoint(lambda t: t.exp(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"\[checkpoint\] with use_reentrant=True there are no gradients of named"):
        lm.grad(y, x)


def test_reentrant_without_second_derivatives():
    x = leaf(1.0)
    y = checkpoint(lambda t: t.exp(), x, use_reentrant=True)
    y.backward(create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        x.grad.backward()


def test_reentrant_needs_an_argument_that_wants_a_gradient():
    w = leaf(1.0)
    assert checkpoint(lambda t: t * w, lm.asarray([2.0]), use_reentrant=True).stop_gradient


def test_reentrant_reaches_what_the_function_refers_to():
    x, w = leaf(2.0), leaf(3.0)
    checkpoint(lambda t: t * w, x, use_reentrant=True).backward()
    assert x.grad.item() == 3 and w.grad.item() == 2


# checkpoint_sequential


@both
def test_sequential(use_reentrant):
    layers = [counted(lambda t: (t * 0.5).exp()) for _ in range(7)]
    x, plain = leaf(0.5), leaf(0.5)
    y = checkpoint_sequential(layers, 3, x, use_reentrant=use_reentrant)
    y.backward()
    z = plain
    for layer in layers:
        z = layer(z)
    z.backward()
    assert x.grad.item() == plain.grad.item()
    assert [layer.calls for layer in layers] == [3] * 4 + [2] * 3


def test_sequential_takes_a_container_of_layers():
    model = lm.nn.Sequential(lm.nn.Linear(2, 3), lm.nn.ReLU(), lm.nn.Linear(3, 1))
    x = lm.ones((4, 2))
    y = checkpoint_sequential(model, 2, x)
    assert y.tolist() == model(x).tolist()
    y.sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_sequential_checks():
    with pytest.raises(ValueError, match="number of functions, 2, got 3"):
        checkpoint_sequential([lm.exp, lm.exp], 3, leaf(1.0))


@pytest.mark.parametrize("policy", [None, {"matmul", "tanh"}], ids=["", "policy"])
def test_under_vmap(policy):
    w, x = leaf(1.0, 2.0).reshape(2, 1), leaf([0.1, 0.2], [0.3, 0.4], [0.5, -0.6])

    def function(row):
        return ((row @ w).tanh() * row).sum()

    plain = lm.autograd.vmap(function)(x)
    y = lm.autograd.vmap(lambda row: checkpoint(function, row, policy=policy))(x)
    assert y.tolist() == plain.tolist()
    for expected, got in zip(lm.grad(plain.sum(), [x, w]), lm.grad(y.sum(), [x, w]), strict=True):
        assert got.tolist() == expected.tolist()


# Nothing stays.


class Model:
    """A function with a name for its results, so that it holds its own graph."""

    def __init__(self, function):
        self.function = function
        self.kept = []

    def __call__(self, *args):
        self.kept.append(self.function(*args))
        return self.kept[-1]


@both
@pytest.mark.parametrize("run_backward", [True, False])
@pytest.mark.usefixtures("quiet_collector")
def test_everything_goes_with_the_graph(use_reentrant, run_backward):
    before = lm.memory.memory_allocated()
    model = Model(chain)
    ref = weakref.ref(model)
    x = leaf(0.5, 1.0)
    y = checkpoint(lambda t, m: m.function(t), x, model, use_reentrant=use_reentrant)
    if run_backward:
        y.sum().backward()
    del x, y, model
    assert ref() is None
    assert lm.memory.memory_allocated() == before


@pytest.mark.parametrize("run_backward", [True, False])
@pytest.mark.parametrize("function", [lm.exp, chain, lambda t: checkpoint(chain, t * t)], ids=["one", "many", "nested"])
@pytest.mark.usefixtures("quiet_collector")
def test_a_function_that_keeps_its_own_result(function, run_backward):
    before = lm.memory.memory_allocated()
    model = Model(function)
    ref = weakref.ref(model)
    x = leaf(0.5, 1.0)
    y = checkpoint(model, x) * 2
    if run_backward:
        y.sum().backward()
    del x, y, model
    gc.collect()
    assert ref() is None
    assert lm.memory.memory_allocated() == before


def random_program(seed):
    """A function of two tensors that does the same on each call."""

    def function(a, b):
        r = random.Random(seed)
        values = [a, b]
        for _ in range(7):
            u, v = r.choice(values), r.choice(values)
            kind = r.randrange(7)
            if kind == 0:
                values.append((u * v).tanh())
            elif kind == 1:
                values.append(u - v.exp() * 0.1)
            elif kind == 2:
                values.append(Cube.apply(u * 0.3))
            elif kind == 3:
                values.append(lm.dropout(u, 0.3) + v)
            elif kind == 4:
                values.append(checkpoint(lambda s, t: (s * t).tanh() * s, u, v))
            elif kind == 5:
                parts = lm.split(u * 1, 2)
                values.append(lm.concat([parts[1] * v[0], parts[0]]))
            else:
                w = u + v
                w.reshape(2, 1)[0] *= 2
                values.append(w)
        return values[-1] + values[-2]

    return function


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"early_stop": False},
        {"policy": {"tanh", "Cube", "split"}},
        {"policy": {"multiply", "exp", "concat", "add"}},
        {"policy": lambda *_: True},
    ],
    ids=["default", "to the end", "some kept", "others kept", "all kept"],
)
@pytest.mark.usefixtures("quiet_collector")
def test_random_programs(options):
    before = lm.memory.memory_allocated()
    for seed in range(40):
        function = random_program(seed)
        grads = []
        for call in (function, lambda a, b, f=function: checkpoint(f, a, b, **options)):
            lm.seed(seed)
            a, b = leaf(0.3, -0.7), leaf(0.9, 0.2)
            y = call(a, b).sum()
            da, db = lm.grad(y, [a, b], create_graph=True, allow_unused=True)
            first = [g.tolist() if g is not None else None for g in (da, db)]
            s = sum((g * g).sum() for g in (da, db) if g is not None)
            second = [g.tolist() if g is not None else None for g in lm.grad(s, [a, b], allow_unused=True)]
            grads.append((first, second, lm.rand(3).tolist()))
        assert grads[0] == grads[1], seed
    del function, call, a, b, y, da, db, s
    gc.collect()
    assert lm.memory.memory_allocated() == before


@pytest.mark.parametrize("kept", ["checkpoint", "hooks"])
@pytest.mark.parametrize("name", ["grid_sample", "ctc_loss"])
def test_batched_gradients_of_compositions_that_are_given_constants(name: str, kept: str) -> None:
    """Such layers differentiate a composition of saved tensors, which a checkpoint gives back off the tape."""
    rng = np.random.default_rng(0)
    image = lm.asarray(rng.normal(size=(1, 1, 4, 4)))
    shape = (1, 2, 2, 2) if name == "grid_sample" else (5, 2, 4)
    x = lm.tensor(rng.uniform(-0.8, 0.8, shape), stop_gradient=False)
    sizes = lm.asarray([5, 4]), lm.asarray([2, 1])
    labels = lm.asarray([[1, 2], [3, 1]])

    def f(x: lm.Tensor) -> lm.Tensor:
        if name == "grid_sample":
            return lm.nn.functional.grid_sample(image, x)
        return lm.nn.functional.ctc_loss(lm.log_softmax(x, -1), labels, *sizes, reduction="none")

    def gradients(y: lm.Tensor) -> np.ndarray:
        seeds = lm.stack([lm.ones_like(y), lm.ones_like(y) * 2])
        return lm.grad([y], [x], [seeds], is_grads_batched=True)[0].numpy()

    if kept == "checkpoint":
        found = gradients(lm.checkpoint(f, x))
    else:
        with lm.autograd.saved_tensors_hooks(lambda t: t.numpy().copy(), lm.asarray):
            found = gradients(f(x))
    np.testing.assert_allclose(found, gradients(f(x)), 1e-12)
