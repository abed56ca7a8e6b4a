"""Shapes, and joining and splitting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
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
    ops,
    product,
    reduce,
    reshape,
    size,
    sizes,
    slice_axis,
    squeeze,
    swap,
    transpose,
    unsqueeze,
)
from .._registry import builtin


def _list(value: Any) -> list[int]:
    return [int(value)] if isinstance(value, int) else list(value)


@builtin("reshape")
def convert_reshape(x: Value, shape: Any, *settings: Any, meta_outputs: Any = None) -> Value:
    """The elements in another shape."""
    wanted = _list(shape)
    return reshape(x, list(meta_outputs.shape) if -1 not in x.shape or 0 in wanted else wanted)


@builtin("ravel")
def ravel(x: Value, *settings: Any) -> Value:
    """The elements along one axis."""
    return reshape(x, [-1])


@builtin("flatten")
def flatten(x: Value, start_axis: int = 0, stop_axis: int = -1) -> Value:
    """With some axes in a row as one."""
    if x.ndim == 0:
        return reshape(x, [1])
    start, end = axis_of(start_axis, x.ndim), axis_of(stop_axis, x.ndim)
    length = product([size(x, axis) for axis in range(start, end + 1)])
    return _within(x, start, end, [length if isinstance(length, int) else -1])


@builtin("unflatten")
def unflatten(x: Value, axis: int, sizes: Any, meta_outputs: Any = None) -> Value:
    """With an axis as several ones."""
    axis = axis_of(axis, x.ndim)
    wanted = _list(sizes)
    if x.shape[axis] >= 0 or 0 in wanted:
        wanted = list(meta_outputs.shape[axis : axis + len(wanted)])
    return _within(x, axis, axis, wanted)


def _within(x: Value, start: int, end: int, shape: list[int]) -> Value:
    """Returns x with the axes from start to end in another shape, of which one size may be unknown."""
    sizes = [*x.shape[:start], *shape, *x.shape[end + 1 :]]
    outside = [size(x, i) if n < 0 and sizes.count(-1) > 1 else n for i, n in enumerate(x.shape)]
    return reshape(x, [*outside[:start], *shape, *outside[end + 1 :]])


@builtin("squeeze")
def convert_squeeze(x: Value, axis: Any = None) -> Value:
    """Without axes of size 1."""
    if axis is None and -1 in x.shape:
        raise NotImplementedError("[squeeze] an exported model needs the axes, as a size that is open may be 1")
    axes = [i for i, n in enumerate(x.shape) if n == 1] if axis is None else [axis_of(a, x.ndim) for a in _list(axis)]
    return squeeze(x, *axes)


@builtin("expand_dims")
def expand_dims(x: Value, axis: Any = 0) -> Value:
    """With further axes of size 1."""
    return unsqueeze(x, *_list(axis))


@builtin("broadcast_to")
def broadcast_to(x: Value, shape: Any) -> Value:
    """Repeated along axes of size 1."""
    return op("Expand", x, [1 if n < 0 else n for n in _list(shape)])


@builtin("shape_of")
def shape_of(x: Value) -> Value:
    """The sizes of the axes."""
    return op("Shape", x)


@builtin("dynamic_shape")
def dynamic_shape(sizes: list[Value], shape: Any) -> Value:
    """A shape as a vector."""
    given = iter(sizes)
    parts = [cast(reshape(next(given), [1]), lm.int64) if n == -2 else constant([n], lm.int64) for n in shape]
    return concat(parts, 0)


@builtin("dynamic_reshape")
def dynamic_reshape(x: Value, shape: Value, meta_outputs: Any = None) -> Value:
    """The elements in a shape that a vector holds."""
    return op("Reshape", x, cast(shape, lm.int64), allowzero=1).refine(list(meta_outputs.shape))


@builtin("dynamic_broadcast")
def dynamic_broadcast(x: Value, shape: Value, meta_outputs: Any = None) -> Value:
    """Broadcast to a shape that a vector holds."""
    return op("Expand", x, cast(shape, lm.int64)).refine(list(meta_outputs.shape))


@builtin("dynamic_slice")
def dynamic_slice(x: Value, start: Any, stop: Any, *, axis: int = 0, step: int = 1) -> Value:
    """The part of an axis between bounds, which tensors may hold."""
    first, end = (reshape(cast(b, lm.int64), [1]) if isinstance(b, Value) else b for b in (start, stop))
    return slice_axis(x, axis_of(axis, x.ndim), first, end, step)


@builtin("sum_to")
def sum_to(x: Value, shape: Any) -> Value:
    """Summed over the axes along which a value of that shape is repeated."""
    shape = _list(shape)
    front = x.ndim - len(shape)
    total = reduce("ReduceSum", x, list(range(front)))
    axes = [i for i, n in enumerate(shape) if n == 1 and x.shape[front + i] != 1]
    return reduce("ReduceSum", total, axes, keepdims=True)


@builtin("permute_dims")
def permute_dims(x: Value, axes: Any) -> Value:
    """Axes in another order."""
    return transpose(x, [axis_of(a, x.ndim) for a in _list(axes)])


@builtin("matrix_transpose")
def matrix_transpose(x: Value) -> Value:
    """The last two axes exchanged."""
    return swap(x, -1, -2)


@builtin("swapaxes")
def swapaxes(x: Value, axis1: int, axis2: int) -> Value:
    """Two axes exchanged."""
    return swap(x, axis1, axis2)


@builtin("moveaxis")
def moveaxis(x: Value, source: Any, destination: Any) -> Value:
    """Axes at other places."""
    return transpose(x, list(_moved(x.ndim, _list(source), _list(destination))))


def _moved(ndim: int, source: list[int], destination: list[int]) -> list[int]:
    source = [axis_of(a, ndim) for a in source]
    order = [a for a in range(ndim) if a not in source]
    for place, axis in sorted(zip((axis_of(a, ndim) for a in destination), source, strict=True)):
        order.insert(place, axis)
    return order


@builtin("concat")
def convert_concat(arrays: list[Value], axis: int | None = 0, meta_outputs: Any = None) -> Value:
    """Joined along an axis."""
    parts = [cast(x, meta_outputs.dtype) for x in arrays]
    if axis is None:
        return concat([reshape(x, [-1]) for x in parts], 0)
    return concat(parts, axis)


@builtin("stack")
def stack(arrays: list[Value], axis: int = 0, meta_outputs: Any = None) -> Value:
    """Joined along a new axis."""
    return concat([unsqueeze(cast(x, meta_outputs.dtype), axis) for x in arrays], axis_of(axis, arrays[0].ndim + 1))


def atleast(x: Value, ndim: int) -> Value:
    """Returns a value with at least as many axes, in numpy's way."""
    if x.ndim >= ndim:
        return x
    if ndim < 3 or x.ndim == 0:
        return unsqueeze(x, *range(ndim - x.ndim))
    return unsqueeze(x, 0, 2) if x.ndim == 1 else unsqueeze(x, 2)


