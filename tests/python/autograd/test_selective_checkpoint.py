"""checkpoint(..., policy=...): some results are kept all the same."""

import dataclasses
import weakref

import pytest

import lamella as lm
from lamella.autograd import CheckpointPolicy, checkpoint
from support.tensors import leaf


class Exp(lm.PyLayer):
    """exp(x), counted, in a structure that a policy has to put together again."""

    runs = 0

    @staticmethod
    def forward(ctx, x, scale=1):
        Exp.runs += 1
        y = lm.exp(x)
        ctx.save_for_backward(x, y, y * 2)
        return {"y": y, "rest": (scale, [y * scale])}

    @staticmethod
    def backward(ctx, dy, dz):
        x, y, twice = ctx.saved_tensor()
        assert x.shape == y.shape
        return dy * y + dz * (twice - y)


@dataclasses.dataclass
class Pair:
    a: lm.Tensor
    b: lm.Tensor


class Swap(lm.PyLayer):
    @staticmethod
    def forward(ctx, pair):
        return Pair(pair.b * 1, pair.a * 1)

    @staticmethod
    def backward(ctx, da, db):
        return {"a": db, "b": da}


def function(x):
    result = Exp.apply(x * 1)
    return (result["y"] * result["rest"][1][0]).tanh() * result["rest"][0]


def test_a_layer_that_is_kept_runs_once():
    x, plain = leaf(0.1, 0.2), leaf(0.1, 0.2)
    function(plain).sum().backward()
    for policy, runs in (({"Exp"}, [1, 1]), (set(), [2, 3])):
        Exp.runs = 0
        x.clear_grad()
        y = checkpoint(function, x, policy=policy).sum()
        y.backward(retain_graph=True)
        assert Exp.runs == runs[0] and x.grad.tolist() == plain.grad.tolist()
        y.backward()
        assert Exp.runs == runs[1]


def test_the_policy_is_asked_about_each_call():
    asked = []

    def policy(op, *tensors):
        assert not lm.is_grad_enabled()
        asked.append((op, [t.shape for t in tensors]))
        return CheckpointPolicy.MUST_RECOMPUTE

    w = leaf(1.0, 2.0)
    x = lm.ones((3, 2))
    y = checkpoint(lambda t: Swap.apply(Pair((t @ w).exp(), t)).b.sum(), x, policy=policy)
    assert [op for op, _ in asked if op != "reshape"] == ["matmul", "exp", "Swap", "sum"]
    assert asked[-2:] == [("Swap", [(3,), (3, 2)]), ("sum", [(3,)])]
    count = len(asked)
    y.backward()
    assert len(asked) == count, "in the first call only"
    assert w.grad is not None


@pytest.mark.parametrize("answer", [True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE])
def test_answers_that_keep(answer):
    Exp.runs = 0
    checkpoint(function, leaf(1.0), policy=lambda op, *_: answer if op == "Exp" else False).backward()
    assert Exp.runs == 1


@pytest.mark.parametrize("answer", [False, CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE])
def test_answers_that_do_not(answer):
    Exp.runs = 0
    checkpoint(function, leaf(1.0), policy=lambda *_: answer).backward()
    assert Exp.runs == 2


def test_operators_that_are_kept_are_not_computed_again():
    x = lm.randn((40, 40))
    x.stop_gradient = False
    w = lm.randn((40, 40))

    addresses = []

    def mlp(t):
        h = t @ w
        addresses.append(h.data_ptr())
        return (h.tanh() @ w).exp().sum()

    expected = lm.grad(mlp(x), x)[0]
    addresses.clear()
    dx = lm.grad(checkpoint(mlp, x, policy={"matmul"}), x)[0]
    assert len(addresses) == 2 and addresses[0] == addresses[1], "the very memory of the first call"
    assert dx.tolist() == expected.tolist()


@pytest.mark.usefixtures("quiet_collector")
def test_memory_is_between():
    x = lm.ones((128, 128))
    x.stop_gradient = False
    w = lm.randn((128, 128)) * 0.1

    def block(t):
        for _ in range(4):
            t = (t @ w).tanh().exp() * 0.1
        return t

    def held(run):
        before = lm.memory.memory_allocated()
        y = run()
        return (lm.memory.memory_allocated() - before) / x.nbytes, y

    plain, _ = held(lambda: block(x))
    selective, _ = held(lambda: checkpoint(block, x, policy={"matmul"}))
    lean, _ = held(lambda: checkpoint(block, x))
    assert plain > 8 and 4 < selective < 6 and lean < 1.5


