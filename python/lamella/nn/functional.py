"""Layers as functions: nothing is kept between calls."""

from __future__ import annotations

import lamella as lm
from lamella import (
    cross_entropy,
    dropout,
    gelu,
    log_softmax,
    mse_loss,
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
