"""Tensors like others, and random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import lamella as lm

from .._builder import Value, cast, constant, onnx_dtype, op, reshape, size
from .._registry import builtin


def full(shape: Any, value: Any, dtype: Any) -> Value:
    """Returns a value of one number; -1 is not among the sizes of a list."""
    return op("Expand", cast(value, dtype), shape)


def _like(name: str, value: Any) -> None:
    @builtin(name)
    def convert(x: Value, meta_outputs: Any = None) -> Value:
        return full(_shape(x), value, meta_outputs.dtype)


for _name, _value in {"zeros_like": 0, "ones_like": 1, "empty_like": 0}.items():
    _like(_name, _value)


def _shape(x: Value) -> Any:
    return op("Shape", x) if -1 in x.shape else list(x.shape)


@builtin("full_like")
def full_like(x: Value, fill_value: Any, meta_outputs: Any = None) -> Value:
    """One number in the shape of another value."""
    return full(_shape(x), fill_value, meta_outputs.dtype)


def _uniform(shape: Any, dtype: Any, low: float = 0.0, high: float = 1.0) -> Value:
    if isinstance(shape, Value):
        return op("RandomUniformLike", shape, dtype=onnx_dtype(dtype), low=float(low), high=float(high))
    return op("RandomUniform", shape=list(shape), dtype=onnx_dtype(dtype), low=float(low), high=float(high))


def _normal(shape: Any, dtype: Any) -> Value:
    if isinstance(shape, Value):
        return op("RandomNormalLike", shape, dtype=onnx_dtype(dtype))
    return op("RandomNormal", shape=list(shape), dtype=onnx_dtype(dtype))


@builtin("rand")
def rand(shape: Any, meta_outputs: Any = None) -> Value:
    """Uniform numbers, drawn by the model."""
    return _uniform(shape, meta_outputs.dtype)


@builtin("randn")
def randn(shape: Any, meta_outputs: Any = None) -> Value:
    """Normal numbers, drawn by the model."""
    return _normal(shape, meta_outputs.dtype)


@builtin("rand_like")
def rand_like(x: Value, meta_outputs: Any = None) -> Value:
    """Uniform numbers in the shape of another value."""
    return _uniform(x, meta_outputs.dtype)


@builtin("randn_like")
def randn_like(x: Value, meta_outputs: Any = None) -> Value:
    """Normal numbers in the shape of another value."""
    return _normal(x, meta_outputs.dtype)


def _drawn(shape: Any, operands: tuple[Any, Any], dtype: Any, normal: bool = False) -> Value:
    """Returns standard numbers in the given shape, or in that of the operands."""
    if shape is None:
        first = next((x for x in operands if isinstance(x, Value)), None)
        shape = [] if first is None else op("Add", *(cast(x, dtype) for x in operands))
    return _normal(shape, dtype) if normal else _uniform(shape, dtype)


@builtin("uniform")
def uniform(shape: Any = None, low: Any = 0.0, high: Any = 1.0, meta_outputs: Any = None) -> Value:
    """Uniform numbers between two."""
    dtype = meta_outputs.dtype
    return cast(low, dtype) + op("Sub", cast(high, dtype), low) * _drawn(shape, (low, high), dtype)


@builtin("normal")
def normal(shape: Any = None, mean: Any = 0.0, std: Any = 1.0, meta_outputs: Any = None) -> Value:
    """Normal numbers."""
    dtype = meta_outputs.dtype
    return cast(mean, dtype) + cast(std, dtype) * _drawn(shape, (mean, std), dtype, normal=True)


@builtin("exponential")
def exponential(shape: Any = None, rate: Any = 1.0, meta_outputs: Any = None) -> Value:
    """Exponential numbers."""
    drawn = _drawn(shape, (rate, 0.0), meta_outputs.dtype)
    return -op("Log", 1.0 - drawn) / cast(rate, meta_outputs.dtype)


@builtin("laplace")
def laplace(shape: Any = None, loc: Any = 0.0, scale: Any = 1.0, meta_outputs: Any = None) -> Value:
    """Numbers of Laplace's distribution."""
    dtype = meta_outputs.dtype
    drawn = _drawn(shape, (loc, scale), dtype) - 0.5
    size_ = op("Log", op("Max", 1.0 - abs(drawn) * 2.0, float(lm.finfo(dtype).smallest_normal)))
    return cast(loc, dtype) - cast(scale, dtype) * op("Sign", drawn) * size_


