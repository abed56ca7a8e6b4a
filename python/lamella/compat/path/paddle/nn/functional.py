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
    """Returns the squared difference of two tensors, which may be broadcast."""
    if tuple(input.shape) == tuple(label.shape):
        return lm.mse_loss(input, label, reduction=reduction)
    loss = lm.square(input - label)
    return loss if reduction == "none" else lm.mean(loss) if reduction == "mean" else lm.sum(loss)


def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    """Returns the squared difference of two tensors, element by element."""
    return lm.square(input - label)


def dropout(
    x: Tensor,
    p: float = 0.5,
    axis: Any = None,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """Zeroes each element with probability ``p`` and divides the others by ``1 - p``, in training."""
    if axis is not None or mode != "upscale_in_train":
        raise NotImplementedError("[dropout] Lamella's paddle front takes neither an axis nor another mode")
    return lm.dropout(x, p, training)


def cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Returns the cross entropy of scores, or without ``use_softmax`` of probabilities, and classes.

    Classes are integers in the shape of ``input`` without ``axis``, or with 1 for its size; where ``soft_label``, they
    are probabilities in the shape of ``input``.
    """
    axis = axis % input.ndim
    if soft_label:
        if weight is not None or label_smoothing:
            raise NotImplementedError("[cross_entropy] Lamella's paddle front takes soft labels without weights")
        logarithm = lm.log_softmax(input, axis=axis) if use_softmax else lm.log(input)
        loss = -lm.sum(label * logarithm, axis=axis, keepdims=True)
        return loss if reduction == "none" else lm.mean(loss) if reduction == "mean" else lm.sum(loss)
    keeps_axis = label.ndim == input.ndim
    if keeps_axis:
        label = lm.squeeze(label, axis)
    if use_softmax:
        loss = lm.cross_entropy(input, label, weight, ignore_index, reduction, label_smoothing, axis)
    elif label_smoothing:
        raise NotImplementedError("[cross_entropy] Lamella's paddle front smooths the labels of scores only")
    else:
        loss = lm.nll_loss(lm.log(input), label, weight, ignore_index, reduction, axis)
    return lm.expand_dims(loss, axis) if keeps_axis and reduction == "none" else loss


__getattr__ = close_module(__name__)
