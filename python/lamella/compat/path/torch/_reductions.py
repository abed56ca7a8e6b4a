"""PyTorch's reductions and orders, which return values with their places where an axis is named."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor

from . import _functions as F  # noqa: N812
from . import _underivable
from ._node_names import noting
from ._warnings import warn
from ._words import with_numpy_words
from ._writing import written
from .return_types import CLASSES


def _axes(dim: Any) -> Any:
    """Axes as Lamella takes them: no axes at all are all of them."""
    return (tuple(dim) or None) if isinstance(dim, (list, tuple)) else dim


def sum_dtype(x: Tensor, dtype: Any) -> Any:
    """The dtype of sums and products: int64 for small unsigned integers, too, where the array API has uint64."""
    return lm.int64 if dtype is None and x.dtype in F.UNSIGNED else dtype


@with_numpy_words
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The sum along axes, or of all elements."""
    return lm.sum(input, _axes(dim), keepdim, dtype=sum_dtype(input, dtype), out=out)


@with_numpy_words
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The sum of what is not NaN along axes, or of all elements."""
    return written(lm.nansum(input, _axes(dim), keepdim, dtype=sum_dtype(input, dtype)), out)


@with_numpy_words
def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The product along an axis, or of all elements."""
    return written(lm.prod(input, dim, keepdim, dtype=sum_dtype(input, dtype)), out)