def test_higher_derivatives_with_everything_kept():
    def f(t):
        parts = lm.split(t * t, 2)
        y = lm.concat([parts[1], parts[0]]) * t
        y += t.exp()
        v = y.reshape(2, 1)
        v *= 2
        return (Swap.apply(Pair(y, t)).a * (y * 0.1).exp()).sum()

    x, plain = leaf(0.3, 0.7), leaf(0.3, 0.7)
    results = []
    for y, at in ((checkpoint(f, x, policy=lambda *_: True), x), (f(plain), plain)):
        dx = lm.grad(y, at, create_graph=True)[0]
        results.append((dx.tolist(), lm.grad((dx * dx).sum(), at)[0].tolist()))
    assert results[0] == results[1]


def test_a_kept_result_that_is_overwritten_is_computed_again():
    def f(t):
        y = t + 1
        with lm.no_grad():
            y *= 2
        return y * y

    x = leaf(0.0)
    for policy in (None, {"add"}):
        x.clear_grad()
        checkpoint(f, x, policy=policy).backward()
        assert x.grad.item() == 4


def test_random_numbers_with_kept_calls():
    class Noise(lm.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x + lm.rand((64,))

        @staticmethod
        def backward(ctx, dy):
            return dy

    x = lm.ones((64,))
    x.stop_gradient = False
    y = checkpoint(lambda t: lm.dropout(Noise.apply(t), 0.5) * 4, x, policy={"Noise"})
    y.sum().backward()
    assert x.grad.tolist() == [8 if v else 0 for v in y.tolist()]


def test_nested():
    def f(t):
        return checkpoint(function, t * 2) * checkpoint(function, t, policy={"Exp", "tanh"})

    x, plain = leaf(0.1), leaf(0.1)
    (function(plain * 2) * function(plain)).backward()
    for policy in (None, {"Exp"}, lambda *_: True):
        x.clear_grad()
        checkpoint(f, x, policy=policy).backward()
        assert x.grad.tolist() == plain.grad.tolist()


def test_gradients_inside_through_a_kept_call():
    def f(t):
        h = t.exp()
        dt = lm.grad(h, t, create_graph=True)[0]
        return (dt * h).tanh()

    x = leaf(0.1)
    checkpoint(f, x).backward()
    with pytest.raises(RuntimeError, match=r"\[checkpoint\] the function computes gradients itself, .* exp that its"):
        checkpoint(f, x, policy={"exp"}).backward()


def test_other_calls_the_second_time():
    calls = []

    def f(t):
        calls.append(1)
        return (t.exp() if len(calls) == 1 else t.tanh()) * t

    with pytest.raises(RuntimeError, match="its call 0 is tanh, and was exp in forward"):
        checkpoint(f, leaf(1.0), policy={"exp"}).backward()


@pytest.mark.usefixtures("quiet_collector")
def test_an_exception_in_the_policy():
    before = lm.memory.memory_allocated()
    x = leaf(1.0)
    with pytest.raises(ZeroDivisionError):
        checkpoint(function, x, policy=lambda *_: 1 / 0)
    function(x).backward()
    del x
    assert lm.memory.memory_allocated() == before


@pytest.mark.parametrize("run_backward", [True, False])
@pytest.mark.parametrize("policy", [{"Exp"}, lambda *_: True], ids=["one", "all"])
@pytest.mark.usefixtures("quiet_collector")
def test_what_is_kept_goes_with_the_graph(policy, run_backward):
    before = lm.memory.memory_allocated()
    x = leaf(1.0, 2.0)
    thing = Pair(x, x)
    ref = weakref.ref(thing)
    y = checkpoint(lambda t, p: function(t) + 0 * p.a, x, thing, policy=policy).sum()
    if run_backward:
        y.backward()
    del x, y, thing
    assert ref() is None
    assert lm.memory.memory_allocated() == before
