"""Functions of networks: activations, convolutions, poolings and losses."""

from __future__ import annotations

import math as _math
from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella.compat.front import close_module

from . import _record
from ._builder import operator
from ._windows import pads, pair
from .math import gelu as gelu
from .math import relu as relu
from .math import sigmoid as sigmoid
from .math import tanh as tanh

__getattr__ = close_module(__name__)


def trains() -> bool:
    """True outside of jobs and in those of the type "train": in a job that predicts, dropout and the like are off."""
    record = _record.current()
    return record is None or record.trains


def _check_layout(op: str, data_format: str, wanted: str = "NCHW") -> None:
    if data_format != wanted:
        raise NotImplementedError(f"[{op}] data_format is '{wanted}', got {data_format!r}: transpose the tensor")


@operator
def leaky_relu(x: Any, alpha: float = 0.2, name: str | None = None) -> Any:
    """Returns positive elements, and ``alpha`` times the others."""
    return lm.leaky_relu(x, alpha)


@operator
def elu(x: Any, alpha: float = 1.0, name: str | None = None) -> Any:
    """Returns positive elements, and ``alpha * (exp(x) - 1)`` of the others."""
    return lm.elu(x, alpha)


@operator
def softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Returns exponentials divided by their sum along an axis, the last by default."""
    return lm.softmax(logits, axis=-1 if axis is None else axis)


@operator
def logsoftmax(logits: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Returns the logarithm of :func:`softmax`."""
    return lm.log_softmax(logits, axis=-1 if axis is None else axis)


@operator
def dropout(x: Any, rate: float, noise_shape: Any = None, seed: int | None = None, name: str | None = None) -> Any:
    """In jobs that train, zeroes each element with the probability ``rate``, and divides the others by ``1 - rate``."""
    if noise_shape is not None:
        raise NotImplementedError("[dropout] noise_shape: every element is drawn")
    if not trains() or rate == 0:
        return x
    return lm.dropout(x, rate, True) if seed is None else lm.dropout(x, rate, True, generator=_generator(seed))


def _generator(seed: int) -> lm.Generator:
    return lm.Generator("cpu").manual_seed(seed)


@operator
def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Any:
    """Adds a number to each channel, the second axis; "N..C" has them in the last."""
    axes = len(value.shape)
    if data_format is not None and not data_format.startswith("NC") and data_format.endswith("C"):
        return value + bias
    return value + lm.reshape(bias, [1, -1, *[1] * (axes - 2)])


@operator
def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    bias: Any = None,
    data_format: str = "NCHW",
    dilations: Any = None,
    groups: int = 1,
    name: str | None = None,
) -> Any:
    """Convolves images ``(n, channels, height, width)`` with filters ``(out, channels / groups, height, width)``.

    Args:
        input: the images.
        filters: the filters.
        strides: one number or two.
        padding: "SAME", "VALID" or a pair of numbers for each axis.
        bias: a number for each filter.
        data_format: "NCHW".
        dilations: one number or two.
        groups: how many groups the channels make.
        name: not used.
    """
    _check_layout("conv2d", data_format)
    stride, dilation = pair("conv2d", "strides", strides), pair("conv2d", "dilations", dilations or 1)
    window = (filters.shape[2], filters.shape[3])
    rows = pads("conv2d", padding, input.shape[2:], window, stride, dilation)
    if all(low == high for low, high in rows):
        even = (rows[0][0], rows[1][0])
    else:
        even, input = (0, 0), lm.pad(input, (*rows[1], *rows[0]))
    return lm.conv2d(input, filters, bias, stride=stride, padding=even, dilation=dilation, groups=groups)


@operator
def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NCHW", name: str | None = None
) -> Any:
    """Returns the largest element of each window; arguments as those of :func:`conv2d`."""
    _check_layout("max_pool2d", data_format)
    window, stride = pair("max_pool2d", "ksize", ksize), pair("max_pool2d", "strides", strides)
    rows = pads("max_pool2d", padding, input.shape[2:], window, stride, (1, 1))
    if any(each for row in rows for each in row):
        input = lm.pad(input, (*rows[1], *rows[0]), value=-_math.inf)
    return lm.max_pool2d(input, window, stride)


@operator
def avg_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NCHW", name: str | None = None
) -> Any:
    """Returns the mean of each window, in which the padding does not count; arguments as those of :func:`conv2d`."""
    _check_layout("avg_pool2d", data_format)
    window, stride = pair("avg_pool2d", "ksize", ksize), pair("avg_pool2d", "strides", strides)
    rows = pads("avg_pool2d", padding, input.shape[2:], window, stride, (1, 1))
    if not any(each for row in rows for each in row):
        return lm.avg_pool2d(input, window, stride)
    around = (*rows[1], *rows[0])
    shares = lm.avg_pool2d(lm.pad(lm.ones_like(input), around), window, stride)
    return lm.avg_pool2d(lm.pad(input, around), window, stride) / shares


@operator
def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Any:
    """Returns minus the logarithm of each label's :func:`softmax`: ``logits`` without its last axis.

    Args:
        labels: class numbers, of the shape of ``logits`` without its last axis, or with a last axis of size 1.
        logits: a score for each class, along the last axis.
        name: not used.
    """
    if len(labels.shape) == len(logits.shape):
        labels = lm.squeeze(labels, -1)
    return lm.cross_entropy(logits, labels, reduction="none", axis=-1)


@operator
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Any:
    """Returns the cross entropy of probabilities and of the :func:`softmax` of scores, along the last axis."""
    return -lm.sum(labels * lm.log_softmax(logits, axis=-1), axis=-1)


@operator
def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Any:
    """Returns the cross entropy of each probability and of the sigmoid of its score."""
    return lm.relu(logits) - logits * labels + lm.log1p(lm.exp(-lm.abs(logits)))


@operator
def moments(x: Any, axes: Sequence[int], keepdims: bool = False, name: str | None = None) -> Any:
    """Returns mean and variance over some axes."""
    return lm.mean(x, axis=tuple(axes), keepdims=keepdims), lm.var(x, axis=tuple(axes), keepdims=keepdims)