def _atleast(name: str, ndim: int) -> None:
    @builtin(name)
    def convert(x: Value) -> Value:
        return atleast(x, ndim)


for _name, _ndim in {"atleast_1d": 1, "atleast_2d": 2, "atleast_3d": 3}.items():
    _atleast(_name, _ndim)


@builtin("hstack")
def hstack(arrays: list[Value], meta_outputs: Any = None) -> Value:
    """Joined along axis 1, vectors along axis 0."""
    parts = [atleast(cast(x, meta_outputs.dtype), 1) for x in arrays]
    return concat(parts, 0 if parts[0].ndim == 1 else 1)


@builtin("vstack")
def vstack(arrays: list[Value], meta_outputs: Any = None) -> Value:
    """Joined along axis 0, vectors as rows."""
    return concat([atleast(cast(x, meta_outputs.dtype), 2) for x in arrays], 0)


@builtin("dstack")
def dstack(arrays: list[Value], meta_outputs: Any = None) -> Value:
    """Joined along axis 2."""
    return concat([atleast(cast(x, meta_outputs.dtype), 3) for x in arrays], 2)


@builtin("column_stack")
def column_stack(arrays: list[Value], meta_outputs: Any = None) -> Value:
    """Joined along axis 1, vectors as columns."""
    parts = [cast(x, meta_outputs.dtype) for x in arrays]
    return concat([unsqueeze(atleast(x, 1), 1) if x.ndim < 2 else x for x in parts], 1)


def _split_axis(source: str, ndim: int) -> int:
    if source == "hsplit":
        return 0 if ndim == 1 else 1
    return {"vsplit": 0, "dsplit": 2}[source]


