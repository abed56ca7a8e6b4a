"""Forward mode of every built-in operator against reverse mode, in all second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import jvp

from .calls import CALLS, KEYS, get_item, leaf, set_item
from .samples import DIFFERENTIABLE, DIFFERENTIABLE_COMPLEX, GRADIENT_SHAPES, Operator, arguments, case_id


def tensors_in(result: Any) -> list[lm.Tensor]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def dot(a: Sequence[lm.Tensor | None], b: Sequence[lm.Tensor]) -> lm.Tensor:
    total = lm.asarray(0.0, dtype="float64")
    for x, y in zip(a, b, strict=True):
        if x is not None:
            total = total + (x * y).sum()
    return total


def check(f: Callable[..., Any], inputs: list[lm.Tensor], seed: int = 0) -> None:
    """Compares forward with reverse mode at the inputs, of which those that want a gradient are varied."""
    rng = np.random.default_rng(seed)
    at = [i for i, x in enumerate(inputs) if not x.stop_gradient]
    v, u = ([lm.asarray(rng.uniform(0.5, 1.5, inputs[i].shape)) for i in at] for _ in range(2))
    leaves = [inputs[i] for i in at]

    def of_varied(*varied: lm.Tensor) -> list[lm.Tensor]:
        given = list(inputs)
        for i, x in zip(at, varied, strict=True):
            given[i] = x
        return tensors_in(f(*given))

    def gradient(*varied: lm.Tensor) -> list[lm.Tensor]:
        total = dot(of_varied(*varied), w)
        if total.stop_gradient:
            return [lm.zeros_like(x) for x in varied]
        grads = lm.grad(total, list(varied), create_graph=True, allow_unused=True)
        return [lm.zeros_like(x) if g is None else g for g, x in zip(grads, varied, strict=True)]

    def derivative(direction: list[lm.Tensor]) -> Callable[..., list[lm.Tensor]]:
        return lambda *varied: jvp(of_varied, varied, direction)[1]

    def of_recorded(total: lm.Tensor) -> list[np.ndarray]:
        grads: Any = [None] * len(leaves)
        if not total.stop_gradient:
            grads = lm.grad(total, leaves, allow_unused=True)
        return [np.zeros(x.shape) if g is None else g.numpy() for g, x in zip(grads, leaves, strict=True)]

    plain = of_varied(*leaves)
    w = [lm.asarray(rng.uniform(0.5, 1.5, y.shape)) for y in plain]
    values, tangents = jvp(of_varied, leaves, v)
    for value, y in zip(values, plain, strict=True):
        # To rounding: what is composed for dual numbers may have a kernel that adds in another order.
        np.testing.assert_allclose(value.detach().numpy(), y.detach().numpy(), rtol=1e-13, atol=1e-14)
    for tangent, y in zip(tangents, plain, strict=True):
        assert (tangent.shape, tangent.dtype) == (y.shape, y.dtype)
    close = {"rtol": 1e-9, "atol": 1e-11}
    # First: w (J v) by forward mode, (w J) v by reverse mode; recording makes no difference to the former.
    grads = gradient(*leaves)
    np.testing.assert_allclose(dot(tangents, w).item(), dot(grads, v).item(), **close)
    with lm.no_grad():
        unrecorded = jvp(of_varied, leaves, v)[1]
    for a, b in zip(unrecorded, tangents, strict=True):
        assert a.stop_gradient
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), **close)

    # Second: the Hessian of w f, times v.
    expected = of_recorded(dot(grads, v))
    forward_over_reverse = jvp(gradient, leaves, v)[1]
    reverse_over_forward = of_recorded(dot(tangents, w))
    with lm.no_grad():
        unrecorded_pass = jvp(lambda *varied: plain_gradient(of_varied, varied, w), leaves, v)[1]
    for a, b, c, d in zip(expected, forward_over_reverse, reverse_over_forward, unrecorded_pass, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a, **close)
        np.testing.assert_allclose(c, a, **close)
        np.testing.assert_allclose(d.numpy(), a, **close)
    # And u H v by two levels of forward mode.
    twice = jvp(derivative(v), leaves, u)[1]
    total = sum(float((a * b.numpy()).sum()) for a, b in zip(expected, u, strict=True))
    np.testing.assert_allclose(dot(twice, w).item(), total, **close)


def plain_gradient(f: Callable[..., Any], varied: Sequence[lm.Tensor], w: list[lm.Tensor]) -> list[lm.Tensor]:
    """The gradient by a pass that is not recorded."""
    with lm.enable_grad():
        total = dot(f(*varied), w)
    grads: Any = [None] * len(varied)
    if not total.stop_gradient:
        grads = lm.grad(total, list(varied), allow_unused=True)
    return [lm.zeros_like(x) if g is None else g for g, x in zip(grads, varied, strict=True)]


@pytest.mark.parametrize("shapes", GRADIENT_SHAPES.values(), ids=GRADIENT_SHAPES)
@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=case_id)
def test_elementwise(op: Operator, shapes: list[tuple[int, ...]], rng: np.random.Generator) -> None:
    arrays = arguments(op, shapes[: op.inputs], "float64", rng)
    check(op, [lm.tensor(a, stop_gradient=not op.differentiable[i]) for i, a in enumerate(arrays)])


@pytest.mark.parametrize("op", [op for op in DIFFERENTIABLE if op.inputs > 1], ids=case_id)
def test_elementwise_with_one_dual_operand(op: Operator, rng: np.random.Generator) -> None:
    arrays = arguments(op, [(2, 3)] * op.inputs, "float64", rng)
    for only in range(op.inputs):
        if op.differentiable[only]:
            check(op, [lm.tensor(a, stop_gradient=i != only) for i, a in enumerate(arrays)])


@pytest.mark.parametrize("op", DIFFERENTIABLE_COMPLEX, ids=case_id)
def test_elementwise_complex(op: Operator, rng: np.random.Generator) -> None:
    """Forward mode against differences, and against reverse mode: Re <w, J v> is Re <J* w, v>."""
    arrays = arguments(op, [(2, 3)] * op.inputs, "complex128", rng)
    at = [i for i, wanted in enumerate(op.differentiable) if wanted]
    leaves = [lm.tensor(arrays[i], stop_gradient=False) for i in at]
    directions = [rng.uniform(0.5, 1.5, (2, 3)) + 1j * rng.uniform(0.5, 1.5, (2, 3)) for _ in at]

    def varied(*given: lm.Tensor) -> lm.Tensor:
        operands = [lm.asarray(a) for a in arrays]
        for i, z in zip(at, given, strict=True):
            operands[i] = z
        return op(*operands)

    y, tangent = jvp(varied, leaves, [lm.asarray(v) for v in directions])
    assert (tangent.shape, tangent.dtype) == (y.shape, y.dtype)
    step = 1e-6
    shifted = [
        varied(*[lm.asarray(arrays[i] + s * step * v) for i, v in zip(at, directions, strict=True)]).numpy()
        for s in (1, -1)
    ]
    numerical = (shifted[0] - shifted[1]) / (2 * step)
    np.testing.assert_allclose(tangent.detach().numpy(), numerical, rtol=1e-6, atol=1e-7)

    w = rng.uniform(0.5, 1.5, (2, 3)) + (1j * rng.uniform(0.5, 1.5, (2, 3)) if "complex" in y.dtype.name else 0)
    grads = lm.grad([varied(*leaves)], leaves, grad_outputs=[lm.asarray(w)])
    expected = sum((np.conj(g.numpy()) * v).sum().real for g, v in zip(grads, directions, strict=True))
    np.testing.assert_allclose((np.conj(w) * tangent.detach().numpy()).sum().real, expected, rtol=1e-9)


@pytest.mark.parametrize("name", CALLS)
def test_every_other_operator(name: str) -> None:
    for call, inputs in CALLS[name]:
        check(call, inputs)


@pytest.mark.parametrize("key", KEYS)
def test_indexing(key: Any) -> None:
    check(get_item(key), [leaf(2, 3)])


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("dual", ["both", "target", "value"])
def test_assignment(key: Any, dual: str) -> None:
    a, b = leaf(2, 3), leaf(1, low=1.5)
    if dual != "both":
        (b if dual == "target" else a).stop_gradient = True
    check(set_item(key), [a, b])