@with_numpy_words
def cumsum(input: Tensor, dim: int, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The sums of an element and those before it along an axis."""
    return written(lm.cumsum(input, dim, dtype=sum_dtype(input, dtype)), out)


@with_numpy_words
def cumprod(input: Tensor, dim: int, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The products of an element and those before it along an axis."""
    return written(lm.cumprod(input, dim, dtype=sum_dtype(input, dtype)), out)


def _along_axes(name: str, native: Callable[..., Tensor], doc: str) -> Callable[..., Any]:
    """Returns a reduction along axes, or of all elements where none or no axes at all are named."""

    def call(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
        found: Tensor = written(native(input, axis=_axes(dim), keepdims=keepdim), out)
        return found

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return with_numpy_words(call)


amax = _along_axes("amax", lm.max, "The largest element along axes, or of all.")
amin = _along_axes("amin", lm.min, "The least element along axes, or of all.")
nanmean = _along_axes("nanmean", lm.nanmean, "The mean of what is not NaN along axes, or of all elements.")
logsumexp = _along_axes("logsumexp", lm.logsumexp, "The logarithm of sums of exponentials along axes, or of all.")


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """The number of elements that are not 0 along axes, or of all."""
    return lm.count_nonzero(input, axis=_axes(dim))


def _truths(input: Tensor, dim: Any) -> Any:
    """Returns the truth of each element where no axes at all are named, and None elsewhere."""
    if not isinstance(dim, (tuple, list)) or dim:
        return None
    return (input != 0).astype(lm.uint8 if input.dtype == lm.uint8 else lm.bool)


@with_numpy_words
def all(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """True where all elements along axes, or at all, are: uint8 for uint8, else bool."""
    if (each := _truths(input, dim)) is not None:
        return written(each, out)
    found = lm.all(input, _axes(dim), keepdim)
    return written(found.astype(lm.uint8) if input.dtype == lm.uint8 else found, out)


@with_numpy_words
def any(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """True where an element along axes, or at all, is: uint8 for uint8, else bool."""
    if (each := _truths(input, dim)) is not None:
        return written(each, out)
    found = lm.any(input, _axes(dim), keepdim)
    return written(found.astype(lm.uint8) if input.dtype == lm.uint8 else found, out)


@functools.partial(noting, "mean")
@with_numpy_words
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The mean along axes, or of all elements."""
    x = input if dtype is None else input.astype(dtype)
    _refuse_integers("mean", x)
    return lm.mean(x, _axes(dim), keepdim, out=out)


def _refuse_integers(name: str, x: Tensor) -> None:
    if not F.is_inexact(x.dtype):
        raise NotImplementedError(f"[{name}] takes floating or complex numbers, not {x.dtype.name}: write x.float()")


def _extremum(
    name: str, native: Callable[..., Tensor], place: Callable[..., Tensor], pairwise: Callable[..., Tensor]
) -> Callable[..., Any]:
    results = CLASSES[name]

    def call(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
        if dim is None and other is None:
            return written(native(input), out)
        if other is not None or isinstance(dim, Tensor):
            return written(pairwise(input, dim if other is None else other), out)
        indices = place(input, axis=dim, keepdims=keepdim)
        return written(results((_at(input, indices, dim, keepdim), indices)), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The {name}imum of all elements; along an axis, with its place; or of two tensors, elementwise."
    return call


def _at(input: Tensor, indices: Tensor, dim: int, keepdim: bool) -> Tensor:
    """Returns the elements at places along an axis: the gradient goes to them alone."""
    if input.ndim == 0:
        return input
    places = indices if keepdim else lm.expand_dims(indices, dim)
    found = lm.take_along_axis(input, places, axis=dim)
    return found if keepdim else lm.squeeze(found, dim)


max = noting("max", with_numpy_words(_extremum("max", lm.max, lm.argmax, lm.maximum)))
min = noting("min", with_numpy_words(_extremum("min", lm.min, lm.argmin, lm.minimum)))


def _of_nothing(input: Tensor) -> Tensor:
    """Returns the median of no elements: NaN, or the least number of the dtype."""
    value = math.nan if F.is_inexact(input.dtype) else lm.iinfo(input.dtype).min
    return lm.full((), value, dtype=input.dtype, device=input.device)


def _shared(input: Tensor, value: Tensor) -> Tensor:
    """Returns a value that is found among elements, whose gradient those share that equal it."""
    if not value.requires_grad or not F.is_inexact(input.dtype):
        return value
    same = (input == value) | (lm.isnan(input) & lm.isnan(value))
    return amax(lm.where(same, input, -math.inf))  # type: ignore[no-any-return]


@with_numpy_words
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the middle elements, or NaN where there is one; along an axis, with its place."""
    if dim is None:
        return _of_nothing(input) if input.size == 0 else _shared(input, lm.median(input))
    count = input.shape[dim] if input.ndim else 1
    found = lm.kthvalue(input, (count + 1) // 2, axis=dim, keepdims=keepdim)
    if not lm.isdtype(input.dtype, "real floating") or not input.ndim:
        return CLASSES["median"](found)
    unordered = lm.isnan(input)
    first = lm.argmax(unordered.astype(lm.uint8), axis=dim, keepdims=keepdim)
    indices = lm.where(lm.any(unordered, axis=dim, keepdims=keepdim), first, found[1])
    return CLASSES["median"]((_at(input, indices, dim, keepdim), indices))


@with_numpy_words
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the middle elements that are numbers; along an axis, with its place."""
    if dim is None:
        return _of_nothing(input) if input.size == 0 else _shared(input, lm.nanmedian(input))
    if input.ndim == 0:
        return CLASSES["nanmedian"]((lm.nanmedian(input), lm.zeros([], dtype=lm.int64)))
    values = lm.nanmedian(input, axis=dim, keepdims=True)
    indices = lm.argmax((input == values).astype(lm.uint8), axis=dim, keepdims=True)
    indices = indices if keepdim else lm.squeeze(indices, dim)
    return CLASSES["nanmedian"]((_at(input, indices, dim, keepdim), indices))


@with_numpy_words
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along an axis, the least of several, and its last place."""
    values = lm.mode(input, axis=dim, keepdims=True)[0]
    if input.ndim == 0:
        return CLASSES["mode"]((values, lm.zeros((), dtype=lm.int64)))
    from_the_end = lm.argmax(lm.flip(input == values, axis=dim).astype(lm.uint8), axis=dim, keepdims=True)
    indices = input.shape[dim] - 1 - from_the_end
    indices = indices if keepdim else lm.squeeze(indices, dim)
    return CLASSES["mode"]((_at(input, indices, dim, keepdim), indices))


@functools.partial(noting, "sort")
@with_numpy_words
def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    """The elements in order along an axis, with their places. Equal ones keep theirs."""
    if input.ndim == 0:
        return CLASSES["sort"]((input, lm.zeros((), dtype=lm.int64)))
    indices = lm.argsort(input, axis=dim, descending=descending)
    return CLASSES["sort"]((lm.take_along_axis(input, indices, axis=dim), indices))


def msort(input: Tensor) -> Tensor:
    """The elements in order along the first axis."""
    return lm.sort(input, axis=0)


def _spread(native: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(
        input: Tensor,
        dim: Any = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: float | None = None,
        out: Any = None,
    ) -> Any:
        if isinstance(dim, bool):  # var(input, unbiased)
            dim, unbiased = None, dim
        _refuse_integers(name, input)
        less = (1 if unbiased is None else int(unbiased)) if correction is None else correction
        found = native(input, axis=_axes(dim), correction=less, keepdims=keepdim)
        results = (found[0] if isinstance(found, tuple) else found).size
        if results > 0 and 0 <= input.size // results <= less:
            warn(f"[{name}] of {input.size // results} elements, less the correction {less}, is not defined")
        return written(tuple(found) if isinstance(found, tuple) else found, out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name}() of all elements or along axes: divided by their number less 1, unless said otherwise."
    return call


var = with_numpy_words(_spread(lm.var, "var"))
std = with_numpy_words(_spread(lm.std, "std"))
var_mean = with_numpy_words(_spread(lm.var_mean, "var_mean"))
std_mean = with_numpy_words(_spread(lm.std_mean, "std_mean"))


@with_numpy_words
def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm of all elements, or along axes; "fro" is the Euclidean one."""
    x = input if dtype is None else input.astype(dtype)
    if p == "nuc":
        axes = tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
        if len(axes) != 2:
            raise RuntimeError(f"[norm] the nuclear norm is one of matrices: dim names two axes, not {axes}")
        made = lm.linalg.matrix_norm(lm.moveaxis(x, axes, (-2, -1)), ord="nuc")
        return lm.expand_dims(made, tuple(axis % x.ndim for axis in axes)) if keepdim else made
    return lm.linalg.vector_norm(x, axis=_axes(dim), keepdims=keepdim, ord=2 if p in ("fro", None) else p)


def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum of the singular values of matrices, along the axes of ``dim``."""
    return norm(input, "nuc", dim, keepdim)


def frobenius_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The Euclidean norm along axes, or of all elements."""
    return norm(input, "fro", dim, keepdim)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Any:
    """The norms along all axes but one, which keep their places; along all for -1."""
    if dim == -1:
        return norm(v, pow)
    return norm(v, pow, tuple(axis for axis in range(v.ndim) if axis != dim), True)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The places of elements that are not 0: a matrix with a row for each, or a tensor for each axis."""
    if as_tuple:
        return tuple(lm.nonzero(lm.atleast_1d(input)))
    return lm.argwhere(input) if input.ndim else lm.zeros((int(bool(input)), 0), dtype=lm.int64, device=input.device)


@with_numpy_words
@functools.partial(_underivable.refusing, "unique")
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """The distinct elements, or slices along an axis, in order."""
    return lm.unique(input, return_inverse=return_inverse, return_counts=return_counts, axis=dim)


def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Tensor:
    """The places at which elements would be inserted to keep a sequence in order."""
    values = input
    if not isinstance(input, Tensor):
        whole = isinstance(input, float) and not F.is_inexact(sorted_sequence.dtype)
        values = lm.asarray(input, dtype=lm.float64 if whole else sorted_sequence.dtype)
    found = lm.searchsorted(sorted_sequence, values, side=side or ("right" if right else "left"), sorter=sorter)
    return found.astype(lm.int32) if out_int32 else found


def histogramdd(input: Tensor, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """The numbers of points in boxes, and the edges of these along each axis."""
    found = lm.histogramdd(input, bins, range=range, weights=weight, density=density)
    return CLASSES["histogramdd"]((found[0], tuple(found[1:]) if isinstance(found[1], Tensor) else tuple(found[1])))


def histogram(input: Tensor, bins: Any = 10, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """The numbers of elements in bins, and the edges of these."""
    if range is not None and range[0] == range[1]:  # a bin around the number
        range = (range[0] - 0.5, range[1] + 0.5)
    return CLASSES["histogram"](lm.histogram(input, bins, range=range, weights=weight, density=density))
