"""Functions whose results have memory of their own in PyTorch, where Lamella returns views.

A program that writes into such a result must leave the argument alone, and one that keeps it does not keep the rest.
"""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor

from ._memory import TypedStorage, UntypedStorage
from ._writing import written


def flip(input: Tensor, *axes: Any, dims: Any = ()) -> Tensor:
    """Returns the tensor with the order along axes turned around."""
    named = axes or (dims,)
    if len(named) == 1 and isinstance(named[0], (tuple, list)):
        named = tuple(named[0])
    return lm.clone(lm.flip(input, axis=named) if input.ndim or any(each not in (0, -1) for each in named) else input)


def fliplr(input: Tensor) -> Tensor:
    """Returns the tensor with the order along its second axis turned around."""
    return lm.clone(lm.fliplr(input))


def flipud(input: Tensor) -> Tensor:
    """Returns the tensor with the order along its first axis turned around."""
    return lm.clone(lm.flipud(input))


def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """Returns the tensor turned by ``k`` quarters in the plane of two axes."""
    return lm.clone(lm.rot90(input, k, dims))


def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Returns the matrix that has a vector on a diagonal, or the elements on a diagonal of a matrix."""
    made = lm.diag(input, k=diagonal)
    return lm.clone(made) if out is None and input.ndim == 2 else written(made, out)


def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Tensor:
    """A tensor of any elements, whose axes lie in memory in the order that ``physical_layout`` names.

    Raises:
        RuntimeError: it does not name each axis once.
    """
    order = tuple(physical_layout)
    if sorted(order) != list(range(len(size))):
        raise RuntimeError(
            f"[empty_permuted] physical_layout names each of the {len(size)} axes of size once, in the order in which "
            f"they lie in memory; got {list(order)}"
        )
    requires_grad = options.pop("requires_grad", False)
    for ignored in ("layout", "pin_memory"):
        options.pop(ignored, None)
    made = lm.empty(tuple(size[axis] for axis in order), **options)
    made = lm.permute_dims(made, tuple(order.index(axis) for axis in range(len(order))))
    return made.requires_grad_() if requires_grad else made


def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy of the tensor, with ``src`` in the elements that ``as_strided`` with these numbers would show.

    Raises:
        RuntimeError: ``src`` has another shape, or elements beyond those of ``input`` are named.
        NotImplementedError: ``input`` is not contiguous.
    """
    if not input.is_contiguous():
        raise NotImplementedError("[as_strided_scatter] input must be contiguous: give input.contiguous()")
    if tuple(src.shape) != tuple(size):
        raise RuntimeError(f"[as_strided_scatter] src must have the shape {list(size)}, got {list(src.shape)}")
    count = 1
    for each in input.shape:
        count *= each
    places = lm.full((), storage_offset or 0, dtype=lm.int64)
    for length, step in zip(size, stride, strict=True):
        places = lm.expand_dims(places, axis=-1) + lm.arange(length, dtype=lm.int64) * step
    places = lm.reshape(places, (-1,))
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < count:
        raise RuntimeError(
            f"[as_strided_scatter] size {list(size)}, stride {list(stride)} and storage_offset {storage_offset or 0} "
            f"name elements beyond the {count} of input"
        )
    made = lm.scatter(lm.reshape(input, (-1,)), 0, places, lm.reshape(src.astype(input.dtype, copy=False), (-1,)))
    return lm.reshape(made, input.shape)


def is_storage(obj: Any) -> bool:
    """True for the memory of a tensor, as ``x.untyped_storage()`` returns it."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


#: Reductions of segments, but means: by which name ``scatter_reduce`` knows them, and the result of no elements.
_SEGMENTS: dict[str, tuple[str, float]] = {
    "sum": ("sum", 0.0),
    "max": ("amax", float("-inf")),
    "min": ("amin", float("inf")),
    "prod": ("prod", 1.0),
}


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Reduces parts of a tensor that follow one another along an axis, of ``lengths``, or between ``offsets``.

    The axes before it are those of ``lengths`` or ``offsets``. A part of no elements gives ``initial``, or where none
    is given what the reduction has for it: 0, 1, NaN or an infinity.

    Raises:
        RuntimeError: there is no such reduction, neither lengths nor offsets are given, or the lengths do not add up.
        NotImplementedError: ``indices`` are given.
    """
    if reduce not in ("mean", *_SEGMENTS):
        raise RuntimeError(f"[segment_reduce] reduce is one of mean, {', '.join(_SEGMENTS)}, not {reduce!r}")
    if indices is not None:
        raise NotImplementedError("[segment_reduce] segments are given by lengths or offsets, not by indices")
    if lengths is None:
        if offsets is None:
            raise RuntimeError("[segment_reduce] segments need their lengths or offsets, got neither")
        lengths = lm.diff(offsets, axis=-1)
    axis %= data.ndim
    whole = data.shape[axis]
    if lengths.ndim != axis + 1 or tuple(lengths.shape[:-1]) != tuple(data.shape[:axis]):
        raise RuntimeError(
            f"[segment_reduce] lengths along axis {axis} of the shape {list(data.shape)} must have the shape "
            f"{[*data.shape[:axis], 'segments']}, got {list(lengths.shape)}"
        )
    if not unsafe and lengths.size:
        totals = lm.sum(lengths, axis=-1)
        if bool(lm.any(lengths < 0)) or bool(lm.any(totals != whole)):
            raise RuntimeError(
                f"[segment_reduce] lengths must not be negative and add up to {whole}: {lengths.tolist()}"
            )
    count = lengths.shape[-1]
    ends = lm.cumulative_sum(lengths.astype(lm.int64, copy=False), axis=-1)
    place = lm.arange(whole, dtype=lm.int64)
    index = lm.sum((lm.expand_dims(ends, axis=-2) <= lm.expand_dims(place, axis=-1)).astype(lm.int64), axis=-1)
    behind = (1,) * (data.ndim - axis - 1)
    index = lm.broadcast_to(lm.reshape(index, (*index.shape, *behind)), data.shape)
    shape = (*data.shape[:axis], count, *data.shape[axis + 1 :])
    if reduce == "mean":  # an initial value goes into the sum, and is not counted
        count_of = lm.reshape(lengths, (*lengths.shape, *behind)).astype(data.dtype)
        base = lm.full(shape, initial or 0.0, dtype=data.dtype, device=data.device)
        means = lm.scatter_reduce(base, axis, index, data, "sum") / lm.maximum(count_of, 1)
        return lm.where(count_of == 0, float("nan") if initial is None else initial, means)
    name, nothing = _SEGMENTS[reduce]
    base = lm.full(shape, nothing if initial is None else initial, dtype=data.dtype, device=data.device)
    from_base = initial is not None or reduce in ("sum", "prod")
    return lm.scatter_reduce(base, axis, index, data, name, include_self=from_base)