@builtin("cauchy")
def cauchy(shape: Any = None, loc: Any = 0.0, scale: Any = 1.0, meta_outputs: Any = None) -> Value:
    """Numbers of Cauchy's distribution."""
    dtype = meta_outputs.dtype
    drawn = _drawn(shape, (loc, scale), dtype)
    return cast(loc, dtype) + cast(scale, dtype) * op("Tan", (drawn - 0.5) * math.pi)


@builtin("log_normal")
def log_normal(shape: Any = None, mean: Any = 0.0, std: Any = 1.0, meta_outputs: Any = None) -> Value:
    """Exponentials of normal numbers."""
    return op("Exp", normal(shape, mean, std, meta_outputs))


@builtin("uniform_")
def uniform_(x: Value, low: float = 0.0, high: float = 1.0) -> Value:
    """Uniform numbers in place of others."""
    return _uniform(x, x.dtype, low, high)


@builtin("normal_")
def normal_(x: Value, mean: float = 0.0, std: float = 1.0) -> Value:
    """Normal numbers in place of others."""
    return _normal(x, x.dtype) * float(std) + float(mean)


@builtin("exponential_")
def exponential_(x: Value, rate: float = 1.0) -> Value:
    """Exponential numbers in place of others."""
    return -op("Log", 1.0 - _uniform(x, x.dtype)) / float(rate)


@builtin("bernoulli_")
def bernoulli_(x: Value, p: Any = 0.5) -> Value:
    """Ones with given probabilities in place of others."""
    return cast(op("Less", _uniform(x, x.dtype), cast(p, x.dtype)), x.dtype)


@builtin("randint")
def randint(low: int, high: int, shape: Any, meta_outputs: Any = None) -> Value:
    """Whole numbers, drawn by the model."""
    return cast(op("Floor", _uniform(shape, lm.float64, low, high)), meta_outputs.dtype)


@builtin("randint_like")
def randint_like(x: Value, low: int, high: int, meta_outputs: Any = None) -> Value:
    """Whole numbers in the shape of another value."""
    return cast(op("Floor", _uniform(x, lm.float64, low, high)), meta_outputs.dtype)


@builtin("bernoulli")
def bernoulli(x: Value) -> Value:
    """Ones with the given probabilities."""
    # Not by ONNX's Bernoulli, whose definition in terms of others gives ones with the opposite probabilities.
    return cast(_uniform(x, x.dtype) < x, x.dtype)


@builtin("multinomial")
def multinomial(x: Value, num_samples: int, replacement: bool = False) -> Value:
    """Numbers of classes, with replacement."""
    if not replacement:
        raise NotImplementedError("[multinomial] ONNX draws with replacement only")
    rows = x if x.ndim == 2 else op("Unsqueeze", x, [0])
    drawn = op("Multinomial", op("Log", cast(rows, lm.float32)), sample_size=num_samples, dtype=onnx_dtype(lm.int64))
    return drawn if x.ndim == 2 else op("Squeeze", drawn, [0])


@builtin("tril")
def tril(x: Value, *, k: int = 0) -> Value:
    """The part below a diagonal."""
    return _triangle(x, k, 0)


@builtin("triu")
def triu(x: Value, *, k: int = 0) -> Value:
    """The part above a diagonal."""
    return _triangle(x, k, 1)


def _triangle(x: Value, k: int, upper: int) -> Value:
    return op("Trilu", x, constant(k, lm.int64), upper=upper)


@builtin("one_hot")
def one_hot(x: Value, num_classes: int = -1, meta_outputs: Any = None) -> Value:
    """Rows of the identity."""
    count = num_classes
    if count < 0:
        raise NotImplementedError("[one_hot] an exported model needs num_classes, as the shape depends on it")
    return cast(op("Unsqueeze", cast(x, lm.int64), [-1]).eq(constant(np.arange(count))), meta_outputs.dtype)


@builtin("affine_grid")
def affine_grid(theta: Value, size: Any, align_corners: bool = False) -> Value:
    """Points of a grid, moved by an affine map."""
    lines = []
    for n in size[2:]:
        steps = np.arange(n)
        line = steps * 2.0 / max(n - 1, 1) - 1.0 if align_corners else (2.0 * steps + 1.0) / n - 1.0
        lines.append(line if n > 1 or not align_corners else np.zeros(1))
    axes = np.meshgrid(*lines, indexing="ij")
    points = np.stack([*(axis.ravel() for axis in axes[::-1]), np.ones(math.prod(size[2:]))], axis=-1)
    moved = op("MatMul", constant(points, theta.dtype), op("Transpose", theta, perm=[0, 2, 1]))
    return reshape(moved, [_size(theta), *size[2:], len(size) - 2])


def _size(x: Value) -> Any:
    return size(x, 0)
