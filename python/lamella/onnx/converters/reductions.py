"""Reductions."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm

from .._builder import (
    Value,
    axis_of,
    cast,
    concat,
    constant,
    op,
    product,
    reduce,
    reshape,
    size,
    slice_axis,
    squeeze,
    unsqueeze,
    where,
)
from .._registry import builtin
from ._pointwise import is_bool, isnan, nonzero


def axes_of(x: Value, axis: Any) -> list[int] | None:
    """Returns axes counted from the front, None for all; without axes of a value without any."""
    if axis is None:
        return None
    if not x.ndim:
        return []
    return [axis_of(a, x.ndim) for a in ([axis] if isinstance(axis, int) else axis)]


def count(x: Value, axes: list[int] | None, dtype: Any) -> Any:
    """Returns how many elements a reduction takes together: a number, or a value."""
    total = product([size(x, axis) for axis in (range(x.ndim) if axes is None else axes)])
    return cast(reshape(total, []), dtype) if isinstance(total, Value) else total


def mean_of(x: Value, axes: list[int] | None, keepdims: bool = False) -> Value:
    """Returns means, which of no elements are NaN: ONNX does not say what they are."""
    mean = reduce("ReduceMean", x, axes, keepdims)
    if all(x.shape[axis] > 0 for axis in (range(x.ndim) if axes is None else axes)):
        return mean
    return where(cast(count(x, axes, lm.int64), lm.int64).eq(0), math.nan, mean)


def any_of(x: Value, axes: list[int] | None, keepdims: bool = False) -> Value:
    """Returns whether any of some bools is true: where there are none, the largest integer is below 0."""
    return reduce("ReduceMax", cast(x, lm.int32), axes, keepdims) > 0


def all_of(x: Value, axes: list[int] | None, keepdims: bool = False) -> Value:
    """Returns whether all of some bools are true: where there are none, the smallest integer is above 0."""
    return reduce("ReduceMin", cast(x, lm.int32), axes, keepdims) > 0


def freedom_of(number: Any, correction: float) -> Any:
    """Returns a number of elements less a correction, and not less than 0."""
    return op("Max", number - float(correction), 0.0) if isinstance(number, Value) else max(number - correction, 0.0)


def _plain(name: str, target: str) -> None:
    @builtin(name)
    def convert(x: Value, axis: Any = None, keepdims: bool = False, *, meta_outputs: Any = None) -> Value:
        return reduce(target, cast(x, meta_outputs.dtype), axes_of(x, axis), keepdims)


for _name, _target in {
    "sum": "ReduceSum",
    "prod": "ReduceProd",
    "logsumexp": "ReduceLogSumExp",
}.items():
    _plain(_name, _target)


@builtin("mean")
def mean(x: Value, axis: Any = None, keepdims: bool = False, *, meta_outputs: Any = None) -> Value:
    """The mean."""
    return mean_of(cast(x, meta_outputs.dtype), axes_of(x, axis), keepdims)


def extremum(x: Value, target: str, axes: list[int] | None, keepdims: bool) -> Value:
    """Returns the largest or smallest elements."""
    if is_bool(x):
        return (any_of if target == "ReduceMax" else all_of)(x, axes, keepdims)
    return reduce(target, x, axes, keepdims)


def _extremum(name: str, target: str, as_bool: bool) -> None:
    @builtin(name)
    def convert(x: Value, axis: Any = None, keepdims: bool = False) -> Value:
        return extremum(nonzero(x) if as_bool else x, target, axes_of(x, axis), keepdims)


_extremum("max", "ReduceMax", False)
_extremum("min", "ReduceMin", False)
_extremum("any", "ReduceMax", True)
_extremum("all", "ReduceMin", True)


@builtin("aminmax")
def aminmax(x: Value, *, axis: Any = None, keepdims: bool = False) -> list[Value]:
    """The smallest and the largest elements."""
    return [extremum(x, name, axes_of(x, axis), keepdims) for name in ("ReduceMin", "ReduceMax")]


def _position(name: str, target: str) -> None:
    @builtin(name)
    def convert(x: Value, axis: int | None = None, keepdims: bool = False) -> Value:
        values = cast(x, lm.int32) if is_bool(x) else x
        if axis is None:
            flat = op(target, reshape(values, [-1]), axis=0, keepdims=0)
            return reshape(flat, [1] * x.ndim) if keepdims else flat
        if not x.ndim:
            return op("Expand", constant(0, lm.int64), [])
        return op(target, values, axis=axis, keepdims=int(keepdims))


_position("argmax", "ArgMax")
_position("argmin", "ArgMin")


@builtin("count_nonzero")
def count_nonzero(x: Value, *, axis: Any = None, keepdims: bool = False) -> Value:
    """The number of elements that are not 0."""
    return reduce("ReduceSum", cast(nonzero(x), lm.int64), axes_of(x, axis), keepdims)


@builtin("nansum")
def nansum(x: Value, axis: Any = None, keepdims: bool = False, *, meta_outputs: Any = None) -> Value:
    """The sum of what is a number."""
    value = cast(x, meta_outputs.dtype)
    return reduce("ReduceSum", where(isnan(value), 0, value), axes_of(x, axis), keepdims)


@builtin("nanmean")
def nanmean(x: Value, axis: Any = None, keepdims: bool = False, *, meta_outputs: Any = None) -> Value:
    """The mean of what is a number."""
    value = cast(x, meta_outputs.dtype)
    axes = axes_of(x, axis)
    numbers = reduce("ReduceSum", cast(~isnan(value), value.dtype), axes, keepdims)
    return reduce("ReduceSum", where(isnan(value), 0, value), axes, keepdims) / numbers


def moments(x: Value, axes: list[int] | None, correction: float, keepdims: bool) -> tuple[Value, Value]:
    """Returns variance and mean."""
    every = list(range(x.ndim)) if axes is None else axes
    mean = mean_of(x, every, keepdims=True)
    distance = x - mean
    total = reduce("ReduceSum", distance * distance, every, keepdims)
    freedom = freedom_of(count(x, axes, x.dtype), correction)
    return total / freedom, mean if keepdims else squeeze(mean, *every)


def _spread(name: str, root: bool, with_mean: bool) -> None:
    @builtin(name)
    def convert(
        x: Value, axis: Any = None, correction: float = 0.0, keepdims: bool = False, *, meta_outputs: Any = None
    ) -> Any:
        dtype = (meta_outputs[0] if with_mean else meta_outputs).dtype
        var, mean = moments(cast(x, dtype), axes_of(x, axis), correction, keepdims)
        spread = op("Sqrt", var) if root else var
        return [spread, mean] if with_mean else spread


_spread("var", False, False)
_spread("std", True, False)
_spread("var_mean", False, True)
_spread("std_mean", True, True)


def powered_norm(x: Value, ord: float, axes: list[int] | None, keepdims: bool) -> Value:
    """Returns the norms of vectors."""
    if ord == 2.0:
        return reduce("ReduceL2", x, axes, keepdims) if axes is None or axes else abs(x)
    if ord == 1.0:
        return reduce("ReduceL1", x, axes, keepdims) if axes is None or axes else abs(x)
    if math.isinf(ord):
        return reduce("ReduceMax" if ord > 0 else "ReduceMin", abs(x), axes, keepdims)
    if ord == 0.0:
        return reduce("ReduceSum", cast(nonzero(x), x.dtype), axes, keepdims)
    return reduce("ReduceSum", abs(x) ** ord, axes, keepdims) ** (1.0 / ord)


@builtin("linalg_vector_norm")
def vector_norm(
    x: Value, *, axis: Any = None, keepdims: bool = False, ord: float = 2.0, meta_outputs: Any = None
) -> Value:
    """The norms of vectors."""
    return powered_norm(cast(x, meta_outputs.dtype), ord, axes_of(x, axis), keepdims)


@builtin("linalg_matrix_norm")
def matrix_norm(x: Value, *, keepdims: bool = False, ord: str = "fro") -> Value:
    """The norms of matrices, those that need no singular values."""
    if ord == "fro":
        return reduce("ReduceL2", x, [x.ndim - 2, x.ndim - 1], keepdims)
    if ord.removeprefix("-") not in ("1", "inf"):
        raise NotImplementedError(f"[matrix_norm] ONNX has no singular values, which ord={ord!r} needs")
    sums = reduce("ReduceL1", x, [x.ndim - 2 if ord.endswith("1") else x.ndim - 1], keepdims=True)
    norm = reduce("ReduceMin" if ord.startswith("-") else "ReduceMax", sums, [x.ndim - 2, x.ndim - 1], keepdims=True)
    return norm if keepdims else op("Squeeze", norm, [x.ndim - 2, x.ndim - 1])


def _halves(y: Value, axis: int) -> tuple[Value, Value]:
    return slice_axis(y, axis, 0, -1), slice_axis(y, axis, 1, 2**62)


def _areas(y: Value, x: Value | None, dx: float, axis: int, dtype: Any) -> Value:
    """Returns the areas between neighbors."""
    y = cast(y, dtype)
    low, high = _halves(y, axis)
    middle = (low + high) * 0.5
    if x is None:
        return middle * dx
    x = cast(x, dtype)
    place = 0 if x.ndim == 1 else axis + x.ndim - y.ndim
    before, after = _halves(x, place)
    step = after - before
    if x.ndim == 1:
        step = reshape(step, [-1] + [1] * (y.ndim - axis - 1))
    return middle * step


@builtin("trapezoid")
def trapezoid(y: Value, x: Value | None = None, *, dx: float = 1.0, axis: int = -1, meta_outputs: Any = None) -> Value:
    """The integral along an axis."""
    axis = axis_of(axis, y.ndim)
    areas = _areas(y, x, dx, axis, meta_outputs.dtype)
    return reduce("ReduceSum", areas, [axis + areas.ndim - y.ndim])


@builtin("cumulative_trapezoid")
def cumulative_trapezoid(
    y: Value, x: Value | None = None, *, dx: float = 1.0, axis: int = -1, meta_outputs: Any = None
) -> Value:
    """The integral up to each place of an axis."""
    axis = axis_of(axis, y.ndim)
    areas = _areas(y, x, dx, axis, meta_outputs.dtype)
    return op("CumSum", areas, constant(axis + areas.ndim - y.ndim, lm.int64))


def covariances(x: Value, correction: float, fweights: Value | None = None, aweights: Value | None = None) -> Value:
    """Returns the covariances of rows."""
    rows = x if x.ndim == 2 else reshape(x, [1, -1])
    weight = None
    for part in (fweights, aweights):
        if part is not None:
            weight = cast(part, x.dtype) if weight is None else weight * cast(part, x.dtype)
    if weight is None:
        number = count(rows, [1], x.dtype)
        distance = rows - mean_of(rows, [1], keepdims=True)
        weighted, freedom = distance, freedom_of(number, correction)
    else:
        total = reduce("ReduceSum", weight, [0])
        mean = reduce("ReduceSum", rows * weight, [1], keepdims=True) / total
        distance = rows - mean
        weighted = distance * weight
        excess: Any = correction
        if aweights is not None:
            excess = reduce("ReduceSum", weight * cast(aweights, x.dtype), [0]) / total * correction
        freedom = op("Max", total - excess, 0.0)
    covariance = op("MatMul", weighted, op("Transpose", distance, perm=[1, 0])) / freedom
    return reshape(covariance, []) if x.ndim < 2 or x.shape[0] == 1 else covariance


@builtin("cov")
def cov(
    x: Value,
    *,
    correction: int = 1,
    fweights: Value | None = None,
    aweights: Value | None = None,
    meta_outputs: Any = None,
) -> Value:
    """The covariances of rows."""
    return covariances(cast(x, meta_outputs.dtype), float(correction), fweights, aweights)


@builtin("corrcoef")
def corrcoef(x: Value, meta_outputs: Any = None) -> Value:
    """The correlations of rows."""
    x = cast(x, meta_outputs.dtype)
    covariance = covariances(x, 1.0)
    if not covariance.ndim:
        return covariance / covariance
    variance = covariance_diagonal(covariance)
    deviation = op("Sqrt", variance)
    scaled = covariance / unsqueeze(deviation, 1) / unsqueeze(deviation, 0)
    return op("Min", op("Max", scaled, -1.0), 1.0)


def covariance_diagonal(x: Value) -> Value:
    """Returns the diagonal of a square matrix."""
    return op("Einsum", x, equation="ii->i")


@builtin("diff")
def diff(
    x: Value,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Value | None = None,
    append: Value | None = None,
    meta_outputs: Any = None,
) -> Value:
    """The differences of neighbors."""
    axis = axis_of(axis, x.ndim)
    parts = [
        cast(part, meta_outputs.dtype) if not is_bool(x) else part for part in (prepend, x, append) if part is not None
    ]
    x = concat(parts, axis)
    for _ in range(n):
        low, high = _halves(x, axis)
        x = op("Xor", high, low) if is_bool(x) else high - low
    return x
