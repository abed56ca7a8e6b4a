"""Forward mode together with the other transforms: Jacobians, Hessians, gradient checks, checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import gradcheck, gradgradcheck, hessian, hvp, jacfwd, jacobian, jacrev, jvp, vjp
from support.tensors import vec


def f(x: lm.Tensor) -> lm.Tensor:
    return (lm.sin(x) * x[0]).sum()


X, V = vec(0.5, -1.0, 2.0), vec(1.0, 2.0, -0.5)


def expected_hessian() -> np.ndarray:
    x = X.numpy()
    result = np.diag(-np.sin(x) * x[0])
    result[0] += np.cos(x)
    result[:, 0] += np.cos(x)
    return result


@pytest.mark.parametrize("outer", [jacfwd, jacrev])
@pytest.mark.parametrize("inner", [jacfwd, jacrev])
def test_hessians_by_any_two_modes(outer: Any, inner: Any) -> None:
    np.testing.assert_allclose(outer(inner(f))(X).numpy(), expected_hessian(), atol=1e-12)


def test_strategies() -> None:
    np.testing.assert_allclose(hessian(f, X, outer_jacobian_strategy="forward-mode").numpy(), expected_hessian())

    def g(x: lm.Tensor, y: lm.Tensor) -> Any:
        return x * y[0], y * 2

    forward = jacobian(g, (X, V), strategy="forward-mode")
    reverse = jacobian(g, (X, V))
    for a, b in zip(forward, reverse, strict=True):
        for c, d in zip(a, b, strict=True):
            assert c.stop_gradient
            np.testing.assert_allclose(c.numpy(), d.numpy())
    with pytest.raises(RuntimeError, match="output 1 does not depend on input 0"):
        jacobian(g, (X, V), strategy="forward-mode", strict=True)
    with pytest.raises(TypeError, match="output 0 of the function is bool"):
        jacobian(lambda x: x > 0, X, strategy="forward-mode")
    assert jacobian(lambda x: x, lm.zeros([0]), strategy="forward-mode").shape == (0, 0)
    leaf = vec(1.0, 2.0, grad=True)
    recorded = jacobian(lambda x: x * x, leaf, create_graph=True, strategy="forward-mode")
    assert lm.grad(recorded.sum(), leaf).tolist() == [2, 2]


def test_tangents_go_through_other_transforms() -> None:
    hv = expected_hessian() @ V.numpy()
    np.testing.assert_allclose(jvp(lambda x: vjp(f, x)[1](vec(1.0).reshape([]))[0], X, V)[1].numpy(), hv)
    np.testing.assert_allclose(jvp(lambda x: vjp(f, x)[0], X, V)[1].item(), jvp(f, X, V)[1].item())
    third = jvp(lambda x: hvp(f, x, V)[1], X, V)[1]
    step = 1e-5
    expected = (hvp(f, X + V * step, V)[1] - hvp(f, X - V * step, V)[1]) / (2 * step)
    np.testing.assert_allclose(third.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck(fast: bool) -> None:
    class Right(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return 2 * ctx.saved_tensors[0] * dy

    class Wrong(Right):
        @staticmethod
        def jvp(ctx: Any, dx: lm.Tensor) -> lm.Tensor:
            return ctx.saved_tensors[0] * dx

    x = vec(1.0, 2.0, grad=True)
    options: dict[str, Any] = {"check_forward_ad": True, "fast_mode": fast}
    assert gradcheck(Right.apply, x, **options)
    assert gradcheck(lambda a, b: (lm.matmul(a, b), a > 0), [vec(1, 2, grad=True), vec(3, 4, grad=True)], **options)
    assert gradcheck(Wrong.apply, x, fast_mode=fast)
    with pytest.raises(RuntimeError, match="forward-mode derivative of output 0"):
        gradcheck(Wrong.apply, x, **options)


@pytest.mark.parametrize("fast", [False, True])
def test_gradgradcheck_of_forward_mode(fast: bool) -> None:
    x = vec(0.5, 1.5, grad=True)
    for f in (lm.exp, lm.sin, lambda x: x * x * x, lambda x: lm.outer(x, x)):
        assert gradgradcheck(f, x, check_forward_ad=True, fast_mode=fast)

    class Wrong(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return Slope.apply(ctx.saved_tensors[0]) * dy

    class Slope(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return 2 * x

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return 2 * dy

        @staticmethod
        def jvp(ctx: Any, dx: lm.Tensor) -> lm.Tensor:
            return 3 * dx

    assert gradgradcheck(Wrong.apply, x, fast_mode=fast)
    with pytest.raises(RuntimeError, match="forward-mode derivative of the gradient"):
        gradgradcheck(Wrong.apply, x, check_forward_ad=True, fast_mode=fast)


def through_checkpoint(g: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: lm.autograd.checkpoint(g, x)


@pytest.mark.parametrize("wrap", [through_checkpoint, lambda g: g], ids=["checkpoint", "plain"])
def test_saved_tensors_that_are_packed_keep_their_tangents(wrap: Any) -> None:
    def g(x: lm.Tensor) -> lm.Tensor:
        y = lm.tanh(x * x)  # saves its output
        return lm.softmax(y) * lm.exp(y)

    def gradient(x: lm.Tensor) -> lm.Tensor:
        return lm.grad((wrap(g)(x) * V).sum(), x)

    x = vec(0.5, -1.0, 2.0, grad=True)
    np.testing.assert_allclose(jvp(wrap(g), x, V)[1].detach().numpy(), jvp(g, x, V)[1].detach().numpy())
    first = lm.grad((g(x) * V).sum(), x, create_graph=True)
    expected = lm.grad((first * V).sum(), x).numpy()
    np.testing.assert_allclose(jvp(gradient, x, V)[1].numpy(), expected)
    with lm.autograd.saved_tensors_hooks(lambda t: t.numpy().copy(), lambda a: lm.asarray(a)):
        np.testing.assert_allclose(jvp(gradient, x, V)[1].numpy(), expected)
