"""Forward mode of every built-in operator against reverse mode, in all second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import jvp

from . import moving
from .samples import ALL, ELEMENTWISE, Operator, arguments, case_id

SHAPES = {"same": [(2, 3)] * 3, "broadcast": [(2, 1), (3,), (2, 3)], "0-d": [(), (2,), ()]}
DIFFERENTIABLE = [op for op in ELEMENTWISE if any(op.differentiable) and "float64" in op.dtypes]


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
        np.testing.assert_array_equal(value.detach().numpy(), y.detach().numpy())
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


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
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


def x(*shape: int, low: float = -2.0, high: float = 2.0) -> lm.Tensor:
    """A leaf of distinct values, in an order that no formula follows."""
    values = np.linspace(low, high, int(np.prod(shape)))
    return lm.tensor(np.random.default_rng(3).permutation(values).reshape(shape), stop_gradient=False)


def index(*values: Any) -> lm.Tensor:
    return lm.asarray(np.array(values))


def in_place(name: str) -> Callable[..., lm.Tensor]:
    """An operator that writes into its argument, on a copy."""
    return lambda a, *rest: getattr(a * a, name)(*rest)


def seeded_dropout(a: lm.Tensor) -> lm.Tensor:
    lm.seed(5)
    return lm.dropout(a * a, 0.5)


# For each operator that is not elementwise, calls of it. One that has no gradient stands in WITHOUT_GRADIENT.
CALLS: dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]] = {
    "tril": [(lambda a: lm.tril(a * a, k=1), [x(3, 4)])],
    "triu": [(lambda a: lm.triu(a * a, k=-1), [x(2, 3, 3)])],
    "cast": [(lambda a: lm.cast(lm.cast(a * a, "float32"), "float64") * 0 + a, [x(3)])],
    "astype": [(lambda a: lm.astype(a * a, "float64"), [x(3)])],
    "clone": [(lambda a: lm.clone(a) * a, [x(2, 3)])],
    "contiguous": [(lambda a: lm.contiguous(a.T) * a.T, [x(2, 3)])],
    "to_device": [(lambda a: lm.to_device(a * a, "cpu"), [x(3)])],
    "add_": [(in_place("add_"), [x(2, 3), x(3)])],
    "sub_": [(in_place("sub_"), [x(2, 3), x(2, 1)])],
    "mul_": [(in_place("mul_"), [x(2, 3), x(3)])],
    "div_": [(in_place("div_"), [x(2, 3), x(3, low=0.5)])],
    "copy_": [(in_place("copy_"), [x(2, 3), x(3)])],
    "fill_": [(lambda a: (a * 2).fill_(1.0) + a * a, [x(3)])],
    "zero_": [(lambda a: (a * 2).zero_() + a * a, [x(3)])],
    "masked_fill_": [
        (lambda a, b: (a * a).masked_fill_(lm.asarray(np.array([True, False, True])), b * b), [x(2, 3), x()]),
        (lambda a: (a * a).masked_fill_(lm.asarray(np.array([True, False, True])), 2.0), [x(2, 3)]),
    ],
    "reshape": [(lambda a: lm.reshape(a * a, [3, -1]), [x(2, 3)]), (lambda a: lm.reshape((a * a).T, [6]), [x(2, 3)])],
    "flatten": [(lambda a: lm.flatten(a * a, 1), [x(2, 2, 2)])],
    "squeeze": [(lambda a: lm.squeeze(a * a), [x(2, 1, 3)])],
    "expand_dims": [(lambda a: lm.expand_dims(a * a, 1), [x(2, 3)])],
    "broadcast_to": [(lambda a: lm.broadcast_to(a * a, [2, 2, 3]), [x(2, 1)])],
    "sum_to": [(lambda a: lm.sum_to(a * a, [2, 1]), [x(3, 2, 2)])],
    "permute_dims": [(lambda a: lm.permute_dims(a * a, [2, 0, 1]), [x(2, 3, 2)])],
    "matrix_transpose": [(lambda a: lm.matrix_transpose(a * a), [x(2, 2, 3)])],
    "swapaxes": [(lambda a: lm.swapaxes(a * a, 0, 2), [x(2, 3, 2)])],
    "concat": [
        (lambda a, b: lm.concat([a * a, b, a], axis=1), [x(2, 2), x(2, 3)]),
        (lambda a: lm.concat([a * a, index([1.0], [2.0])], axis=1), [x(2, 2)]),
    ],
    "stack": [(lambda a, b: lm.stack([a * a, b * a], axis=1), [x(2, 2), x(2, 2)])],
    "split": [(lambda a: lm.split(a * a, [1, 2, 1], axis=1), [x(2, 4)])],
    "flip": [(lambda a: lm.flip(a * a, 0), [x(3, 2)])],
    "roll": [(lambda a: lm.roll(a * a, 2, 0), [x(3, 2)])],
    "take": [(lambda a: lm.take(a * a, index(2, 0, 2), axis=1), [x(2, 3)])],
    "take_along_axis": [(lambda a: lm.take_along_axis(a * a, index([2, 2], [0, 1]), axis=1), [x(2, 3)])],
    "sum": [
        (lambda a: lm.sum(a * a), [x(2, 3)]),
        (lambda a: lm.sum(a * a, axis=1, keepdims=True), [x(2, 3)]),
    ],
    "mean": [(lambda a: lm.mean(a * a), [x(2, 3)]), (lambda a: lm.mean(a * a, axis=0), [x(2, 3)])],
    "prod": [(lm.prod, [x(5)]), (lambda a: lm.prod(a, axis=1), [x(2, 3)])],
    "max": [(lambda a: lm.max(a * a), [x(5, low=0.1)]), (lambda a: lm.max(a * a, axis=1), [x(2, 3, low=0.1)])],
    "min": [(lambda a: lm.min(a * a), [x(5, low=0.1)]), (lambda a: lm.min(a, axis=0, keepdims=True), [x(2, 3)])],
    "matmul": [
        (lm.matmul, [x(2, 3), x(3, 2)]),
        (lm.matmul, [x(3), x(2, 3, 2)]),
        (lm.matmul, [x(2, 1, 2, 3), x(2, 3, 1)]),
        (lambda a: lm.matmul(a, a), [x(2, 2)]),
    ],
    "linear": [
        (lm.linear, [x(2, 3), x(4, 3), x(4)]),
        (lm.linear, [x(3), x(2, 3)]),
        (lambda b: lm.linear(x(2, 3).detach(), x(4, 3).detach(), b * b), [x(4)]),
        (lambda w: lm.linear(x(2, 3).detach(), w * w, x(4).detach()), [x(4, 3)]),
    ],
    "clip": [
        (lambda a: lm.clip(a * a * a, -1.05, 1.15), [x(2, 3)]),
        (lambda a: lm.clip(a, min=0.1), [x(4)]),
    ],
    "gelu": [(lm.gelu, [x(5)]), (lambda a: lm.gelu(a, approximate="tanh"), [x(5)])],
    "softmax": [(lambda a: lm.softmax(a, axis=0), [x(3, 2)]), (lm.softmax, [x(2, 3)])],
    "log_softmax": [(lambda a: lm.log_softmax(a, axis=0), [x(3, 2)]), (lm.log_softmax, [x(2, 3)])],
    "cross_entropy": [
        (lambda a, r=r: lm.cross_entropy(a, index(1, 0, 3), reduction=r), [x(3, 4)]) for r in ("mean", "sum", "none")
    ],
    "mse_loss": [(lambda a, b, r=r: lm.mse_loss(a, b, reduction=r), [x(2, 3), x(2, 3)]) for r in ("mean", "none")],
    "dropout": [(seeded_dropout, [x(3, 4)])],
    **moving.CALLS,
}

WITHOUT_GRADIENT = {
    *("zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like", "arange", "linspace"),
    *("eye", "rand", "randn", "uniform", "normal", "randint", "randperm", "bernoulli", "nonzero", "argmax", "argmin"),
    *("any", "all", "one_hot", "multinomial"),
}


@pytest.mark.parametrize("name", [info["name"] for info in ALL if not info["elementwise"]])
def test_every_other_operator(name: str) -> None:
    """A new operator takes a line in CALLS, or in WITHOUT_GRADIENT."""
    assert (name in CALLS) != (name in WITHOUT_GRADIENT)
    for call, inputs in CALLS.get(name, []):
        check(call, inputs)


KEYS = [0, (slice(None), 1), (..., slice(None, None, -1)), (None, slice(1, None)), [1, 0, 1], ([1, 0], slice(1, 3))]


@pytest.mark.parametrize("key", KEYS)
def test_indexing(key: Any) -> None:
    check(lambda a: (a * a)[key], [x(2, 3)])


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("dual", ["both", "target", "value"])
def test_assignment(key: Any, dual: str) -> None:
    def assign(a: lm.Tensor, b: lm.Tensor) -> lm.Tensor:
        copy = a * a
        copy[key] = b * b
        return copy * a

    a, b = x(2, 3), x(1, low=1.5)
    if dual != "both":
        (b if dual == "target" else a).stop_gradient = True
    check(assign, [a, b])
