"""Normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

import lamella as lm

from .._builder import Value, cast, constant, op, reduce, reshape, size, sizes, unsqueeze
from .._registry import builtin
from .reductions import axes_of, moments, powered_norm


def _channels(weight: Value, x: Value) -> Value:
    """Returns a vector along axis 1 of a value of x's rank."""
    return reshape(cast(weight, x.dtype), [-1] + [1] * (x.ndim - 2)) if x.ndim > 2 else cast(weight, x.dtype)


def _scaled(y: Value, weight: Value | None, bias: Value | None) -> Value:
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias


@builtin("layer_norm")
def layer_norm(
    x: Value, normalized_shape: Any, weight: Value | None = None, bias: Value | None = None, eps: float = 1e-5
) -> Value:
    """Over the last axes."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    scale = constant(np.ones(shape), x.dtype) if weight is None else cast(weight, x.dtype)
    shift = None if bias is None else cast(bias, x.dtype)
    return op("LayerNormalization", x, scale, shift, axis=-len(shape), epsilon=float(eps))


@builtin("rms_norm")
def rms_norm(x: Value, normalized_shape: Any, weight: Value | None = None, eps: float | None = None) -> Value:
    """By the root of the mean square of the last axes."""
    count = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    small = float(lm.finfo(x.dtype).eps) if eps is None else eps
    mean = reduce("ReduceMean", x * x, list(range(x.ndim - count, x.ndim)), keepdims=True)
    y = x / op("Sqrt", mean + small)
    return _scaled(y, None if weight is None else cast(weight, x.dtype), None)


@builtin("group_norm")
def group_norm(
    x: Value, num_groups: int, weight: Value | None = None, bias: Value | None = None, eps: float = 1e-5
) -> Value:
    """Over groups of channels."""
    groups = reshape(x, [size(x, 0), num_groups, -1])
    ones, zeros = (constant(np.full(num_groups, value), x.dtype) for value in (1.0, 0.0))
    y = reshape(op("InstanceNormalization", groups, ones, zeros, epsilon=float(eps)), sizes(x))
    return _scaled(y, *(None if part is None else _channels(part, x) for part in (weight, bias)))


@builtin("instance_norm")
def instance_norm(
    x: Value,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    *,
    running_mean: Value | None = None,
    running_var: Value | None = None,
    use_input_stats: bool = True,
) -> Value:
    """Over each channel of each sample."""
    if use_input_stats and running_mean is not None:
        raise NotImplementedError(
            "[instance_norm] in training updates the running statistics, which a model cannot keep: call eval() of the "
            "layer"
        )
    if running_mean is not None and running_var is not None:
        return _by_statistics(x, running_mean, running_var, weight, bias, eps)
    channels = size(x, 1)
    if not isinstance(channels, int):
        raise NotImplementedError("[instance_norm] an exported model needs the number of channels")
    scale, shift = (
        constant(np.full(channels, other), x.dtype) if given is None else cast(given, x.dtype)
        for given, other in ((weight, 1.0), (bias, 0.0))
    )
    return op("InstanceNormalization", x, scale, shift, epsilon=float(eps))


def _by_statistics(x: Value, mean: Value, var: Value, weight: Value | None, bias: Value | None, eps: float) -> Value:
    mean, var = cast(mean, x.dtype), cast(var, x.dtype)
    channels = x.shape[1]
    if channels < 0:
        raise NotImplementedError("[batch_norm] an exported model needs the number of channels")
    scale, shift = (
        constant(np.full(channels, other), x.dtype) if given is None else cast(given, x.dtype)
        for given, other in ((weight, 1.0), (bias, 0.0))
    )
    return op("BatchNormalization", x, scale, shift, mean, var, epsilon=float(eps))


@builtin("batch_norm")
def batch_norm(
    x: Value,
    running_mean: Value | None = None,
    running_var: Value | None = None,
    weight: Value | None = None,
    bias: Value | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Value:
    """By the statistics of a batch in training, else by those that were learned."""
    if training and running_mean is not None:
        raise NotImplementedError(
            "[batch_norm] in training updates the running statistics, which a model cannot keep: call eval() of the "
            "layer"
        )
    if running_mean is not None and running_var is not None:
        return _by_statistics(x, running_mean, running_var, weight, bias, eps)
    var, mean = moments(x, [0, *range(2, x.ndim)], 0.0, True)
    y = (x - mean) / op("Sqrt", var + eps)
    return _scaled(y, *(None if part is None else _channels(part, x) for part in (weight, bias)))


@builtin("local_response_norm")
def local_response_norm(
    x: Value, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0, meta_outputs: Any = None
) -> Value:
    """By the mean square of neighboring channels."""
    x = cast(x, meta_outputs.dtype)
    if size % 2:
        flat = x if x.ndim == 4 else reshape(x, [*sizes(x)[:2], -1, 1])
        z = op("LRN", flat, size=size, alpha=float(alpha), beta=float(beta), bias=float(k))
        return z if x.ndim == 4 else reshape(z, sizes(x))
    # Of an even number of neighbors ONNX has one more behind, and Lamella one more in front.
    squares = op("Pad", unsqueeze(reshape(x * x, [*sizes(x)[:2], -1]), 1), [0, 0, size // 2, 0, 0, 0, size // 2 - 1, 0])
    mean = op("AveragePool", squares, kernel_shape=[size, 1], strides=[1, 1])
    return x / (reshape(mean, sizes(x)) * float(alpha) + float(k)) ** float(beta)


@builtin("normalize")
def normalize(x: Value, p: float = 2.0, axis: Any = 1, eps: float = 1e-12) -> Value:
    """By the norms along axes."""
    return x / op("Max", powered_norm(x, p, axes_of(x, axis), True), eps)


@builtin("renorm")
def renorm(x: Value, p: float, axis: int, maxnorm: float) -> Value:
    """Slices with a norm up to a limit."""
    kept = axis + x.ndim if axis < 0 else axis
    norm = powered_norm(x, p, [i for i in range(x.ndim) if i != kept], True)
    factor = op("Where", norm > maxnorm, maxnorm / (norm + 1e-7), cast(1.0, x.dtype))
    return x * factor


@builtin("cosine_similarity")
def cosine_similarity(x1: Value, x2: Value, axis: int = 1, eps: float = 1e-8, meta_outputs: Any = None) -> Value:
    """The cosine of the angle between vectors."""
    return cosine(cast(x1, meta_outputs.dtype), cast(x2, meta_outputs.dtype), axis, eps)


def cosine(a: Value, b: Value, axis: int, eps: float) -> Value:
    """Returns the cosine of the angle between vectors along an axis, each with a norm of at least ``eps``."""
    ndim = max(a.ndim, b.ndim)
    a, b = unsqueeze(a, *range(ndim - a.ndim)), unsqueeze(b, *range(ndim - b.ndim))
    axes = [axis + ndim if axis < 0 else axis]
    if a.shape[axes[0]] != b.shape[axes[0]]:
        a, b = a + b * 0.0, b + a * 0.0
    norms = [op("Max", reduce("ReduceL2", x, axes), eps) for x in (a, b)]
    return reduce("ReduceSum", a * b, axes) / (norms[0] * norms[1])


@builtin("pairwise_distance")
def pairwise_distance(
    x1: Value, x2: Value, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False, meta_outputs: Any = None
) -> Value:
    """The norm of differences along the last axis."""
    return pair_distance(cast(x1, meta_outputs.dtype), cast(x2, meta_outputs.dtype), p, eps, keepdims)


def pair_distance(a: Value, b: Value, p: float, eps: float, keepdims: bool = False) -> Value:
    """Returns the norms of ``a - b + eps`` along the last axis."""
    difference = a - b + eps
    return powered_norm(difference, p, [difference.ndim - 1], keepdims)
