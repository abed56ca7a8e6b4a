"""Rules of normalization."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella._C import Tensor

from ._letters import letters
from .call import Call
from .registry import composition, rule
from .spec import UNKNOWN, Spec


@rule("layer_norm", "rms_norm")
def layer_norm(call: Call) -> Spec:
    """Splits the axes before those that are normalized."""
    shape = call.arguments["normalized_shape"]
    last = 1 if isinstance(shape, int) else len(shape)
    labels = letters(call.tensors[0].ndim - last) + UNKNOWN * last
    return Spec((labels, *(UNKNOWN * last for _ in call.tensors[1:])), (labels,))


@rule("group_norm")
def group_norm(call: Call) -> Spec:
    """Splits the batch."""
    labels = "n" + UNKNOWN * (call.tensors[0].ndim - 1)
    return Spec((labels, *(UNKNOWN for _ in call.tensors[1:])), (labels,))


@rule("batch_norm", "instance_norm")
def channel_norm(call: Call) -> Spec | None:
    """Splits the channels with all that belongs to them; the batch where its statistics are not taken."""
    ndim = call.tensors[0].ndim
    if ndim < 2 or (call.name == "instance_norm" and ndim < 3):
        return None
    labels = "nc" + UNKNOWN * (ndim - 2)
    fixed = ""
    if call.name == "batch_norm":
        fixed = "n" if call.arguments.get("training") or call.arguments.get("running_mean") is None else ""
    elif call.arguments.get("running_mean") is not None and call.arguments.get("use_input_stats", True):
        # Running statistics are means over the batch, and are written to: a part of them would be lost.
        fixed = "nc"
    return Spec((labels, *("c" for _ in call.tensors[1:])), (labels,), fixed=fixed)


@composition("batch_norm")
def batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Takes the statistics of a batch by means, whose parts add up: those of all processes' samples together.

    Source: S. Ioffe and C. Szegedy, "Batch normalization", arXiv:1502.03167, algorithm 1.
    """
    if not training or x.ndim < 2:
        return NotImplemented
    axes = [0, *range(2, x.ndim)]
    shape = [1, x.shape[1], *[1] * (x.ndim - 2)]
    centered = x - lm.mean(x, axis=axes, keepdims=True)
    variance = lm.mean(lm.square(centered), axis=axes, keepdims=True)
    if running_mean is not None and running_var is not None:
        count = x.size // x.shape[1]
        with lm.no_grad():
            mean = lm.reshape(lm.mean(x.detach(), axis=axes), running_mean.shape)
            spread = lm.reshape(variance.detach(), running_var.shape) * (count / max(count - 1, 1))
            running_mean.copy_(running_mean * (1 - momentum) + mean * momentum)
            running_var.copy_(running_var * (1 - momentum) + spread * momentum)
    y = centered * lm.rsqrt(variance + eps)
    if weight is not None:
        y = y * lm.reshape(weight, shape)
    return y if bias is None else y + lm.reshape(bias, shape)


@rule("prelu")
def prelu(call: Call) -> Spec:
    """Splits the channels with their slopes, and any other axis."""
    labels = letters(call.tensors[0].ndim)
    slopes = labels[1] if len(labels) > 1 and call.shapes[1] != (1,) else UNKNOWN * call.tensors[1].ndim
    return Spec((labels, slopes), (labels,))
