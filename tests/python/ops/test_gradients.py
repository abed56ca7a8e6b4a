"""First and second derivatives of every built-in operator against differences, by the public checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from . import moving
from .samples import ALL, ELEMENTWISE, Operator, arguments, case_id

SHAPES = {"same": [(2, 3)] * 3, "broadcast": [(2, 1), (3,), (2, 3)], "0-d": [(), (2,), ()]}
DIFFERENTIABLE = [op for op in ELEMENTWISE if any(op.differentiable) and "float64" in op.dtypes]


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=case_id)
def test_elementwise(op: Operator, shapes: list[tuple[int, ...]], rng: np.random.Generator) -> None:
    arrays = arguments(op, shapes[: op.inputs], "float64", rng)
    inputs = [lm.tensor(a, stop_gradient=not op.differentiable[i]) for i, a in enumerate(arrays)]
    for fast in (False, True):
        assert lm.autograd.gradcheck(op, inputs, atol=1e-7, rtol=1e-5, fast_mode=fast)
        assert lm.autograd.gradgradcheck(op, inputs, atol=1e-6, rtol=2e-5, fast_mode=fast)


def x(*shape: int, low: float = -2.0, high: float = 2.0) -> lm.Tensor:
    """A leaf of distinct values, in an order that no formula follows."""
    values = np.linspace(low, high, int(np.prod(shape)))
    return lm.tensor(np.random.default_rng(3).permutation(values).reshape(shape), stop_gradient=False)


def index(*values: Any) -> lm.Tensor:
    return lm.asarray(np.array(values))


def in_place(name: str) -> Callable[..., lm.Tensor]:
    """An operator that writes into its argument, on a copy, which the caller does not keep."""
    return lambda a, *rest: getattr(a * 1.5, name)(*rest)


def seeded_dropout(a: lm.Tensor) -> lm.Tensor:
    before = lm.get_rng_state()
    lm.seed(5)
    try:
        return lm.dropout(a, 0.5)
    finally:
        lm.set_rng_state(before)


# For each operator that is not elementwise, calls of it. One that has no gradient stands in WITHOUT_GRADIENT.
CALLS: dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]] = {
    "tril": [(lambda a: lm.tril(a, k=1), [x(3, 4)])],
    "triu": [(lambda a: lm.triu(a, k=-1), [x(2, 3, 3)])],
    "cast": [(lambda a: lm.cast(a * 2, "float64"), [x(3)])],
    "astype": [(lambda a: lm.astype(a, "float64"), [x(3)])],
    "clone": [(lm.clone, [x(2, 3)])],
    "contiguous": [(lambda a: lm.contiguous(a.T), [x(2, 3)])],
    "to_device": [(lambda a: lm.to_device(a * 2, "cpu"), [x(3)])],
    "add_": [(in_place("add_"), [x(2, 3), x(3)])],
    "sub_": [(in_place("sub_"), [x(2, 3), x(2, 1)])],
    "mul_": [(in_place("mul_"), [x(2, 3), x(3)])],
    "div_": [(in_place("div_"), [x(2, 3), x(3, low=0.5)])],
    "copy_": [(in_place("copy_"), [x(2, 3), x(3)])],
    "fill_": [(lambda a: (a * 2).fill_(1.0) + a, [x(3)])],
    "masked_fill_": [(lambda a, v: (a * 2).masked_fill_(index([True, False, True]), v), [x(2, 3), x()])],
    "zero_": [(lambda a: (a * 2).zero_() + a, [x(3)])],
    "reshape": [(lambda a: lm.reshape(a, [3, -1]), [x(2, 3)]), (lambda a: lm.reshape(a.T, [6]), [x(2, 3)])],
    "flatten": [(lambda a: lm.flatten(a, 1), [x(2, 2, 2)])],
    "squeeze": [(lm.squeeze, [x(2, 1, 3)])],
    "expand_dims": [(lambda a: lm.expand_dims(a, 1), [x(2, 3)])],
    "broadcast_to": [(lambda a: lm.broadcast_to(a, [2, 2, 3]), [x(2, 1)])],
    "sum_to": [(lambda a: lm.sum_to(a, [2, 1]), [x(3, 2, 2)])],
    "permute_dims": [(lambda a: lm.permute_dims(a, [2, 0, 1]), [x(2, 3, 2)])],
    "matrix_transpose": [(lm.matrix_transpose, [x(2, 2, 3)])],
    "swapaxes": [(lambda a: lm.swapaxes(a, 0, 2), [x(2, 3, 2)])],
    "concat": [(lambda a, b: lm.concat([a, b, a], axis=1), [x(2, 2), x(2, 3)])],
    "stack": [(lambda a, b: lm.stack([a, b], axis=1), [x(2, 2), x(2, 2)])],
    "split": [(lambda a: lm.split(a, [1, 2, 1], axis=1), [x(2, 4)])],
    "flip": [(lambda a: lm.flip(a, 0), [x(3, 2)])],
    "roll": [(lambda a: lm.roll(a, 2, 0), [x(3, 2)])],
    "take": [(lambda a: lm.take(a, index(2, 0, 2), axis=1), [x(2, 3)])],
    "take_along_axis": [(lambda a: lm.take_along_axis(a, index([2, 2], [0, 1]), axis=1), [x(2, 3)])],
    "sum": [(lm.sum, [x(2, 3)]), (lambda a: lm.sum(a, axis=1, keepdims=True), [x(2, 3)])],
    "mean": [(lm.mean, [x(2, 3)]), (lambda a: lm.mean(a, axis=0), [x(2, 3)])],
    "prod": [(lm.prod, [x(5)]), (lambda a: lm.prod(a, axis=1), [x(2, 3)])],
    "max": [(lm.max, [x(5)]), (lambda a: lm.max(a, axis=1), [x(2, 3)])],
    "min": [(lm.min, [x(5)]), (lambda a: lm.min(a, axis=0, keepdims=True), [x(2, 3)])],
    "matmul": [
        (lm.matmul, [x(2, 3), x(3, 2)]),
        (lm.matmul, [x(3), x(2, 3, 2)]),
        (lm.matmul, [x(2, 1, 2, 3), x(2, 3, 1)]),
    ],
    "linear": [(lm.linear, [x(2, 3), x(4, 3), x(4)]), (lm.linear, [x(3), x(2, 3)])],
    "clip": [(lambda a: lm.clip(a, -1.05, 1.15), [x(2, 3)]), (lambda a: lm.clip(a, min=0.1), [x(4)])],
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
    *("any", "all", "one_hot"),
}


@pytest.mark.parametrize("name", [info["name"] for info in ALL if not info["elementwise"]])
def test_every_other_operator(name: str) -> None:
    """A new operator takes a line in CALLS, or in WITHOUT_GRADIENT."""
    assert (name in CALLS) != (name in WITHOUT_GRADIENT)
    for call, inputs in CALLS.get(name, []):
        for fast in (False, True):
            assert lm.autograd.gradcheck(call, inputs, atol=1e-7, rtol=1e-5, fast_mode=fast)
            assert lm.autograd.gradgradcheck(call, inputs, atol=1e-6, rtol=2e-5, fast_mode=fast)


@pytest.mark.parametrize("name", sorted(WITHOUT_GRADIENT & {"zeros_like", "full_like", "argmax", "one_hot", "nonzero"}))
def test_operators_without_a_gradient_give_none(name: str) -> None:
    a = lm.tensor([1.0, 0.0, 2.0], stop_gradient=False)
    rest = {"full_like": [3.0], "one_hot": [3]}.get(name, [])
    result = getattr(lm, name)(a.astype("int64") if name == "one_hot" else a, *rest)
    for y in result if isinstance(result, tuple) else [result]:
        assert y.stop_gradient


@pytest.mark.parametrize("key", [0, (slice(None), 1), (..., slice(None, None, -1)), (None, slice(1, None)), [1, 0, 1]])
def test_indexing(key: Any) -> None:
    assert lm.autograd.gradcheck(lambda a: a[key], x(2, 3), atol=1e-7)
    assert lm.autograd.gradgradcheck(lambda a: a[key], x(2, 3), atol=1e-6)


def test_assignment() -> None:
    def assign(a: lm.Tensor, b: lm.Tensor) -> lm.Tensor:
        copy = a * 2
        copy[:, 1] = b
        return copy

    assert lm.autograd.gradcheck(assign, (x(2, 3), x(2)), atol=1e-7)
    assert lm.autograd.gradgradcheck(assign, (x(2, 3), x(2)), atol=1e-6)
