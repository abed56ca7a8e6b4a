"""Sorting, order statistics and sets."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella import DType

from .._builder import (
    Value,
    axis_of,
    cast,
    concat,
    constant,
    op,
    ops,
    range_value,
    reduce,
    reshape,
    size,
    sizes,
    slice_axis,
    squeeze,
    swap,
    transpose,
    unsqueeze,
    where,
)
from .._registry import builtin
from ._pointwise import is_float, isnan
from .reductions import any_of

_LOWEST = -(2**63)


def signed(x: Value) -> Value:
    """Returns whole numbers as int64 in the same order: those of uint64 less 2^63, which wraps around."""
    return cast(x, lm.int64) + _LOWEST if x.dtype == lm.uint64 else cast(x, lm.int64)


def unsigned(x: Value, dtype: DType) -> Value:
    """Returns what :func:`signed` was given."""
    return cast(x + _LOWEST if dtype == lm.uint64 else x, dtype)


def ordered(x: Value, k: Any, axis: int, largest: bool) -> tuple[Value, Value]:
    """Returns the first ``k`` elements in order, and their positions; a value without axes is one element."""
    if not x.ndim:
        found, places = ordered(reshape(x, [1]), k, 0, largest)
        return reshape(found, []), reshape(places, [])
    direct = is_float(x) or x.dtype.name in ("int32", "int64")
    values = x if direct else signed(x)
    k = k if isinstance(k, Value) else [k]
    found, places = ops("TopK", values, k, outputs=2, axis=axis, largest=int(largest), sorted=1)
    return found if direct else unsigned(found, x.dtype), places


@builtin("sort")
def sort(x: Value, *, axis: int = -1, descending: bool = False) -> Value:
    """Elements in order."""
    return ordered(x, size(x, axis), axis, descending)[0] if x.ndim else x


@builtin("argsort")
def argsort(x: Value, *, axis: int = -1, descending: bool = False) -> Value:
    """Positions of elements in order."""
    return ordered(x, size(x, axis), axis, descending)[1] if x.ndim else constant(0, lm.int64)


@builtin("topk")
def topk(x: Value, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> list[Value]:
    """The first elements in order, and their positions."""
    return list(ordered(x, k, axis, largest))


@builtin("kthvalue")
def kthvalue(x: Value, k: int, axis: int = -1, keepdims: bool = False) -> list[Value]:
    """The k-th smallest element, and its position."""
    if not x.ndim:
        return list(ordered(x, k, axis, False))
    parts = [slice_axis(part, axis_of(axis, x.ndim), k - 1, k) for part in ordered(x, k, axis, False)]
    return parts if keepdims else [squeeze(part, axis) for part in parts]


@builtin("mode")
def mode(x: Value, axis: int = -1, keepdims: bool = False) -> list[Value]:
    """The most frequent element, and its first position."""
    if not x.ndim:
        return [x, constant(0, lm.int64)]
    axis = axis_of(axis, x.ndim)
    in_order, _ = ordered(x, size(x, axis), axis, False)
    last = swap(in_order, axis, -1)
    counts = reduce("ReduceSum", cast(unsqueeze(last, -1).eq(unsqueeze(last, -2)), lm.int64), [last.ndim])
    best = op("ArgMax", counts, axis=-1, keepdims=1)
    value = swap(op("GatherElements", last, best, axis=-1), axis, -1)
    place = op("ArgMax", cast(x.eq(value), lm.int32), axis=axis, keepdims=1)
    return [value, place] if keepdims else [squeeze(value, axis), squeeze(place, axis)]


def _lanes(x: Value, axis: int | None) -> tuple[Value, int]:
    """Returns a value whose last axis is the one to reduce, and where that was."""
    if axis is None or not x.ndim:
        return reshape(x, [-1]), 0
    axis = axis_of(axis, x.ndim)
    order = [i for i in range(x.ndim) if i != axis] + [axis]
    return transpose(x, order), axis


def _in_shape(y: Value, x: Value, axis: int | None, keepdims: bool) -> Value:
    """Returns a result of lanes with the reduced axes as axes of size 1, if they are kept."""
    if not keepdims:
        return y
    return reshape(y, [1] * x.ndim) if axis is None or not x.ndim else unsqueeze(y, axis_of(axis, x.ndim))


def _sorted_lanes(lanes: Value) -> tuple[Value, Value]:
    """Returns the numbers of each lane in order, NaN behind them as infinity, and how many there are, ``[.., 1]``."""
    missing = isnan(lanes)
    number = reduce("ReduceSum", cast(~missing, lm.int64), [lanes.ndim - 1], keepdims=True)
    clean = where(missing, math.inf, lanes) if is_float(lanes) else lanes
    return ordered(clean, size(lanes, lanes.ndim - 1), -1, False)[0], number


def _median(name: str, skips: bool) -> None:
    @builtin(name)
    def convert(x: Value, axis: int | None = None, keepdims: bool = False) -> Value:
        lanes, _ = _lanes(x, axis)
        in_order, number = _sorted_lanes(lanes)
        place = op("Div", op("Max", number - 1, 0), 2)
        y = squeeze(op("GatherElements", in_order, place, axis=-1), -1)
        if is_float(x):
            every = size(lanes, lanes.ndim - 1)
            none = number.eq(0) if skips else ~number.eq(every)
            y = where(squeeze(none, -1), math.nan, y)
        return _in_shape(y, x, axis, keepdims)


_median("median", False)
_median("nanmedian", True)


def _quantile(name: str, scale: float, skips: bool) -> None:
    @builtin(name)
    def convert(
        x: Value,
        q: Any,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        interpolation: str = "linear",
        meta_outputs: Any = None,
    ) -> Value:
        x = cast(x, meta_outputs.dtype)
        lanes, _ = _lanes(x, axis)
        in_order, number = _sorted_lanes(lanes)
        share = cast(q, x.dtype) / scale if isinstance(q, Value) else constant(q / scale, x.dtype)
        several = share.ndim == 1
        place = op("Mul", cast(op("Max", number - 1, 0), x.dtype), reshape(share, [-1]))
        low, high = op("Floor", place), op("Ceil", place)
        if interpolation == "nearest":
            low = high = op("Round", place)
        a, b = (
            op("GatherElements", in_order, cast(side, lm.int64), axis=-1)
            for side in (high if interpolation == "higher" else low, low if interpolation == "lower" else high)
        )
        weight: Any = 0.5 if interpolation == "midpoint" else place - low
        y = a if interpolation in ("nearest", "higher", "lower") else a + (b - a) * weight
        every = size(lanes, lanes.ndim - 1)
        none = number.eq(0) if skips else ~number.eq(every)
        y = where(none, math.nan, y)
        if not several:
            return _in_shape(squeeze(y, -1), x, axis, keepdims)
        order = [y.ndim - 1, *range(y.ndim - 1)]
        y = transpose(y, order)
        if not keepdims:
            return y
        if axis is None or not x.ndim:
            return reshape(y, [-1] + [1] * x.ndim)
        return unsqueeze(y, axis_of(axis, x.ndim) + 1)


_quantile("quantile", 1.0, False)
_quantile("nanquantile", 1.0, True)
_quantile("percentile", 100.0, False)
_quantile("nanpercentile", 100.0, True)


def _unique(x: Value, axis: int | None) -> tuple[Value, Value, Value, Value]:
    settings: dict[str, Any] = {} if axis is None else {"axis": axis}
    direct = x.dtype.name in ("float32", "float64", "int64", "int8")
    given = x if direct else cast(x, lm.float32) if is_float(x) else signed(x)
    values, first, inverse, counts = ops("Unique", given, outputs=4, sorted=1, **settings)
    inverse = reshape(inverse, sizes(x)) if axis is None else inverse
    return cast(values, x.dtype) if direct or is_float(x) else unsigned(values, x.dtype), first, inverse, counts


@builtin("unique_values")
def unique_values(x: Value) -> Value:
    """The distinct elements."""
    return _unique(x, None)[0]


@builtin("unique_counts")
def unique_counts(x: Value) -> list[Value]:
    """The distinct elements, and how often they occur."""
    values, _, _, counts = _unique(x, None)
    return [values, counts]


@builtin("unique_inverse")
def unique_inverse(x: Value) -> list[Value]:
    """The distinct elements, and which of them each element is."""
    values, _, inverse, _ = _unique(x, None)
    return [values, inverse]


@builtin("unique_all")
def unique_all(x: Value) -> list[Value]:
    """The distinct elements, where they are first, which each element is, and how often they occur."""
    return list(_unique(x, None))


@builtin("unique")
def unique(
    x: Value, *, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
) -> list[Value]:
    """The distinct elements, or slices."""
    values, _, inverse, counts = _unique(x, axis)
    return [values, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]


@builtin("unique_consecutive")
def unique_consecutive(
    x: Value, *, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
) -> list[Value]:
    """The first of each run of equal elements, or slices."""
    flat = reshape(x, [-1]) if axis is None else x
    along = axis_of(axis or 0, flat.ndim)
    low, high = slice_axis(flat, along, 0, -1), slice_axis(flat, along, 1, 2**62)
    changed = cast(any_of(~low.eq(high), [i for i in range(flat.ndim) if i != along]), lm.int64)
    first = op("Shape", slice_axis(flat, along, 0, 1), start=along, end=along + 1)
    begins = concat([first, changed], 0)
    values = op("Compress", flat, cast(begins, lm.bool), axis=along)
    results = [values]
    if return_inverse:
        inverse = op("CumSum", begins, constant(0, lm.int64)) - 1
        results.append(reshape(inverse, sizes(x)) if axis is None else inverse)
    if return_counts:
        starts = reshape(op("NonZero", begins), [-1])
        ends = concat([slice_axis(starts, 0, 1, 2**62), op("Shape", flat, start=along, end=along + 1)], 0)
        results.append(ends - starts)
    return results


@builtin("bincount")
def bincount(x: Value, weights: Value | None = None, minlength: int = 0, meta_outputs: Any = None) -> Value:
    """The number of times that each number occurs."""
    x = cast(x, lm.int64)
    padded = concat([x, constant([-1], lm.int64)], 0)
    length = op("Max", reduce("ReduceMax", padded, [0], keepdims=True) + 1, minlength)
    hits = cast(unsqueeze(x, 1).eq(unsqueeze(range_value(length), 0)), meta_outputs.dtype)
    if weights is not None:
        hits = hits * unsqueeze(cast(weights, meta_outputs.dtype), 1)
    return reduce("ReduceSum", hits, [0])
