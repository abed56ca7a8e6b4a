"""Random programs of operators and layers, compiled and as they are: numbers, two gradients, sizes, modes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

PROGRAMS, CALLS = 30, 10


class Square(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensor()
        return 2 * x * grad


class Straight(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any, k: float) -> Any:
        ctx.k = k
        ctx.save_for_backward(x)
        return lm.sign(x) * k

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensor()
        return lm.where(lm.abs(x) < 1, grad, 0.0) * ctx.k


class Gated(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return lm.tanh(a) * b

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        a, b = ctx.saved_tensor()
        y = lm.tanh(a)
        return grad * (1 - y * y) * b, grad * y


class Leaky(lm.PyLayer):
    """Saves a mask."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        mask = x > 0
        ctx.save_for_backward(mask)
        return lm.where(mask, x * 2, x * 0.1)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (mask,) = ctx.saved_tensor()
        return lm.where(mask, grad * 2, grad * 0.1)


class Normed(lm.PyLayer):
    """Reduces, so that its operators are not joined with those around it."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * lm.rsqrt((x * x).mean(axis=1, keepdims=True) + 1e-3)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensor()
        r = lm.rsqrt((x * x).mean(axis=1, keepdims=True) + 1e-3)
        y = x * r
        return r * (grad - y * (grad * y).mean(axis=1, keepdims=True))


#: What a step makes of two earlier values, a vector and a number.
STEPS: list[Callable[[Any, Any, Any, float], Any]] = [
    lambda a, b, w, c: a + b,
    lambda a, b, w, c: a * b * 0.3,
    lambda a, b, w, c: a - c,
    lambda a, b, w, c: lm.tanh(a),
    lambda a, b, w, c: lm.sigmoid(a) * b,
    lambda a, b, w, c: lm.where(a > b, a, b),
    lambda a, b, w, c: a * w,
    lambda a, b, w, c: lm.exp(lm.clip(a, -2.0, 1.0)),
    lambda a, b, w, c: a.detach() * b,
    lambda a, b, w, c: a / (lm.abs(b) + 1),
    lambda a, b, w, c: Straight.apply(a, c),
    lambda a, b, w, c: Gated.apply(a, b),
    lambda a, b, w, c: Gated.apply(a, a),
    lambda a, b, w, c: Leaky.apply(a),
    lambda a, b, w, c: Normed.apply(a),
    lambda a, b, w, c: Square.apply(a * 0.4),
    lambda a, b, w, c: lm.cond(a.sum() > 0, lambda a, b: a * 2 + b * 0, lambda a, b: b - a, (a, b)),
    lambda a, b, w, c: lm.while_loop(lambda a: lm.abs(a).sum() < 20, lambda a: a * 2 + 1, (a,))[0] * 0.1,
]


def program(rng: np.random.Generator) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    steps = [
        (int(rng.integers(len(STEPS))), int(rng.integers(99)), int(rng.integers(99)), float(rng.normal()))
        for _ in range(int(rng.integers(2, 10)))
    ]

    def run(x: Any, y: Any, w: Any) -> tuple[Any, Any]:
        values = [x, y, x * 1.0]
        for step, i, j, c in steps:
            values.append(STEPS[step](values[i % len(values)], values[j % len(values)], w, c))
        return values[-1] + values[-2] * 0.5, values[len(values) // 2]

    return run


def results(function: Callable[..., Any], arrays: list[np.ndarray], dtype: Any, mode: int, frozen: bool) -> list[Any]:
    x, y, w, seed = (lm.tensor(array, dtype=dtype) for array in arrays)
    x.stop_gradient, w.stop_gradient = False, frozen
    if mode == 0:
        with lm.no_grad():
            return list(function(x, y, w))
    first, second = function(x, y, w)
    found: list[Any] = [first, second]
    wanted = [x] if frozen else [x, w]
    if first.stop_gradient:
        return found
    if mode == 1:
        return found + list(lm.grad(first, wanted, [seed], allow_unused=True))
    if mode == 2:
        first.register_hook(lambda gradient: gradient * 2)
        (first * seed).sum().backward()
        return [*found, x.grad, w.grad]
    gradients = lm.grad(first, wanted, [seed], create_graph=True, allow_unused=True)
    found += gradients
    squares = [(g * g).sum() for g in gradients if g is not None and not g.stop_gradient]
    return found + list(lm.grad(sum(squares), wanted, allow_unused=True)) if squares else found


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_programs(number: int):
    rng = np.random.default_rng(700 + number)
    function = program(rng)
    compiled = lm.compile(function)
    for i in range(CALLS):
        rows = 3 if rng.integers(2) else int(rng.integers(1, 7))
        arrays = [
            rng.normal(size=(rows, 4)),
            rng.normal(size=(rows, 4)),
            rng.normal(size=4),
            rng.normal(size=(rows, 4)),
        ]
        options = (lm.float64 if i % 5 == 4 else lm.float32, int(rng.integers(4)), bool(rng.integers(4) == 0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lm.CompileWarning)
            expected, found = (results(f, arrays, *options) for f in (function, compiled))
        assert len(found) == len(expected), options
        for a, b in zip(found, expected, strict=True):
            assert (a is None) == (b is None), options
            if a is not None:
                assert (a.dtype, a.shape, a.stop_gradient) == (b.dtype, b.shape, b.stop_gradient), options
                np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 3e-4, 1e-5)
    explanation = lm.compile.explain(compiled)
    assert not explanation.breaks, str(explanation)


def test_inputs_that_depend_on_each_other():
    """A second derivative takes the path through the operators around joined ones once."""
    function: Callable[[Any, Any], Any] = lambda x, w: (lambda p: p * x + x)(x @ w)  # noqa: E731
    compiled = lm.compile(function)
    w = lm.asarray(np.random.default_rng(5).normal(size=(4, 4)).astype(np.float32))
    for i in range(5):
        found = []
        for f in (function, compiled):
            x = lm.asarray(np.random.default_rng(i).normal(size=(3, 4)).astype(np.float32)).clone()
            x.stop_gradient = False
            (first,) = lm.grad(f(x, w).sum(), [x], create_graph=True)
            found.append([first.detach().numpy(), lm.grad((first * first).sum(), [x])[0].numpy()])
        np.testing.assert_allclose(found[1], found[0], 1e-4)
