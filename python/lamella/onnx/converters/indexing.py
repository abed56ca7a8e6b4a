"""Indexing, gathering and scattering."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import lamella as lm

from .._builder import (
    Value,
    axis_of,
    cast,
    concat,
    constant,
    gather,
    op,
    range_value,
    reduce,
    reshape,
    shape_value,
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
from ._pointwise import is_bool, is_float
from .comparisons import compared
from .reductions import any_of

_END = 2**62


class _Key:
    """A parsed index: a slice or a number for each axis, new axes, and index tensors."""

    def __init__(self, x: Value, items: str, tensors: list[Value]) -> None:
        self.parts = [item.strip() for item in items.split(",")] if items.strip() else []
        remaining = iter(tensors)
        self.items: list[Any] = []
        taken = 0
        for part in self.parts:
            value: Any = part
            if part == "%":
                value = next(remaining)
                taken += value.ndim if value.dtype == lm.bool else 1
            elif part == "None":
                value = None
            elif part == "...":
                value = Ellipsis
            elif ":" in part:
                value = slice(*(int(p) if p.strip() else None for p in part.split(":")))
                taken += 1
            else:
                value = int(part)
                taken += 1
            self.items.append(value)
        whole = [slice(None)] * (x.ndim - taken)
        if Ellipsis in [item for item in self.items if not isinstance(item, Value)]:
            at = next(i for i, item in enumerate(self.items) if item is Ellipsis)
            self.items[at : at + 1] = whole
        else:
            self.items += whole


def _basic(x: Value, items: list[Any]) -> tuple[Value, list[Any]]:
    """Applies slices, numbers and new axes; returns the result and, for each of its axes, an index tensor or None."""
    starts, stops, axes, steps = [], [], [], []
    axis = 0
    dropped: list[int] = []
    added: list[int] = []
    advanced: list[Any] = []
    out = 0
    for item in items:
        if item is None:
            added.append(out)
            advanced.append(None)
            out += 1
            continue
        if isinstance(item, Value):
            width = item.ndim if item.dtype == lm.bool else 1
            advanced += [item] + ["covered"] * (width - 1)
            axis += width
            out += width
            continue
        if isinstance(item, slice):
            step = 1 if item.step is None else item.step
            if item != slice(None):
                first = (0 if step > 0 else _END) if item.start is None else item.start
                last = (_END if step > 0 else -_END) if item.stop is None else item.stop
                starts.append(first)
                stops.append(last)
                axes.append(axis)
                steps.append(step)
            advanced.append(None)
            out += 1
        else:
            starts.append(item)
            stops.append(_END if item == -1 else item + 1)
            axes.append(axis)
            steps.append(1)
            dropped.append(axis)
        axis += 1
    if axes:
        x = op("Slice", x, starts, stops, axes, steps)
    return unsqueeze(squeeze(x, *dropped), *added), advanced


def _split_masks(x: Value, advanced: list[Any]) -> dict[int, Value]:
    """Returns an int64 index for each axis that has one; a mask gives one for each of its axes."""
    found: dict[int, Value] = {}
    axis = 0
    while axis < len(advanced):
        item = advanced[axis]
        if isinstance(item, Value) and item.dtype == lm.bool:
            places = op("NonZero", item)
            for i in range(item.ndim):
                found[axis + i] = gather(places, i, 0)
            axis += max(item.ndim, 1)
            continue
        if isinstance(item, Value):
            found[axis] = cast(item, lm.int64)
        axis += 1
    return found


def _positive(index: Value, n: int | Value) -> Value:
    """Returns an index without negative numbers."""
    return op("Where", index < 0, op("Add", index, n), index)


def _stacked(indices: list[Value]) -> Value:
    """Returns index tensors, in the shape that they have together, side by side along a last axis."""
    total = indices[0]
    for other in indices[1:]:
        total = op("Add", total, other)
    shape = op("Shape", total) if -1 in total.shape else list(total.shape)
    return concat([unsqueeze(op("Expand", i, shape), -1) for i in indices], -1)


def _numeric_axes(items: list[Any]) -> list[Any]:
    """Returns the items with numbers as index tensors, where there are index tensors beside them: they then count."""
    if not any(isinstance(item, Value) for item in items):
        return items
    return [constant(item, lm.int64) if isinstance(item, int) else item for item in items]


@builtin("index")
def index(x: Value, items: str, tensors: Any = ()) -> Value:
    """``x[key]``."""
    return indexed(x, _numeric_axes(_Key(x, items, list(tensors)).items))


def indexed(x: Value, items: list[Any]) -> Value:
    """Returns ``x[items]``, of slices, numbers, None and index tensors."""
    if any(isinstance(item, Value) and item.dtype == lm.bool and item.ndim == 0 for item in items):
        raise NotImplementedError("[index] a mask without axes has no counterpart in ONNX")
    x, advanced = _basic(x, items)
    found = _split_masks(x, advanced)
    if not found:
        return op("Identity", x) if not items else x
    axes = sorted(found)
    if len(axes) == 1:
        [axis] = axes
        return op("Gather", x, found[axis], axis=axis)
    rest = [i for i in range(x.ndim) if i not in axes]
    picked = op("GatherND", transpose(x, axes + rest), _stacked([_positive(found[a], size(x, a)) for a in axes]))
    together = axes == list(range(axes[0], axes[-1] + 1))
    if not together or axes[0] == 0:
        return picked
    width = picked.ndim - len(rest)
    before = axes[0]
    order = [*range(width, width + before), *range(width), *range(width + before, picked.ndim)]
    return transpose(picked, order)


@builtin("set_index_")
def set_index(x: Value, items: str, tensors: Any, value: Any) -> Value:
    """The value after ``x[key] = value``."""
    key = _numeric_axes(_Key(x, items, list(tensors)).items)
    value = cast(value, x.dtype)
    if len(key) == 1 and isinstance(key[0], Value) and key[0].dtype == lm.bool and value.ndim == 0:
        mask = unsqueeze(key[0], *range(key[0].ndim, x.ndim))
        return op("Where", mask, value, x)
    # The places of the elements that the key picks, as numbers in the flat value.
    places = indexed(places_of(x), key)
    shape = op("Shape", places) if -1 in places.shape else list(places.shape)
    if value.ndim > places.ndim:
        value = squeeze(value, *range(value.ndim - places.ndim))
    source = op("Expand", value, shape)
    flat = op("ScatterElements", reshape(x, [-1]), reshape(places, [-1]), reshape(source, [-1]), axis=0)
    return reshape(flat, sizes(x))


def places_of(x: Value) -> Value:
    """Returns the number of each element, in the shape of the value."""
    if -1 not in x.shape:
        return reshape(range_value(math.prod(x.shape)), list(x.shape))
    return reshape(range_value(reshape(op("Size", x), [1])), sizes(x))


@builtin("gather")
def convert_gather(x: Value, axis: int, index: Value) -> Value:
    """Elements picked along an axis."""
    return op("GatherElements", x, index, axis=axis)


@builtin("take_along_axis")
def take_along_axis(x: Value, indices: Value, *, axis: int = -1) -> Value:
    """Elements picked along an axis."""
    return op("GatherElements", x, _beside(indices, x, axis), axis=axis)


def _beside(indices: Value, x: Value, axis: int) -> Value:
    """Returns indices with the sizes of the value along the other axes."""
    axis = axis_of(axis, x.ndim)
    if all(i == axis or a == b for i, (a, b) in enumerate(zip(indices.shape, x.shape, strict=True))):
        return indices
    return op("Expand", indices, shape_value([1 if i == axis else n for i, n in enumerate(sizes(x))]))


@builtin("take")
def take(x: Value, indices: Value, *, axis: int | None = None) -> Value:
    """Slices of an axis, by their numbers."""
    return op("Gather", reshape(x, [-1]) if axis is None else x, indices, axis=axis or 0)


@builtin("index_select")
def index_select(x: Value, axis: int, index: Value) -> Value:
    """Slices of an axis, by their numbers."""
    return op("Gather", x, reshape(index, [-1]) if index.ndim != 1 else index, axis=axis)


def _cut(src: Value, index: Value) -> Value:
    """Returns the part of a source that has the shape of the index."""
    for axis, (a, b) in enumerate(zip(src.shape, index.shape, strict=True)):
        if a != b or a < 0:
            src = slice_axis(src, axis, 0, size(index, axis))
    return src


def _like_index(src: Any, index: Value, x: Value) -> Value:
    src = cast(src, x.dtype)
    if src.ndim == 0 and index.ndim:
        return op("Expand", src, op("Shape", index) if -1 in index.shape else list(index.shape))
    return _cut(src, index)


@builtin("scatter")
def scatter(x: Value, axis: int, index: Value, src: Any) -> Value:
    """Elements written to places along an axis."""
    return op("ScatterElements", x, index, _like_index(src, index, x), axis=axis)


@builtin("scatter_add")
def scatter_add(x: Value, axis: int, index: Value, src: Value) -> Value:
    """Elements added at places along an axis."""
    return op("ScatterElements", x, index, _like_index(src, index, x), axis=axis, reduction="add")


_REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "mul": "mul", "amax": "max", "amin": "min"}


def scatter_reduced(x: Value, axis: int, index: Value, src: Any, reduce_: str, include_self: bool) -> Value:
    """Returns a value with elements reduced into places along an axis; of bools by way of integers."""
    if is_bool(x):
        return cast(scatter_reduced(cast(x, lm.int32), axis, index, src, reduce_, include_self), lm.bool)
    src = _like_index(src, index, x)
    if reduce_ == "assign":
        return op("ScatterElements", x, index, src, axis=axis)
    if reduce_ == "mean":
        base = x if include_self else scatter_reduced(x, axis, index, 0, "assign", True)
        total = op("ScatterElements", base, index, src, axis=axis, reduction="add")
        ones = op("Expand", cast(1, x.dtype), op("Shape", x))
        if not include_self:
            ones = scatter_reduced(ones, axis, index, 0, "assign", True)
        count = op("ScatterElements", ones, index, src * 0 + 1, axis=axis, reduction="add")
        count = op("Where", count.eq(0), cast(1, x.dtype), count)
        if is_float(x):
            return total / count
        return (total - op("Mod", total, count)) / count
    if not include_self:
        x = scatter_reduced(x, axis, index, _identity(x, reduce_), "assign", True)
    return op("ScatterElements", x, index, src, axis=axis, reduction=_REDUCTIONS[reduce_])


def _identity(x: Value, reduce_: str) -> Any:
    if reduce_ in ("amax", "amin"):
        if is_float(x):
            return -math.inf if reduce_ == "amax" else math.inf
        limits = lm.iinfo(x.dtype)
        return int(limits.min if reduce_ == "amax" else limits.max)
    return 1 if _REDUCTIONS[reduce_] == "mul" else 0


@builtin("scatter_reduce")
def scatter_reduce(x: Value, axis: int, index: Value, src: Value, reduce: str, *, include_self: bool = True) -> Value:
    """Elements reduced into places along an axis."""
    return scatter_reduced(x, axis, index, src, reduce, include_self)


@builtin("put_along_axis")
def put_along_axis(
    x: Value, indices: Value, values: Any, axis: int, reduce: str = "assign", include_self: bool = True
) -> Value:
    """Elements written to places along an axis."""
    indices = _beside(indices, x, axis)
    values = cast(values, x.dtype)
    values = op("Expand", values, op("Shape", indices) if -1 in indices.shape else list(indices.shape))
    return scatter_reduced(x, axis, indices, values, reduce, include_self)


def _along(index: Value, like: Value, axis: int) -> Value:
    """Returns numbers of slices as an index of the elements of another value."""
    flat = reshape(index, [-1 if i == axis else 1 for i in range(like.ndim)]) if like.ndim else index
    return op("Expand", flat, op("Shape", like) if -1 in like.shape else list(like.shape))


@builtin("index_add")
def index_add(x: Value, axis: int, index: Value, source: Value, *, alpha: Any = 1) -> Value:
    """Slices added to those of an axis."""
    axis = axis_of(axis, x.ndim)
    source = cast(source, x.dtype)
    source = source if alpha == 1 else source * alpha
    return op("ScatterElements", x, _along(index, source, axis), source, axis=axis, reduction="add")


@builtin("index_copy")
def index_copy(x: Value, axis: int, index: Value, source: Value) -> Value:
    """Slices in place of those of an axis."""
    axis = axis_of(axis, x.ndim)
    return op("ScatterElements", x, _along(index, source, axis), cast(source, x.dtype), axis=axis)


@builtin("index_fill")
def index_fill(x: Value, axis: int, index: Value, value: Any) -> Value:
    """One number in slices of an axis."""
    axis = axis_of(axis, x.ndim)
    index = reshape(index, [-1]) if index.ndim != 1 else index
    picked = op("Gather", x, index, axis=axis)
    filled = op("Expand", cast(value, x.dtype), op("Shape", picked))
    return op("ScatterElements", x, _along(index, picked, axis), filled, axis=axis)


@builtin("index_reduce")
def index_reduce(x: Value, axis: int, index: Value, source: Value, reduce: str, *, include_self: bool = True) -> Value:
    """Slices reduced into those of an axis."""
    axis = axis_of(axis, x.ndim)
    return scatter_reduced(x, axis, _along(index, source, axis), source, reduce, include_self)


@builtin("index_put")
def index_put(x: Value, indices: list[Value], values: Value, accumulate: bool = False) -> Value:
    """Elements written to places."""
    key = [*indices, *[slice(None)] * (x.ndim - sum(i.ndim if i.dtype == lm.bool else 1 for i in indices))]
    places = indexed(places_of(x), key)
    source = op("Expand", cast(values, x.dtype), op("Shape", places))
    reduction = {"reduction": "add"} if accumulate else {}
    flat = reshape(x, [-1])
    flat = op("ScatterElements", flat, reshape(places, [-1]), reshape(source, [-1]), axis=0, **reduction)
    return reshape(flat, sizes(x))


@builtin("put")
def put(x: Value, indices: Value, values: Value, accumulate: bool = False) -> Value:
    """Elements written to places in the flat value."""
    source = op("Expand", cast(values, x.dtype), op("Shape", indices))
    reduction = {"reduction": "add"} if accumulate else {}
    flat = op("ScatterElements", reshape(x, [-1]), reshape(indices, [-1]), reshape(source, [-1]), axis=0, **reduction)
    return reshape(flat, sizes(x))


@builtin("select_scatter")
def select_scatter(x: Value, src: Value, axis: int, index: int) -> Value:
    """One slice of an axis replaced."""
    axis = axis_of(axis, x.ndim)
    source = unsqueeze(cast(src, x.dtype), axis)
    return op("ScatterElements", x, _along(constant([index], lm.int64), source, axis), source, axis=axis)


@builtin("slice_scatter")
def slice_scatter(
    x: Value, src: Value, axis: int = 0, start: int | None = None, stop: int | None = None, step: int = 1
) -> Value:
    """A slice of an axis replaced."""
    axis = axis_of(axis, x.ndim)
    numbers = op("Slice", range_value(size(x, axis)), [start or 0], [_END if stop is None else stop], [0], [step])
    source = cast(src, x.dtype)
    return op("ScatterElements", x, _along(numbers, source, axis), source, axis=axis)


@builtin("diagonal_scatter")
def diagonal_scatter(x: Value, src: Value, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Value:
    """A diagonal replaced."""
    a, b = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order = [i for i in range(x.ndim) if i not in (a, b)] + [a, b]
    moved = transpose(x, order)
    rows, columns = moved.shape[-2:]
    if rows < 0 or columns < 0:
        raise NotImplementedError("[diagonal_scatter] an exported model needs the sizes of the matrix")
    on = np.eye(rows, columns, offset, dtype=bool)
    # A diagonal's number at each of its places.
    numbers = np.where(on, np.cumsum(on).reshape(on.shape) - 1, 0).astype("int64")
    spread = op("Gather", cast(src, x.dtype), constant(numbers), axis=-1)
    back = [order.index(i) for i in range(x.ndim)]
    return transpose(op("Where", constant(on), spread, moved), back)


@builtin("nonzero")
def nonzero(x: Value, meta_outputs: Any = None) -> list[Value]:
    """The places of elements that are not 0, axis by axis."""
    places = op("NonZero", x)
    return [gather(places, i, 0) for i in range(x.ndim)]


@builtin("argwhere")
def argwhere(x: Value) -> Value:
    """The places of elements that are not 0, as rows."""
    return swap(op("NonZero", x), 0, 1)


@builtin("masked_select")
def masked_select(x: Value, mask: Value) -> Value:
    """The elements where the mask is true."""
    both = op("Shape", op("Add", op("Expand", constant(0, lm.int64), op("Shape", x)), cast(mask, lm.int64)))
    return op("Compress", reshape(op("Expand", x, both), [-1]), reshape(op("Expand", mask, both), [-1]))


@builtin("masked_scatter")
def masked_scatter(x: Value, mask: Value, source: Value) -> Value:
    """The elements where the mask is true replaced, in order."""
    shape = op("Shape", x) if -1 in x.shape else list(x.shape)
    chosen = op("Expand", mask, shape)
    number = op("CumSum", reshape(cast(chosen, lm.int64), [-1]), constant(0, lm.int64)) - 1
    picked = op("Gather", reshape(cast(source, x.dtype), [-1]), op("Max", number, 0), axis=0)
    return op("Where", chosen, reshape(picked, sizes(x)), x)


@builtin("unravel_index")
def unravel_index(indices: Value, shape: Any) -> list[Value]:
    """Places in a shape, axis by axis."""
    parts = []
    indices = cast(indices, lm.int64)
    for n in reversed(list(shape)):
        parts.append(op("Mod", indices, n))
        indices = op("Div", indices - parts[-1], n)
    return parts[::-1]


@builtin("ravel_multi_index")
def ravel_multi_index(multi_index: list[Value], shape: Any) -> Value:
    """Places in a flat value."""
    place, *parts = (cast(part, lm.int64) for part in multi_index)
    for part, n in zip(parts, list(shape)[1:], strict=True):
        place = op("Add", place * n, part)
    return place


@builtin("bucketize")
def bucketize(x: Value, boundaries: Value, *, right: bool = False) -> Value:
    """The numbers of the intervals that values are in."""
    return searched(boundaries, x, "right" if right else "left")


def searched(sorted_: Value, x: Value, side: str) -> Value:
    """Returns how many of the sorted numbers are below each value (or equal to it, from the right)."""
    dtype = lm.result_type(sorted_.dtype, x.dtype)
    edges = cast(sorted_, dtype)
    values = unsqueeze(cast(x, dtype), x.ndim)
    if edges.ndim > 1:
        edges = unsqueeze(edges, edges.ndim - 1)
    below = op("LessOrEqual" if side == "right" else "Less", edges, values)
    return reduce("ReduceSum", cast(below, lm.int64), [-1])


@builtin("searchsorted")
def searchsorted(x1: Value, x2: Any, *, side: str = "left", sorter: Value | None = None) -> Value:
    """Where values stand among sorted numbers."""
    numbers = x1 if sorter is None else op("GatherElements", x1, sorter, axis=-1)
    return searched(numbers, x2 if isinstance(x2, Value) else cast(x2, x1.dtype), side)


@builtin("isin")
def isin(x1: Any, x2: Any, *, invert: bool = False) -> Value:
    """Where values are among others."""
    each = unsqueeze(x1, x1.ndim) if isinstance(x1, Value) else x1
    found = compared("Equal", each, reshape(x2, [-1]) if isinstance(x2, Value) else x2)
    among = any_of(found, [found.ndim - 1])
    return ~among if invert else among


@builtin("embedding")
def embedding(x: Value, weight: Value, padding_idx: int | None = None) -> Value:
    """Rows of a matrix, by their numbers."""
    return op("Gather", weight, x, axis=0)


@builtin("embedding_bag")
def embedding_bag(
    x: Value,
    weight: Value,
    offsets: Value | None = None,
    mode: str = "mean",
    per_sample_weights: Value | None = None,
    padding_idx: int | None = None,
    *,
    include_last_offset: bool = False,
) -> Value:
    """Rows of a matrix, reduced by bags."""
    rows = op("Gather", weight, x, axis=0)
    skipped: Any = padding_idx
    if padding_idx is not None and padding_idx < 0:
        skipped = size(weight, 0) + padding_idx
    x = cast(x, lm.int64)
    counted = cast(x.eq(x) if skipped is None else ~x.eq(skipped), weight.dtype)
    if offsets is None:
        inside, rows = unsqueeze(counted, x.ndim), rows
        if per_sample_weights is not None:
            rows = rows * unsqueeze(cast(per_sample_weights, weight.dtype), x.ndim)
        return _bagged(rows, inside, x.ndim - 1, mode)
    # A row for each bag, in which each number belongs to the bag that begins at or before it.
    places = unsqueeze(range_value(size(x, 0)), 0)
    begins = unsqueeze(cast(offsets, lm.int64), 1)
    if include_last_offset:
        begins, ends = slice_axis(begins, 0, 0, -1), slice_axis(begins, 0, 1, _END)
    else:
        ends = slice_axis(op("Pad", begins, [0, 0, 1, 0], reshape(op("Size", x), [])), 0, 1, _END)
    belongs = cast(op("And", begins <= places, places < ends), weight.dtype)
    inside = unsqueeze(belongs * unsqueeze(counted, 0), 2)
    if per_sample_weights is not None:
        rows = rows * unsqueeze(cast(per_sample_weights, weight.dtype), 1)
    return _bagged(unsqueeze(rows, 0), inside, 1, mode)


def _bagged(rows: Value, inside: Value, axis: int, mode: str) -> Value:
    """Returns rows reduced along an axis, where ``inside`` is 1."""
    count = reduce("ReduceSum", inside, [axis])
    if mode == "max":
        best = reduce("ReduceMax", where(cast(inside, lm.bool), rows, -math.inf), [axis])
        return where(count.eq(0), 0.0, best)
    total = reduce("ReduceSum", rows * inside, [axis])
    return total if mode == "sum" else total / op("Max", count, 1)