def _parts(x: Value, axis: int, meta_outputs: Any, starts: Callable[[], Sequence[Any]]) -> Any:
    """Returns parts along an axis: of the sizes that are known, or between starts of which the last is the end."""
    parts = meta_outputs if isinstance(meta_outputs, list) else [meta_outputs]
    lengths = [part.shape[axis] for part in parts]
    if len(parts) == 1:
        return [op("Identity", x)]
    if -1 not in lengths and x.shape[axis] != -1:
        return list(ops("Split", x, lengths, outputs=len(parts), axis=axis))
    return [slice_axis(x, axis, a, b) for a, b in itertools.pairwise(starts())]


def _sum(a: Any, b: Any) -> Any:
    """Returns the sum of sizes that are numbers or values."""
    if isinstance(a, int):
        return a + b if isinstance(b, int) else op("Add", b, a)
    return op("Add", a, b)


@builtin("split")
def split(x: Value, sections: Any, axis: int = 0, meta_outputs: Any = None) -> Any:
    """Equal parts along an axis, or parts of sizes of which one may be -1."""
    axis = axis_of(axis, x.ndim)

    def starts() -> list[Any]:
        if isinstance(sections, int):
            length = op("Div", size(x, axis), sections)
            return [op("Mul", length, i) for i in range(sections + 1)]
        lengths: list[Any] = list(sections)
        if -1 in lengths:
            lengths[lengths.index(-1)] = op("Sub", size(x, axis), sum(n for n in lengths if n != -1))
        return list(itertools.accumulate(lengths, _sum, initial=0))

    return _parts(x, axis, meta_outputs, starts)


@builtin("chunk")
def chunk(x: Value, chunks: int, axis: int = 0, meta_outputs: Any = None) -> Any:
    """Parts along an axis, all of the same size but the last."""
    axis = axis_of(axis, x.ndim)

    def starts() -> list[Any]:
        length = op("Div", op("Add", size(x, axis), chunks - 1), chunks)
        return [op("Mul", length, i) for i in range(chunks + 1)]

    return _parts(x, axis, meta_outputs, starts)


@builtin("tensor_split")
def tensor_split(x: Value, sections: Any, axis: int = 0, meta_outputs: Any = None) -> Any:
    """Parts along an axis, the first ones larger by one where needed, or cut at places."""
    axis = axis_of(axis, x.ndim)

    def starts() -> list[Any]:
        if not isinstance(sections, int):
            return [0, *sections, 2**62]
        length = op("Div", size(x, axis), sections)
        longer = op("Sub", size(x, axis), op("Mul", length, sections))
        return [op("Add", op("Mul", length, i), op("Min", longer, i)) for i in range(sections + 1)]

    return _parts(x, axis, meta_outputs, starts)


def _split(name: str) -> None:
    @builtin(name)
    def convert(x: Value, sections: Any, meta_outputs: Any = None) -> Any:
        return tensor_split(x, sections, _split_axis(name, x.ndim), meta_outputs)


for _name in ("hsplit", "vsplit", "dsplit"):
    _split(_name)


@builtin("unstack")
def unstack(x: Value, *, axis: int = 0, meta_outputs: Any = None) -> list[Value]:
    """The slices along an axis."""
    count = len(meta_outputs) if isinstance(meta_outputs, list) else 1
    return [gather(x, i, axis) for i in range(count)]


@builtin("narrow")
def narrow(x: Value, axis: int, start: int, length: int) -> Value:
    """A part of an axis."""
    stop = start + length
    return slice_axis(x, axis_of(axis, x.ndim), start, 2**62 if start < 0 and stop >= 0 else stop)


@builtin("select")
def select(x: Value, axis: int, index: int) -> Value:
    """One slice of an axis."""
    return gather(x, index, axis_of(axis, x.ndim))


@builtin("flip")
def flip(x: Value, axis: Any = None) -> Value:
    """Axes in reverse."""
    axes = list(range(x.ndim)) if axis is None else [axis_of(a, x.ndim) for a in _list(axis)]
    return reversed_axes(x, axes)


def reversed_axes(x: Value, axes: Sequence[int]) -> Value:
    """Returns a value with axes in reverse."""
    for axis in axes:
        x = slice_axis(x, axis, -1, -(2**62), -1)
    return x


