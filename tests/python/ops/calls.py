"""Calls of every operator that is not elementwise: what the tests of gradients and of forward mode both run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm

from .nn_calls import NN_CALLS


def leaf(*shape: int, low: float = -2.0, high: float = 2.0) -> lm.Tensor:
    """A leaf of distinct values, in an order that no formula follows."""
    values = np.linspace(low, high, int(np.prod(shape)))
    return lm.tensor(np.random.default_rng(3).permutation(values).reshape(shape), stop_gradient=False)


def index(*values: Any) -> lm.Tensor:
    return lm.asarray(np.array(values))


def in_place(name: str) -> Callable[..., lm.Tensor]:
    """An operator that writes into its argument, on a copy."""
    return lambda a, *rest: getattr(a * a, name)(*rest)


def seeded_dropout(a: lm.Tensor) -> lm.Tensor:
    return lm.dropout(a * a, 0.5, generator=lm.Generator(seed=5))


# For each operator that is not elementwise, calls of it and leaves to call them on. Most are nonlinear, so that second
# derivatives are not zero. A new operator takes a line here, or in WITHOUT_GRADIENT.
CALLS: dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]] = {
    "tril": [(lambda a: lm.tril(a * a, k=1), [leaf(3, 4)])],
    "triu": [(lambda a: lm.triu(a * a, k=-1), [leaf(2, 3, 3)])],
    "cast": [(lambda a: lm.cast(lm.cast(a * a, "complex128"), "float64"), [leaf(3)])],
    "astype": [(lambda a: lm.astype(a * a, "float64"), [leaf(3)])],
    "clone": [(lambda a: lm.clone(a) * a, [leaf(2, 3)])],
    "contiguous": [(lambda a: lm.contiguous(a.T) * a.T, [leaf(2, 3)])],
    "to_device": [(lambda a: lm.to_device(a * a, "cpu"), [leaf(3)])],
    "add_": [(in_place("add_"), [leaf(2, 3), leaf(3)])],
    "sub_": [(in_place("sub_"), [leaf(2, 3), leaf(2, 1)])],
    "mul_": [(in_place("mul_"), [leaf(2, 3), leaf(3)])],
    "div_": [(in_place("div_"), [leaf(2, 3), leaf(3, low=0.5)])],
    "copy_": [(in_place("copy_"), [leaf(2, 3), leaf(3)])],
    "fill_": [(lambda a: (a * 2).fill_(1.0) + a * a, [leaf(3)])],
    "zero_": [(lambda a: (a * 2).zero_() + a * a, [leaf(3)])],
    "masked_fill_": [
        (lambda a, b: (a * a).masked_fill_(index(True, False, True), b * b), [leaf(2, 3), leaf()]),
        (lambda a: (a * a).masked_fill_(index(True, False, True), 2.0), [leaf(2, 3)]),
    ],
    "reshape": [
        (lambda a: lm.reshape(a * a, [3, -1]), [leaf(2, 3)]),
        (lambda a: lm.reshape((a * a).T, [6]), [leaf(2, 3)]),
    ],
    "flatten": [(lambda a: lm.flatten(a * a, 1), [leaf(2, 2, 2)])],
    "squeeze": [(lambda a: lm.squeeze(a * a), [leaf(2, 1, 3)])],
    "expand_dims": [(lambda a: lm.expand_dims(a * a, 1), [leaf(2, 3)])],
    "broadcast_to": [(lambda a: lm.broadcast_to(a * a, [2, 2, 3]), [leaf(2, 1)])],
    "sum_to": [(lambda a: lm.sum_to(a * a, [2, 1]), [leaf(3, 2, 2)])],
    "permute_dims": [(lambda a: lm.permute_dims(a * a, [2, 0, 1]), [leaf(2, 3, 2)])],
    "matrix_transpose": [(lambda a: lm.matrix_transpose(a * a), [leaf(2, 2, 3)])],
    "swapaxes": [(lambda a: lm.swapaxes(a * a, 0, 2), [leaf(2, 3, 2)])],
    "concat": [
        (lambda a, b: lm.concat([a * a, b, a], axis=1), [leaf(2, 2), leaf(2, 3)]),
        (lambda a: lm.concat([a * a, index([1.0], [2.0])], axis=1), [leaf(2, 2)]),
    ],
    "stack": [(lambda a, b: lm.stack([a * a, b * a], axis=1), [leaf(2, 2), leaf(2, 2)])],
    "split": [(lambda a: lm.split(a * a, [1, 2, 1], axis=1), [leaf(2, 4)])],
    "flip": [(lambda a: lm.flip(a * a, 0), [leaf(3, 2)])],
    "roll": [(lambda a: lm.roll(a * a, 2, 0), [leaf(3, 2)])],
    "take": [(lambda a: lm.take(a * a, index(2, 0, 2), axis=1), [leaf(2, 3)])],
    "take_along_axis": [(lambda a: lm.take_along_axis(a * a, index([2, 2], [0, 1]), axis=1), [leaf(2, 3)])],
    "sum": [
        (lambda a: lm.sum(a * a), [leaf(2, 3)]),
        (lambda a: lm.sum(a * a, axis=1, keepdims=True), [leaf(2, 3)]),
    ],
    "mean": [(lambda a: lm.mean(a * a), [leaf(2, 3)]), (lambda a: lm.mean(a * a, axis=0), [leaf(2, 3)])],
    "prod": [(lm.prod, [leaf(5)]), (lambda a: lm.prod(a, axis=1), [leaf(2, 3)])],
    "max": [(lambda a: lm.max(a * a), [leaf(5, low=0.1)]), (lambda a: lm.max(a, axis=1), [leaf(2, 3)])],
    "min": [(lambda a: lm.min(a * a), [leaf(5, low=0.1)]), (lambda a: lm.min(a, axis=0, keepdims=True), [leaf(2, 3)])],
    "matmul": [
        (lm.matmul, [leaf(2, 3), leaf(3, 2)]),
        (lm.matmul, [leaf(3), leaf(2, 3, 2)]),
        (lm.matmul, [leaf(2, 1, 2, 3), leaf(2, 3, 1)]),
        (lambda a: lm.matmul(a, a), [leaf(2, 2)]),
    ],
    "linear": [
        (lm.linear, [leaf(2, 3), leaf(4, 3), leaf(4)]),
        (lm.linear, [leaf(3), leaf(2, 3)]),
        (lambda b: lm.linear(leaf(2, 3).detach(), leaf(4, 3).detach(), b * b), [leaf(4)]),
        (lambda w: lm.linear(leaf(2, 3).detach(), w * w, leaf(4).detach()), [leaf(4, 3)]),
    ],
    "positive": [(lambda a: lm.positive(a * a), [leaf(3)])],
    "deg2rad": [(lambda a: lm.deg2rad(a * a), [leaf(3)])],
    "rad2deg": [(lambda a: lm.rad2deg(a * a), [leaf(3)])],
    "logit": [
        (lm.logit, [leaf(3, low=0.1, high=0.8)]),
        (lambda a: lm.logit(a, eps=0.2), [leaf(4, low=0.1, high=0.87)]),
    ],
    "polygamma": [(lambda a, n=n: lm.polygamma(n, a), [leaf(3, low=0.5)]) for n in (0, 2)],
    "addcmul": [(lambda a, b, c: lm.addcmul(a, b, c, value=0.5), [leaf(2, 3), leaf(3), leaf(2, 1)])],
    "addcdiv": [(lambda a, b, c: lm.addcdiv(a, b, c, value=0.5), [leaf(2, 3), leaf(3), leaf(2, 1, low=0.5)])],
    "nan_to_num": [(lambda a: lm.nan_to_num(a * a), [leaf(3)])],
    "clip": [
        (lambda a: lm.clip(a * a * a, -1.05, 1.15), [leaf(2, 3)]),
        (lambda a: lm.clip(a, min=0.1), [leaf(4)]),
    ],
    "gelu": [(lm.gelu, [leaf(5)]), (lambda a: lm.gelu(a, approximate="tanh"), [leaf(5)])],
    "softmax": [(lambda a: lm.softmax(a, axis=0), [leaf(3, 2)]), (lm.softmax, [leaf(2, 3)])],
    "log_softmax": [(lambda a: lm.log_softmax(a, axis=0), [leaf(3, 2)]), (lm.log_softmax, [leaf(2, 3)])],
    "cross_entropy": [
        (lambda a, r=r: lm.cross_entropy(a, index(1, 0, 3), reduction=r), [leaf(3, 4)]) for r in ("mean", "sum", "none")
    ],
    "mse_loss": [
        (lambda a, b, r=r: lm.mse_loss(a, b, reduction=r), [leaf(2, 3), leaf(2, 3)]) for r in ("mean", "none")
    ],
    "dropout": [(seeded_dropout, [leaf(3, 4)])],
}
CALLS |= NN_CALLS

WITHOUT_GRADIENT = {
    *("zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like", "arange", "linspace"),
    *("eye", "rand", "randn", "uniform", "normal", "randint", "randperm", "bernoulli", "nonzero", "argmax", "argmin"),
    *("any", "all", "one_hot"),
    *("isclose", "allclose"),
}

KEYS = [0, (slice(None), 1), (..., slice(None, None, -1)), (None, slice(1, None)), [1, 0, 1], ([1, 0], slice(1, 3))]


def get_item(key: Any) -> Callable[..., lm.Tensor]:
    return lambda a: (a * a)[key]


def set_item(key: Any) -> Callable[..., lm.Tensor]:
    def assign(a: lm.Tensor, b: lm.Tensor) -> lm.Tensor:
        copy = a * a
        copy[key] = b * b
        return copy * a

    return assign
