"""Paddle's layers as functions."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """``x @ weight + bias`` with a weight of shape ``(in_features, out_features)``."""
    y = lm.matmul(x, weight)
    return y if bias is None else y + bias


def relu(x: Tensor, name: str | None = None) -> Tensor:
    """``max(x, 0)``."""
    return lm.relu(x)


def tanh(x: Tensor, name: str | None = None) -> Tensor:
    """Returns the hyperbolic tangent."""
    return lm.tanh(x)


def sigmoid(x: Tensor, name: str | None = None) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return lm.sigmoid(x)


def gelu(x: Tensor, approximate: bool = False, name: str | None = None) -> Tensor:
    """Returns the Gaussian error linear unit."""
    return lm.gelu(x, approximate="tanh" if approximate else "none")


def softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns the softmax along ``axis``."""
    return lm.softmax(x if dtype is None else lm.cast(x, dtype), axis=axis)


def log_softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns the logarithm of the softmax along ``axis``."""
    return lm.log_softmax(x if dtype is None else lm.cast(x, dtype), axis=axis)


def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Returns the squared difference of two tensors."""
    return lm.mse_loss(input, label, reduction=reduction)


def cross_entropy(input: Tensor, label: Tensor, *, reduction: str = "mean", name: str | None = None) -> Tensor:
    """Returns the cross entropy of scores ``(n, classes)`` and classes ``(n,)`` or ``(n, 1)``."""
    if label.ndim == input.ndim:
        label = lm.squeeze(label, -1)
    return lm.cross_entropy(input, label, reduction=reduction, axis=-1)


__getattr__ = close_module(__name__)
