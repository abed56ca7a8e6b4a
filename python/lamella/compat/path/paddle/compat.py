"""Functions as PyTorch has them, where Paddle's of the same name take or give something else."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module

from ._functions import copies
from ._reductions import median as _median
from ._reductions import nanmedian as _nanmedian

__all__ = ["equal", "max", "median", "min", "nanmedian", "seed", "slogdet", "sort", "split", "unique"]


class SortRetType(NamedTuple):
    """Sorted elements, and where they come from."""

    values: Tensor
    indices: Tensor


class MinMaxRetType(NamedTuple):
    """The largest or least elements along an axis, and where the first of each is."""

    values: Tensor
    indices: Tensor


class MedianRetType(NamedTuple):
    """Medians along an axis, and where they are."""

    values: Tensor
    indices: Tensor


class SlogdetResult(NamedTuple):
    """Signs of determinants, and the logarithms of their magnitudes."""

    sign: Tensor
    logabsdet: Tensor


def _given(made: Any, out: Any) -> Any:
    """Returns results, written into ``out`` where it is given."""
    if out is None:
        return made
    if isinstance(made, Tensor):
        return out.copy_(made)
    return type(made)(*(into.copy_(each) for into, each in zip(out, made, strict=True)))


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, out: Any = None) -> SortRetType:
    """Returns the elements in order along an axis, and where they come from."""
    places = lm.argsort(input, axis=dim, descending=descending)
    made: SortRetType = _given(SortRetType(lm.take_along_axis(input, places, axis=dim), places), out)
    return made


def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Returns parts of one size, of which the last may be smaller, or of the sizes that are listed.

    Raises:
        ValueError: a size is below 0, or the sizes are not those of the axis together.
    """
    length = int(tuple(tensor.shape)[dim])
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 0 or (size == 0 and length):
            raise ValueError(f"[split] split_size_or_sections is above 0, not {size}")
        starts = range(0, length, size) if length else [0]
        sizes = [size if start + size <= length else length - start for start in starts]
    else:
        sizes = [int(size) for size in split_size_or_sections]
        total = 0
        for size in sizes:
            total += size
        if total != length or any(size < 0 for size in sizes):
            raise ValueError(f"[split] the sizes {sizes} do not add up to {length}, the length of axis {dim}")
    return tuple(copies(lm.split(tensor, sizes, axis=dim)))


def _extreme(name: str, reduce: Callable[..., Any], place: Callable[..., Any], pairs: Callable[..., Any]) -> Any:
    def function(input: Tensor, *args: Any, out: Any = None, **named: Any) -> Any:
        unknown = set(named) - {"dim", "keepdim", "other"}
        if unknown:
            raise TypeError(f"[{name}] takes dim, keepdim and other, not {', '.join(sorted(unknown))}")
        words = ("other",) if args and isinstance(args[0], Tensor) else ("dim", "keepdim")
        given = dict(zip(words, args, strict=False)) | named
        if len(args) > len(words):
            raise TypeError(f"[{name}] takes {len(words) + 1} arguments by place at most, not {len(args) + 1}")
        if "other" in given:
            return _given(pairs(input, given["other"]), out)
        if given.get("dim") is None:
            return _given(reduce(input), out)
        axis, keep = given["dim"], bool(given.get("keepdim", False))
        if not input.ndim:
            return _given(MinMaxRetType(input.clone(), lm.zeros((), dtype=lm.int64)), out)
        places = place(input, axis=axis, keepdims=True)
        values = lm.take_along_axis(input, places, axis=axis)
        made = (values, places) if keep else (lm.squeeze(values, axis), lm.squeeze(places, axis))
        return _given(MinMaxRetType(*made), out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Returns the {name}imum of all elements; along ``dim`` with places; of two tensors, ``other`` being one."
    )
    return function


min = _extreme("min", lm.min, lm.argmin, lm.minimum)
max = _extreme("max", lm.max, lm.argmax, lm.maximum)


def _middle(name: str, native: Callable[..., Any]) -> Any:
    def function(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
        if dim is None:
            return _given(native(input, mode="min"), out)
        return _given(MedianRetType(*native(input, axis=dim, keepdim=keepdim, mode="min")), out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Returns the median of all elements, the lower one of two; along ``dim`` with places."
    return function


median, nanmedian = _middle("median", _median), _middle("nanmedian", _nanmedian)


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Returns the elements that differ, or the slices along ``dim``, in order.

    On request where each element is among them follows, and how often each occurs.
    """
    from ._more import unique as native

    return native(input, return_inverse=return_inverse, return_counts=return_counts, axis=dim)


def equal(input: Tensor, other: Tensor) -> bool:
    """True if two tensors have one shape and the same elements."""
    return tuple(input.shape) == tuple(other.shape) and bool(lm.all(input == other))


def slogdet(x: Tensor, out: Any = None) -> SlogdetResult:
    """Returns the signs of determinants, and the logarithms of their magnitudes."""
    made: SlogdetResult = _given(SlogdetResult(*lm.linalg.slogdet(x)), out)
    return made


def seed() -> int:
    """Seeds the default generators with a number that is drawn, and returns it."""
    drawn = secrets.randbits(48)
    lm.seed(drawn)
    return drawn


__getattr__ = close_module(__name__)
