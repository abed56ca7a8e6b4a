"""Operators that are given sizes which are known only when the graph runs, as operators that tensors give sizes to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import lamella as lm
from lamella._C import Tensor

from ._sizes import UnknownSize, as_operand, as_sizes, is_unknown, joined, plain_sizes, refuse_unknown

if TYPE_CHECKING:
    from ._recorder import Recorder

#: Bounds of a slice that leave its end open.
_LAST = 2**63 - 1


def _is_rest(size: Any) -> bool:
    return isinstance(size, int) and size == -1


def _known(sizes: Sequence[Any]) -> int:
    """Returns the product of the sizes that are known."""
    return math.prod(n for n in sizes if not isinstance(n, UnknownSize) and n != -1)


def _rest(x: Tensor, shape: Sequence[Any]) -> int:
    """Returns what -1 stands for if the shape's open sizes are those of x, wherever they were asked for; otherwise -1.

    A run checks it, as the sizes that the shape then has must fit the number of elements.
    """
    unknown = [size for size in shape if isinstance(size, UnknownSize)]
    if any(size.source is None for size in unknown) or len(unknown) != sum(map(is_unknown, x.shape)):
        return -1
    known, others = _known(x.shape), _known(shape)
    return known // others if others and known % others == 0 else -1


def _reshape(recorder: Recorder, x: Tensor, shape: Sequence[Any], copy: bool | None = None) -> Tensor:
    if copy is False:
        refuse_unknown(shape)
    if any(map(_is_rest, shape)):
        rest = _rest(x, shape)
        shape = [rest if _is_rest(size) else size for size in shape]
    open_, own = ([size for size in sizes if isinstance(size, UnknownSize)] for sizes in (shape, x.shape))
    same = len(open_) == len(own) == 1 and open_[0].is_same_axis(own[0])
    if same and _known(shape) == _known(x.shape) != 0:
        return lm.reshape(x, plain_sizes(shape), copy=copy)
    result = recorder.shaped("dynamic_reshape", [x, joined(shape)], plain_sizes(shape))
    return lm.clone(result) if copy else result


def _unflatten(recorder: Recorder, x: Tensor, axis: int, sizes: Sequence[Any]) -> Tensor:
    own = list(x.shape)
    axis = range(len(own))[axis]
    return _reshape(recorder, x, [*own[:axis], *sizes, *own[axis + 1 :]])


def _broadcast_to(recorder: Recorder, x: Tensor, shape: Sequence[Any]) -> Tensor:
    return recorder.shaped("dynamic_broadcast", [x, joined(shape)], plain_sizes(shape))


def filled(recorder: Recorder, name: str, shape: Any, *numbers: Any) -> Tensor:
    """Records what a factory makes of a shape, of numbers, and of a dtype and a device."""
    shape = shape if isinstance(shape, (list, tuple)) else [shape]
    *values, dtype, device = numbers
    refuse_unknown(values)
    dtype = getattr(lm, name)([], *values, dtype=dtype, device=device).dtype
    sizes = joined(shape)
    like = recorder.shaped("dynamic_broadcast", [sizes[:1], sizes], plain_sizes(shape))
    result: Tensor = getattr(lm, f"{name}_like")(like, *values, dtype=dtype)
    return result


def _tile(recorder: Recorder, x: Tensor, counts: Any) -> Tensor:
    counts = counts if isinstance(counts, (list, tuple)) else [counts]
    ndim = max(len(counts), x.ndim)
    counts = [1] * (ndim - len(counts)) + list(counts)
    own = [1] * (ndim - x.ndim) + list(x.shape)
    # An axis of size 1 before each takes the copies, and is then joined to it.
    apart = lm.reshape(x, [n for size in own for n in (1, size)])
    wide = [n for count, size in zip(counts, own, strict=True) for n in (count, size)]
    return lm.reshape(
        _broadcast_to(recorder, apart, wide), [count * size for count, size in zip(counts, own, strict=True)]
    )


def _arange(
    recorder: Recorder, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, device: Any = None
) -> Tensor:
    if not isinstance(step, int):
        refuse_unknown([start, stop, step])
    first, end = (0, start) if stop is None else (start, stop)
    # The number of steps, rounded up.
    count = lm.reshape(lm.maximum(as_operand(-((first - end) // step)), 0), [1])
    ones = recorder.shaped("dynamic_broadcast", [lm.ones_like(count), count], [-1])
    result = (lm.cumulative_sum(ones) - 1) * step + as_operand(first)
    return result if dtype is None else result.astype(dtype)


def _interpolate(
    recorder: Recorder,
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    sizes = list(size) if isinstance(size, (list, tuple)) else [size]
    if scale_factor is not None or mode == "area":
        refuse_unknown(sizes)
    sizes = sizes * (x.ndim - 2) if len(sizes) == 1 else sizes
    settings = [mode, align_corners, antialias]
    return recorder.shaped(
        "dynamic_interpolate", [x, joined(sizes), *settings], [*plain_sizes(x.shape)[:2], *plain_sizes(sizes)]
    )


def _repeat(recorder: Recorder, x: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    if axis is None:
        x, axis = lm.reshape(x, [-1]), 0
    own = list(x.shape)
    axis = range(len(own))[axis]
    # An axis behind it takes the copies, and is then joined to it.
    wide = _broadcast_to(recorder, lm.expand_dims(x, axis + 1), [*own[: axis + 1], repeats, *own[axis + 1 :]])
    return lm.reshape(wide, [*own[:axis], own[axis] * repeats, *own[axis + 1 :]])


#: By the operator's name. Each takes the recorder and the operator's arguments in their order.
OF_SIZES: dict[str, Callable[..., Tensor]] = {
    "reshape": _reshape,
    "unflatten": _unflatten,
    "broadcast_to": _broadcast_to,
    "tile": _tile,
    "repeat": _repeat,
    "arange": _arange,
    "interpolate": _interpolate,
}


def _width(item: Any) -> int:
    """Returns the number of axes that an item of an index stands for."""
    if item is None or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, (Tensor, list, tuple, np.ndarray)):
        array = item if isinstance(item, Tensor) else lm.asarray(item)
        return array.ndim if array.dtype == lm.bool else 1
    return 1


def is_open(key: Any) -> bool:
    """True for an index with a bound or a number that is known only when the graph runs."""
    return any(
        is_unknown((item.start, item.stop, item.step) if isinstance(item, slice) else item)
        for item in (key if isinstance(key, tuple) else (key,))
    )


def with_numbers(key: Any) -> Any:
    """Returns an index in which the bounds of slices are numbers, where they are elements of a shape that are known."""
    if isinstance(key, tuple):
        return tuple(map(with_numbers, key))
    return slice(*as_sizes((key.start, key.stop, key.step))) if isinstance(key, slice) else key


def cut(recorder: Recorder, x: Tensor, key: Any) -> tuple[Tensor, Any]:
    """Takes the slices of an index whose bounds are known only when the graph runs.

    Returns:
        The part of x, and the index that gives ``x[key]`` of it.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    taken = sum(_width(item) for item in items if item is not Ellipsis)
    axis = 0
    rest: list[Any] = []
    for item in items:
        part = item
        if isinstance(item, UnknownSize):
            part = item.tensor()
        elif isinstance(item, slice) and is_open(item):
            start, stop, step = item.start, item.stop, item.step
            refuse_unknown([step])
            step = 1 if step is None else step
            ends = (0, _LAST) if step > 0 else (_LAST, -_LAST)
            given = zip((start, stop), ends, strict=True)
            bounds = [end if bound is None else as_operand(bound) for bound, end in given]
            shape = [-1 if i == axis else n for i, n in enumerate(plain_sizes(x.shape))]
            x = recorder.shaped("dynamic_slice", [x, *bounds, axis, step], shape)
            part = slice(None)
        rest.append(part)
        axis += x.ndim - taken if item is Ellipsis else _width(item)
    return x, tuple(rest)