@builtin("fliplr")
def fliplr(x: Value) -> Value:
    """Axis 1 in reverse."""
    return reversed_axes(x, [1])


@builtin("flipud")
def flipud(x: Value) -> Value:
    """Axis 0 in reverse."""
    return reversed_axes(x, [0])


@builtin("rot90")
def rot90(x: Value, k: int = 1, axes: Any = None) -> Value:
    """Turned by quarters."""
    a, b = (axis_of(i, x.ndim) for i in (axes or (0, 1)))
    if k % 4 == 1:
        return swap(reversed_axes(x, [b]), a, b)
    if k % 4 == 2:
        return reversed_axes(x, [a, b])
    return reversed_axes(swap(x, a, b), [b]) if k % 4 == 3 else x


@builtin("roll")
def roll(x: Value, shift: Any, axis: Any = None) -> Value:
    """Moved around the end."""
    if axis is None:
        return reshape(_rolled(reshape(x, [-1]), _list(shift)[0], 0), sizes(x))
    shifts = _list(shift)
    axes = _list(axis)
    for by, one in zip(shifts if len(shifts) == len(axes) else shifts * len(axes), axes, strict=True):
        x = _rolled(x, by, axis_of(one, x.ndim))
    return x


def _rolled(x: Value, by: int, axis: int) -> Value:
    n = x.shape[axis]
    if n < 0 or math.prod(x.shape) < 0:
        count = size(x, axis)
        start: Any = (
            op("Mod", op("Mod", op("Neg", constant([by], lm.int64)), count) + count, count) if n < 0 else -by % n
        )
    elif n == 0 or by % n == 0:
        return x
    else:
        start = -by % n
    return concat([slice_axis(x, axis, start, 2**62), slice_axis(x, axis, 0, start)], axis)


@builtin("tile")
def tile(x: Value, repetitions: Any) -> Value:
    """Repeated as a whole."""
    counts = _list(repetitions)
    x = unsqueeze(x, *range(len(counts) - x.ndim))
    return op("Tile", x, [1] * (x.ndim - len(counts)) + counts)


@builtin("repeat")
def repeat(x: Value, repeats: Any, *, axis: int | None = None) -> Value:
    """Each element repeated."""
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    axis = axis_of(axis, x.ndim)
    if not isinstance(repeats, Value):
        count = int(repeats)
        wide = op("Tile", unsqueeze(x, axis + 1), [count if i == axis + 1 else 1 for i in range(x.ndim + 1)])
        n = size(x, axis)
        return reshape(wide, [*sizes(x)[:axis], n * count, *sizes(x)[axis + 1 :]])
    # An element's number is the number of sums of the counts that are not above its place.
    ends = op("CumSum", cast(repeats, lm.int64), constant(0, lm.int64))
    if ends.ndim == 0 or ends.shape == (1,):
        raise NotImplementedError("[repeat] a tensor of one count is exported as an int only")
    total = reduce("ReduceMax", ends, None)
    places = op("Range", constant(0, lm.int64), total, constant(1, lm.int64))
    passed = cast(unsqueeze(ends, 0) <= unsqueeze(places, 1), lm.int64)
    return op("Gather", x, reduce("ReduceSum", passed, [1]), axis=axis)


def _shape_of_all(values: Sequence[Value]) -> Any:
    """Returns the shape that values have together."""
    shapes = [x.shape for x in values]
    if all(-1 not in shape for shape in shapes):
        return list(np.broadcast_shapes(*shapes))
    total = constant(0, lm.int64)
    for x in values:
        total = op("Add", total, op("Expand", constant(0, lm.int64), op("Shape", x)))
    return op("Shape", total)


@builtin("broadcast_arrays")
def broadcast_arrays(arrays: list[Value]) -> list[Value]:
    """Values in the shape that they have together."""
    shape = _shape_of_all(arrays)
    return [op("Expand", x, shape) for x in arrays]


