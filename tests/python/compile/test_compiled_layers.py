"""Custom layers in compiled functions: as graphs where they consist of operators, called where not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

LIMIT = 1.0


class Square(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = lm.relu(x)
        ctx.save_for_backward(y)
        return y * y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (y,) = ctx.saved_tensor()
        return grad * 2 * y


class Straight(lm.PyLayer):
    """Has a gradient that is not that of its operators."""

    @staticmethod
    def forward(ctx: Any, x: Any, k: float) -> Any:
        ctx.k = k
        ctx.save_for_backward(x)
        return lm.sign(x) * k

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensor()
        return lm.where(lm.abs(x) < LIMIT, grad, 0.0) * ctx.k, None


class Product(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return lm.sin(a) * b

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        a, b = ctx.saved_tensor()
        return grad * lm.cos(a) * b if ctx.needs_input_grad[0] else None, grad * lm.sin(a)


class Linear(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, w = ctx.saved_tensor()
        return grad @ w.mT, x.mT @ grad


class Centered(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.count = x.shape[1]
        return x - x.sum(axis=1, keepdims=True) / x.shape[1]

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad - grad.sum(axis=1, keepdims=True) / ctx.count


class OfNumpy(Square):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return lm.asarray(np.square(x.numpy()))


class Counted(Square):
    calls = 0

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        Counted.calls += 1
        (y,) = ctx.saved_tensor()
        return grad * 2 * y


class Keeping(Square):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.y = lm.relu(x)
        return ctx.y * ctx.y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2 * ctx.y


class Deciding(Square):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2 if x.sum() > 0 else x * 3
        ctx.save_for_backward(x)
        return y


class Printing(Square):
    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (y,) = ctx.saved_tensor()
        print("backward")
        return grad * 2 * y


class Same(Square):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x


class Noisy(Square):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = lm.relu(x) + lm.rand(x.shape)
        ctx.save_for_backward(y)
        return y


W = lm.nn.Parameter(lm.asarray(np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)))

INLINED: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "between operators": (lambda x: Square.apply(x * 2 + 1) * 3 - x, ["fused multiply-add-Square-multiply-subtract"]),
    "alone": (lambda x: Square.apply(x), ["Square"]),
    "other gradient": (lambda x: Straight.apply(x * 2, 1.5) * x, ["fused multiply-Straight-multiply"]),
    "two inputs": (lambda x: Product.apply(x * 2, Square.apply(x) + 1) * 0.5,
                   ["fused multiply-Square-add-Product-multiply"]),
    "twice": (lambda x: Square.apply(Square.apply(x)) + Square.apply(x), ["fused Square-Square-Square-add"]),
    "products": (lambda x: Linear.apply(Square.apply(x), W) + 1, ["Square", "Linear", "lamella::add"]),
    "sizes": (lambda x: Centered.apply(x * 2) * x, ["lamella::multiply", "Centered", "lamella::multiply"]),
}  # fmt: skip
CALLED: dict[str, tuple[Any, str]] = {
    "numpy": (OfNumpy, "asks for asarray"),
    "a counter": (Counted, "backward is no mere graph of operators: it reads Counted"),
    "a tensor on the context": (Keeping, "its context has more than numbers"),
    "a decision": (Deciding, "cannot be recorded"),
    "a print": (Printing, "reads print"),
    "an input as result": (Same, "does not give one tensor that it computes"),
    "random numbers": (Noisy, "asks for rand"),
}


def sample(i: int, rows: int = 3) -> lm.Tensor:
    x = lm.asarray(np.random.default_rng(i).normal(size=(rows, 4)).astype(np.float32))
    x.stop_gradient = False
    return x


def numbers(function: Callable[[Any], Any], i: int, rows: int) -> list[Any]:
    """Returns the result, its gradient, the gradient's gradient and what backward() leaves."""
    lm.random.seed(i)
    x = sample(i, rows)
    y = function(x)
    (first,) = lm.grad(y.sum(), [x], create_graph=True, retain_graph=True)
    found: list[Any] = [y, first]
    if not first.stop_gradient:
        try:
            found += lm.grad((first * first).sum(), [x], allow_unused=True, retain_graph=True)
        except RuntimeError as error:  # of a layer that saves what it has computed itself
            found.append(str(error))
    y.sum().backward()
    return [t.detach().numpy().tolist() if isinstance(t, lm.Tensor) else t for t in [*found, x.grad]]


