"""Reductions and sums along axes in Paddle's forms, where these differ from Lamella's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.elements import become

from ._second_names import checked_axes, with_second_names


def axes_of(axis: Any) -> Any:
    """Returns an axis, or several as a tuple; none in a list are all axes."""
    if isinstance(axis, Tensor):
        axis = axis.tolist()
    return (tuple(int(each) for each in axis) or None) if isinstance(axis, (list, tuple)) else axis


def _in_dtype(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else lm.cast(x, dtype)


def _in_own(made: Tensor, x: Tensor) -> Tensor:
    """Returns what was made of integers in their dtype; that of bools as it is."""
    return lm.cast(made, x.dtype) if lm.isdtype(x.dtype, "integral") else made


def _takes_out(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a function that can write what it gives into ``out``: numpy's functions name it, as ``np.sum(x)``."""
    renamed = with_second_names(function)

    @functools.wraps(function)
    def call(*args: Any, out: Tensor | None = None, **named: Any) -> Tensor:
        made = renamed(*args, **named)
        return made if out is None else become(out, made)

    return call


def _reduction(name: str) -> Callable[..., Tensor]:
    native = getattr(lm, name.replace("am", "m"))

    def call(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
        return native(x, axis=axes_of(axis), keepdims=keepdim)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = native.__doc__
    return with_second_names(call)


all, any, max, min, amax, amin, logsumexp, count_nonzero = map(
    _reduction, ("all", "any", "max", "min", "amax", "amin", "logsumexp", "count_nonzero")
)
all, any = _takes_out(all), _takes_out(any)


@with_second_names
def nanmean(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The mean of the elements that are numbers, along axes or of all; float32 for integers."""
    if lm.isdtype(x.dtype, "complex floating"):
        there = lm.logical_not(lm.isnan(x))
        total = nansum(x, axis, keepdim=keepdim)
        return total / lm.sum(there, axis=axes_of(axis), keepdims=keepdim).astype(x.dtype)
    x = x if lm.isdtype(x.dtype, "real floating") else x.astype(lm.float32)
    return lm.nanmean(x, axis=axes_of(axis), keepdims=keepdim)


@_takes_out
def mean(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, dtype: Any = None) -> Tensor:
    """The mean along axes, or of all elements."""
    return lm.mean(_in_dtype(x, dtype), axis=axes_of(axis), keepdims=keepdim)


@_takes_out
def sum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The sum along axes, or of all elements, of ``x`` cast to ``dtype``; a bool in its place is ``keepdim``."""
    if isinstance(dtype, bool):  # PyTorch's order, which Paddle takes as well
        dtype, keepdim = keepdim if not isinstance(keepdim, bool) else None, dtype
    made = lm.sum(_in_dtype(x, dtype), axis=axes_of(axis), keepdims=keepdim)
    return _in_dtype(made, dtype)


@with_second_names
def nansum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The sum of the elements that are numbers, see :func:`sum`."""
    if lm.isdtype(x.dtype, "complex floating"):
        return sum(lm.where(lm.isnan(x), lm.zeros_like(x), x), axis, dtype, keepdim)
    return _in_dtype(lm.nansum(_in_dtype(x, dtype), axis=axes_of(axis), keepdims=keepdim), dtype)


@_takes_out
def prod(x: Tensor, axis: Any = None, keepdim: bool = False, dtype: Any = None, name: str | None = None) -> Tensor:
    """The product along axes, or of all elements, of ``x`` cast to ``dtype``; bools multiply as int64."""
    x = _in_dtype(x, dtype)
    return _in_own(lm.prod(x, axis=axes_of(axis), keepdims=keepdim), x)


@with_second_names
def std(
    x: Tensor,
    axis: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    correction: Any = 1,
) -> Tensor:
    """The standard deviation, see :func:`var`."""
    return lm.std(x, axes_of(axis), _correction(unbiased, correction), keepdim)


@with_second_names
def var(
    x: Tensor,
    axis: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    correction: Any = 1,
) -> Tensor:
    """The variance: squares divided by their number less ``correction``, which ``unbiased`` makes 1 or 0."""
    return lm.var(x, axes_of(axis), _correction(unbiased, correction), keepdim)


def _correction(unbiased: bool | None, correction: Any) -> Any:
    return correction if unbiased is None else int(unbiased)


@_takes_out
def argmax(x: Tensor, axis: int | None = None, keepdim: bool = False, dtype: Any = "int64", name: Any = None) -> Tensor:
    """The place of the largest element along an axis, or among all."""
    return lm.argmax(x, axis=axis, keepdims=keepdim).astype(dtype)


@_takes_out
def argmin(x: Tensor, axis: int | None = None, keepdim: bool = False, dtype: Any = "int64", name: Any = None) -> Tensor:
    """The place of the smallest element along an axis, or among all."""
    return lm.argmin(x, axis=axis, keepdims=keepdim).astype(dtype)


def _flat(x: Tensor, axis: int | None) -> tuple[Tensor, int]:
    """Returns all elements in a row where there is no axis."""
    return (lm.reshape(x, (-1,)), 0) if axis is None else (x, axis)


@_takes_out
@with_second_names
def cumsum(x: Tensor, axis: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """The sums up to each element along an axis, or of all elements in their order."""
    made = lm.cumsum(*_flat(x, axis), dtype=dtype)
    # Sums of integers without signs are int64, as all others.
    return made.astype("int64") if dtype is None and made.dtype == lm.uint64 else made


@_takes_out
@with_second_names
def cumprod(x: Tensor, dim: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """The products up to each element along an axis, or of all elements in their order."""
    return (
        _in_own(lm.cumprod(*_flat(x, dim), dtype=dtype), x)
        if dtype is None
        else lm.cumprod(*_flat(x, dim), dtype=dtype)
    )


@with_second_names
def logcumsumexp(x: Tensor, axis: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """The logarithms of the sums of exponentials up to each element."""
    return lm.logcumsumexp(*_flat(_in_dtype(x, dtype), axis))


@with_second_names
def cummax(x: Tensor, axis: int | None = None, dtype: Any = "int64", name: str | None = None) -> tuple[Tensor, Tensor]:
    """The largest elements up to each, and their places."""
    values, places = lm.cummax(*_flat(x, axis))
    return values, places.astype(dtype)


@with_second_names
def cummin(x: Tensor, axis: int | None = None, dtype: Any = "int64", name: str | None = None) -> tuple[Tensor, Tensor]:
    """The smallest elements up to each, and their places."""
    values, places = lm.cummin(*_flat(x, axis))
    return values, places.astype(dtype)


def _joined(op: str, x: Tensor, axis: Any) -> tuple[Tensor, list[int]]:
    """Returns the tensor with axes joined into a last one, and the axes."""
    given = axes_of(axis)
    axes = list(range(x.ndim)) if given is None else [given] if isinstance(given, int) else list(given)
    axes = sorted(checked_axes(op, axes, x.ndim)) if x.ndim else []
    kept = [each for each in range(x.ndim) if each not in axes]
    turned = lm.permute_dims(x, tuple(kept + axes)) if x.ndim else x
    return lm.reshape(turned, (*[tuple(x.shape)[each] for each in kept], -1)), axes


def _with_axes(x: Tensor, axes: list[int], keepdim: bool) -> Tensor:
    for axis in axes if keepdim else ():
        x = lm.expand_dims(x, axis)
    return x


@with_second_names
def median(x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: str | None = None) -> Any:
    """The middle element along an axis, or of all: the mean of the two middle ones of an even number.

    Args:
        x: the elements.
        axis: the axis; None for all elements.
        keepdim: keeps the axis.
        mode: "avg", or "min" for the smaller of the two; along one axis, its place comes second then. In a row with
            numbers that are none, it is the first of these.
        name: not used.

    Raises:
        ValueError: ``mode`` is another word.
    """
    if mode not in ("avg", "min"):
        raise ValueError(f"[median] mode is 'avg' or 'min', not {mode!r}")
    if mode == "avg" and x.dtype != lm.float64:
        x = x.astype(lm.float32)
    if not x.size:
        return _of_nothing(x, axis, keepdim, mode)
    rows, axes = _joined("median", x, axis)
    order, count = lm.argsort(rows, axis=-1, stable=True), tuple(rows.shape)[-1]
    places = [order[..., (count - 1) // 2], order[..., count // 2]]
    if lm.isdtype(x.dtype, "real floating"):
        missing = lm.isnan(rows)
        first = lm.argmax(missing.astype("int32"), axis=-1)
        places = [lm.where(lm.any(missing, axis=-1), first, each) for each in places]
    return _of_middle(rows, places, axes, keepdim, mode, isinstance(axis, int))


def _of_middle(rows: Tensor, places: list[Tensor], axes: list[int], keepdim: bool, mode: str, placed: bool) -> Any:
    """Returns the middle elements of rows by the places of the two, which may be one, and in the mode "min" the place.

    Elements that equal a middle that is no mean of two different ones share its gradient, unless its place is returned.
    """
    low, high = (lm.squeeze(lm.take_along_axis(rows, lm.expand_dims(each, -1), axis=-1), -1) for each in places)
    if mode == "min" and placed:
        return _with_axes(low, axes, keepdim), _with_axes(places[0], axes, keepdim)
    if mode == "min" and not lm.isdtype(rows.dtype, "real floating"):
        return _with_axes(low, axes, keepdim)
    # The largest of equal elements has a gradient that they share.
    equal = rows == lm.expand_dims(low.detach(), -1)
    shared = lm.max(lm.where(equal, rows, lm.full_like(rows, -float("inf"))), axis=-1)
    if mode == "min":
        return _with_axes(lm.where(lm.isnan(low), low, shared), axes, keepdim)
    return _with_axes(lm.where(low == high, shared, (low + high) / 2), axes, keepdim)


def _of_nothing(x: Tensor, axis: Any, keepdim: bool, mode: str) -> Any:
    """Returns what stands for the middle where there are no elements, and for its place."""
    shape = lm.sum(x, axis=axes_of(axis), keepdims=keepdim).shape
    made = lm.full(tuple(shape), float("nan"), dtype=x.dtype)
    return (made, lm.zeros_like(made, dtype="int64")) if mode == "min" and isinstance(axis, int) else made


@with_second_names
def nanmedian(x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: str | None = None) -> Any:
    """The middle of the elements that are numbers, see :func:`median`."""
    if mode not in ("avg", "min"):
        raise ValueError(f"[nanmedian] mode is 'avg' or 'min', not {mode!r}")
    if not lm.isdtype(x.dtype, "real floating"):
        made = median(x, axis, keepdim, mode)
        return made.astype(x.dtype) if mode == "avg" else made
    if not x.size:
        return _of_nothing(x, axis, keepdim, mode)
    rows, axes = _joined("nanmedian", x, axis)
    # Numbers come first in order; the middle depends on how many there are.
    order = lm.argsort(rows, axis=-1, stable=True)
    count = lm.sum(lm.logical_not(lm.isnan(rows)).astype("int64"), axis=-1, keepdims=True)
    found = []
    for middle in (lm.clip((count - 1) // 2, min=0), lm.clip(lm.minimum(count // 2, count - 1), min=0)):
        found.append(lm.squeeze(lm.take_along_axis(order, middle, axis=-1), -1))
    return _of_middle(rows, found, axes, keepdim, mode, isinstance(axis, int))


@with_second_names
def mode(x: Tensor, axis: int = -1, keepdim: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The most frequent elements, the smallest of several, and the last places where they are."""
    if not x.ndim:
        return x.clone(), lm.zeros((), dtype="int64")
    values = lm.mode(x, axis=axis, keepdims=True)[0]
    size = tuple(x.shape)[axis]
    places = size - 1 - lm.argmax(lm.flip(x == values, axis=axis).astype("int32"), axis=axis, keepdims=True)
    return (values, places) if keepdim else (lm.squeeze(values, axis), lm.squeeze(places, axis))


def _quantile(native: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(
        x: Tensor,
        q: Any,
        axis: Any = None,
        keepdim: bool = False,
        interpolation: str = "linear",
        name: str | None = None,
    ) -> Tensor:
        rows, axes = _joined(native.__name__, x, axis)
        if isinstance(q, Tensor) and q.ndim:
            q = q.tolist()
        if isinstance(q, (list, tuple)):
            made = [_with_axes(native(rows, each, axis=-1, interpolation=interpolation), axes, keepdim) for each in q]
            return lm.stack(made)
        return _with_axes(native(rows, q, axis=-1, interpolation=interpolation), axes, keepdim)

    call.__doc__ = "The elements below which lie the shares ``q``: a number, or several along a new first axis."
    return with_second_names(call)


quantile, nanquantile = _quantile(lm.quantile), _quantile(lm.nanquantile)
quantile.__name__, nanquantile.__name__ = "quantile", "nanquantile"


def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> Tensor:
    """The sums of the diagonals of two axes."""
    return _in_own(lm.sum(lm.diagonal(x, offset=offset, axis1=axis1, axis2=axis2), axis=-1), x)


def histogram(
    input: Tensor,
    bins: int = 100,
    min: float = 0,
    max: float = 0,
    weight: Tensor | None = None,
    density: bool = False,
    name: str | None = None,
) -> Tensor:
    """The numbers of elements in bins of one size, or the sums of their weights; ``density`` makes the area 1."""
    low, high = (min, max) if min or max else (float(lm.min(input)), float(lm.max(input)))
    if low == high:
        low, high = low - 0.5, high + 0.5
    values = lm.reshape(input.detach(), (-1,)).astype(lm.float32 if input.dtype == lm.float32 else lm.float64)
    if weight is None and not density:
        return lm.histc(values, bins, low, high).astype(lm.int64)
    place = lm.clip(lm.floor((values - low) * (bins / (high - low))), 0, bins - 1).astype(lm.int64)
    inside = lm.logical_and(values >= low, values <= high)
    share = lm.ones_like(values) if weight is None else lm.reshape(weight.detach(), (-1,))
    sums = lm.index_add(lm.zeros((bins,), dtype=share.dtype), 0, place, lm.where(inside, share, lm.zeros_like(share)))
    made = sums / (lm.sum(sums) * ((high - low) / bins)) if density else sums
    return made.astype(lm.float32)