def meshed(arrays: Sequence[Value], indexing: str) -> list[Value]:
    """Returns coordinates of a grid."""
    order = list(range(len(arrays)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    parts = [
        reshape(x, [-1 if i == axis else 1 for i in range(len(order))]) for x, axis in zip(arrays, order, strict=True)
    ]
    return broadcast_arrays(parts)


@builtin("meshgrid")
def meshgrid(arrays: list[Value], *, indexing: str = "xy") -> list[Value]:
    """Coordinates of a grid."""
    return meshed(arrays, indexing)


@builtin("cartesian_prod")
def cartesian_prod(arrays: list[Value], meta_outputs: Any = None) -> Value:
    """All combinations of elements, as rows."""
    if len(arrays) == 1:
        return arrays[0]
    parts = meshed([cast(x, meta_outputs.dtype) for x in arrays], "ij")
    return concat([reshape(x, [-1, 1]) for x in parts], 1)


@builtin("combinations")
def combinations(x: Value, r: int = 2, with_replacement: bool = False) -> Value:
    """Combinations of elements, as rows."""
    if x.shape[0] < 0:
        raise NotImplementedError("[combinations] an exported model needs the number of elements")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(x.shape[0]), r)), dtype="int64").reshape(-1, r)
    return op("Gather", x, constant(rows), axis=0)


@builtin("block_diag")
def block_diag(arrays: list[Value], meta_outputs: Any = None) -> Value:
    """Matrices along the diagonal."""
    blocks = [atleast(cast(x, meta_outputs.dtype), 2) for x in arrays]
    if any(-1 in x.shape for x in blocks):
        raise NotImplementedError("[block_diag] an exported model needs the sizes of the blocks")
    columns = sum(x.shape[1] for x in blocks)
    rows, before = [], 0
    for x in blocks:
        rows.append(op("Pad", x, [0, before, 0, columns - before - x.shape[1]]))
        before += x.shape[1]
    return concat(rows, 0)


@builtin("sliding_window")
def sliding_window(x: Value, axis: int, size: int, step: int = 1, meta_outputs: Any = None) -> Value:
    """Windows along an axis, as a last axis."""
    axis = axis_of(axis, x.ndim)
    if x.shape[axis] < 0:
        raise NotImplementedError("[sliding_window] an exported model needs the size of the axis")
    count = (x.shape[axis] - size) // step + 1
    index = np.arange(count)[:, None] * step + np.arange(size)
    picked = op("Gather", x, constant(index.astype("int64")), axis=axis)
    order = [i for i in range(picked.ndim) if i != axis + 1] + [axis + 1]
    return transpose(picked, order)


def blocked(x: Value, parts: dict[int, int]) -> Value:
    """Returns a value with axes split into two, of which the second has the given size."""
    shape: list[Any] = []
    for axis, n in enumerate(sizes(x)):
        if axis not in parts:
            shape.append(n)
        elif isinstance(n, int):
            shape += [n // parts[axis], parts[axis]]
        else:
            shape += [op("Div", n, parts[axis]), parts[axis]]
    return reshape(x, shape)


@builtin("pixel_shuffle")
def pixel_shuffle(x: Value, upscale_factor: int) -> Value:
    """Channels spread over pixels."""
    flat = x if x.ndim == 4 else _batched(x, 4)
    y = op("DepthToSpace", flat, blocksize=upscale_factor, mode="CRD")
    return y if x.ndim == 4 else reshape(y, [*sizes(x)[:-3], *sizes(y)[1:]])


@builtin("pixel_unshuffle")
def pixel_unshuffle(x: Value, downscale_factor: int) -> Value:
    """Pixels gathered in channels."""
    r = downscale_factor
    flat = x if x.ndim == 4 else _batched(x, 4)
    parts = transpose(blocked(flat, {2: r, 3: r}), [0, 1, 3, 5, 2, 4])
    n, c, _, _, h, w = sizes(parts)
    y = reshape(parts, [n, c * r * r if isinstance(c, int) else op("Mul", c, r * r), h, w])
    return y if x.ndim == 4 else reshape(y, [*sizes(x)[:-3], *sizes(y)[1:]])


def _batched(x: Value, ndim: int) -> Value:
    """Returns a value whose leading axes are one."""
    return reshape(x, [-1, *sizes(x)[x.ndim - ndim + 1 :]]) if x.ndim >= ndim else unsqueeze(x, 0)


@builtin("channel_shuffle")
def channel_shuffle(x: Value, groups: int) -> Value:
    """Channels of groups in turn."""
    n, c, *rest = sizes(x)
    channels = c // groups if isinstance(c, int) else op("Div", c, groups)
    parts = reshape(x, [n, groups, channels, *rest])
    return reshape(swap(parts, 1, 2), [n, c, *rest])
