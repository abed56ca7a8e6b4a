"""Sums and other reductions up to each place of an axis.

ONNX has only the sum. The others are reductions of a square, whose row i holds the elements up to i: they take memory
for the square of the axis.
"""

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
    range_value,
    reduce,
    shape_value,
    size,
    sizes,
    swap,
    unsqueeze,
    where,
)
from .._registry import builtin
from ._pointwise import is_float
from .creation import full
from .sorting import signed


def _initial(x: Value, axis: int, value: Any) -> Value:
    """Returns a value with one more element in front of an axis."""
    shape = [1 if i == axis else n for i, n in enumerate(sizes(x))]
    return concat([full(shape_value(shape), value, x.dtype), x], axis)


def _summed(x: Value, axis: int) -> Value:
    if not x.ndim:
        return x
    return op("CumSum", x, constant(axis, lm.int64))


@builtin("cumsum")
def cumsum(x: Value, axis: int, *, meta_outputs: Any = None) -> Value:
    """Sums up to each place."""
    return _summed(cast(x, meta_outputs.dtype), axis)


@builtin("cumulative_sum")
def cumulative_sum(
    x: Value, *, axis: int | None = None, include_initial: bool = False, meta_outputs: Any = None
) -> Value:
    """Sums up to each place."""
    axis = axis_of(axis or 0, x.ndim)
    x = cast(x, meta_outputs.dtype)
    return _summed(_initial(x, axis, 0) if include_initial else x, axis)


def _square(x: Value, axis: int, fill: Any) -> Value:
    """Returns, along a new last axis, the elements up to each place; ``fill`` behind it."""
    x = unsqueeze(swap(x, axis, -1), -2)
    numbers = range_value(size(x, x.ndim - 1))
    seen = unsqueeze(numbers, 0) <= unsqueeze(numbers, 1)
    return where(seen, x, fill)


def _scanned(x: Value, axis: int, target: str, fill: Any) -> Value:
    if not x.ndim:
        return x
    square = _square(x, axis, fill)
    return swap(reduce(target, square, [square.ndim - 1]), axis, -1)


@builtin("cumprod")
def cumprod(x: Value, axis: int, *, meta_outputs: Any = None) -> Value:
    """Products up to each place."""
    return _scanned(cast(x, meta_outputs.dtype), axis, "ReduceProd", 1)


@builtin("cumulative_prod")
def cumulative_prod(
    x: Value, *, axis: int | None = None, include_initial: bool = False, meta_outputs: Any = None
) -> Value:
    """Products up to each place."""
    axis = axis_of(axis or 0, x.ndim)
    x = cast(x, meta_outputs.dtype)
    return _scanned(_initial(x, axis, 1) if include_initial else x, axis, "ReduceProd", 1)


@builtin("logcumsumexp")
def logcumsumexp(x: Value, axis: int) -> Value:
    """Logarithms of the sums of exponentials up to each place."""
    x = x if is_float(x) else cast(x, lm.float32)
    return _scanned(x, axis, "ReduceLogSumExp", -math.inf)


def _running(name: str, target: str, sign: int) -> None:
    @builtin(name)
    def convert(x: Value, axis: int) -> list[Value]:
        if not x.ndim:
            return [x, constant(0, lm.int64)]
        values = x if is_float(x) else signed(x)
        limit = -math.inf * sign if is_float(x) else (-(2**63) if sign > 0 else 2**63 - 1)
        square = _square(values, axis, limit)
        found = op(target, square, axis=-1, keepdims=0, select_last_index=1)
        # Where no element up to a place is beyond the limit, which stands behind it too, the place itself is the last.
        found = swap(op("Min", found, range_value(size(found, -1))), axis, -1)
        return [op("GatherElements", x, found, axis=axis), found]


_running("cummax", "ArgMax", 1)
_running("cummin", "ArgMin", -1)