def assert_close(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, (str, type(None))):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, 1e-5, 1e-6)


def assert_same(function: Callable[[Any], Any], compiled: Callable[[Any], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lm.CompileWarning)
        for i, rows in enumerate([3, 3, 3, 3, 5, 5, 5, 6, 7]):
            assert_close(numbers(compiled, i, rows), numbers(function, i, rows))


@pytest.mark.parametrize("name", INLINED)
def test_layers_of_operators_are_graphs(name: str):
    function, steps = INLINED[name]
    compiled = lm.compile(function)
    assert_same(function, compiled)
    explanation = lm.compile.explain(compiled)
    assert [step.name for step in explanation.graphs[0]] == steps
    assert not any("is called" in str(step) for graph in explanation.graphs for step in graph)
    assert len(explanation.graphs) == (2 if name == "sizes" else 3)


@pytest.mark.parametrize("name", CALLED)
def test_other_layers_are_called(name: str, capsys: pytest.CaptureFixture[str]):
    layer, reason = CALLED[name]
    compiled = lm.compile(lambda x: layer.apply(x * 2) + 1)
    Counted.calls = 0
    assert_same(lambda x: layer.apply(x * 2) + 1, compiled)
    calls = Counted.calls, capsys.readouterr().out.count("backward")
    assert calls == {"a counter": (36, 0), "a print": (0, 36)}.get(name, (0, 0))
    assert reason in str(lm.compile.explain(compiled)), str(lm.compile.explain(compiled))


def test_what_layers_read_is_watched(monkeypatch: pytest.MonkeyPatch):
    def function(x: lm.Tensor) -> lm.Tensor:
        return Straight.apply(x, 2.0) + Square.apply(x)

    compiled = lm.compile(function)

    def check() -> None:
        for i in range(4):
            assert_close(numbers(compiled, i, 3), numbers(function, i, 3))

    check()
    monkeypatch.setitem(globals(), "LIMIT", 0.1)
    check()
    monkeypatch.setattr(Square, "backward", staticmethod(lambda ctx, grad: grad * 7))
    check()
    monkeypatch.setattr(Square, "forward", staticmethod(lambda ctx, x: lm.exp(x)))
    check()
    assert "is called" not in str(lm.compile.explain(compiled))


def test_layers_without_gradients_and_in_training_steps():
    net = lm.nn.Linear(4, 4)
    optimizer = lm.optim.SGD(net.parameters(), lr=0.1)

    @lm.compile
    def step(x: lm.Tensor) -> lm.Tensor:
        loss = Square.apply(net(x) * 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = [float(step(lm.ones([3, 4]))) for _ in range(8)]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
    compiled = lm.compile(lambda x: Square.apply(x * 2) + 1)
    with lm.no_grad():
        for _ in range(4):
            assert compiled(lm.ones([2])).tolist() == [5, 5]
    for _ in range(4):
        assert compiled(lm.ones([2])).stop_gradient


def test_hooks_and_saved_tensors():
    compiled = lm.compile(lambda x: Linear.apply(x * 1.0, W) * 2)
    for i in range(5):
        x, seen = sample(i), list[Any]()
        y = compiled(x)
        y.register_hook(lambda grad, seen=seen: seen.append(grad.tolist()) or grad * 2)
        y.sum().backward()
        assert len(seen) == 1
        expected = (2 * 2 * lm.ones([3, 4])) @ W.detach().T
        np.testing.assert_allclose(x.grad.tolist(), expected.tolist(), 1e-5)
    W.grad = None


def test_pools_that_keep_an_axis_are_recorded() -> None:
    layer = lm.nn.AdaptiveAvgPool2d((None, 2))
    compiled = lm.compile(layer)
    with warnings.catch_warnings():
        warnings.simplefilter("error", lm.CompileWarning)
        for n in (4, 6):
            x = lm.randn([1, 2, n, 5])
            assert lm.allclose(compiled(x), layer(x))
