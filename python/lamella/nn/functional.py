"""Layers as functions: nothing is kept between calls."""

from __future__ import annotations

import lamella as lm
from lamella import (
    cross_entropy,
    gelu,
    log_softmax,
    relu,
    sigmoid,
    softmax,
    tanh,
)

__all__ = [
    "cross_entropy",
    "dropout",
    "gelu",
    "linear",
    "log_softmax",
    "mse_loss",
    "relu",
    "sigmoid",
    "softmax",
    "tanh",
]


def linear(x: lm.Tensor, weight: lm.Tensor, bias: lm.Tensor | None = None) -> lm.Tensor:
    """``x @ weight.T + bias``.

    Args:
        x: shape ``(..., in_features)``.
        weight: shape ``(out_features, in_features)``.
        bias: shape ``(out_features,)``, or None.

    Returns:
        Shape ``(..., out_features)``.
    """
    y = lm.matmul(x, weight.T)
    return y if bias is None else y + bias


def dropout(x: lm.Tensor, p: float = 0.5, training: bool = True) -> lm.Tensor:
    """Zeroes each element with probability ``p`` and scales the others by ``1 / (1 - p)``, in training only.

    Source: Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from overfitting"
    (scaled while training, so that evaluation is the identity).
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"[dropout] p is a probability, not {p}")
    if not training or p == 0.0:
        return x
    keep = lm.bernoulli(lm.full_like(x.detach(), 1.0 - p))
    return x * (keep / (1.0 - p)) if p < 1.0 else x * keep


def mse_loss(input: lm.Tensor, target: lm.Tensor, reduction: str = "mean") -> lm.Tensor:
    """The squared difference of two tensors of one shape.

    Args:
        input: any shape, floating-point.
        target: the shape of ``input``.
        reduction: "mean" or "sum" over all elements, or "none" for the differences themselves.
    """
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"[mse_loss] shapes differ (input: {list(input.shape)}, target: {list(target.shape)})")
    loss = lm.square(input - target)
    match reduction:
        case "mean":
            return lm.mean(loss)
        case "sum":
            return lm.sum(loss)
        case "none":
            return loss
    raise ValueError(f"[mse_loss] reduction is 'mean', 'sum' or 'none', not {reduction!r}")
