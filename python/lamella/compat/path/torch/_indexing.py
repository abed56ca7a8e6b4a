"""Indices as PyTorch's programs mean them, where they mean something else natively."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any

import lamella as lm
from lamella import _C, Tensor

#: Types of indices that mean the same natively.
_PLAIN = frozenset({int, slice, type(None), type(...)})
#: Lists of so many items are always one index.
_MOST_PARTS = 32


def indexed(native: Callable[..., Any]) -> Callable[..., Any]:
    """Returns ``__getitem__`` or ``__setitem__`` of tensors with PyTorch's indices.

    A list of lists, tensors or slices has an index for each axis, as a tuple has, where natively it is one array. A
    tensor of ``uint8`` is a mask. An integer without axes selects a view, so that what is written into the result is
    written into the tensor. Integers select before arrays do, which decides the order of the result's axes:
    ``x[0, :, [1, 2]]`` is ``x[0][:, [1, 2]]``, where numpy has the axis of the array in front. A range is a list of
    numbers. A tensor that is assigned may have more axes than its place: those of size 1 in front are dropped.
    """

    def method(self: Tensor, index: Any, *value: Any) -> Any:
        kind = type(index)
        if kind is tuple:
            for part in index:
                if type(part) not in _PLAIN:
                    index = tuple(map(_meant, index))
                    self, index = _selected(self, index)
                    break
        elif kind not in _PLAIN:
            if kind is list and _is_tuple(index):
                return method(self, tuple(index), *value)
            index = _meant(index)
        try:
            return native(self, index, *value)
        except ValueError as error:
            if str(error).startswith("[index] shapes"):  # of indices, which do not fit to one another
                raise IndexError(str(error)) from None
            if not value or not isinstance(value[0], Tensor) or value[0].shape[:1] != (1,):
                raise
            return method(self, index, lm.squeeze(value[0], 0))
        except TypeError as error:
            if any(isinstance(part, (float, Tensor)) for part in (index if isinstance(index, tuple) else (index,))):
                raise IndexError(str(error)) from None
            raise

    return functools.wraps(native)(method)


def _is_tuple(index: list[Any]) -> bool:
    """True for a list that stands for a tuple: a short one with an item that is no number."""
    if len(index) >= _MOST_PARTS:
        return False
    return any(part is ... or isinstance(part, (slice, type(None))) or hasattr(type(part), "__len__") for part in index)


def _selected(x: Tensor, index: tuple[Any, ...]) -> tuple[Tensor, tuple[Any, ...]]:
    """Returns the tensor and the rest of an index once its integers have selected, where the order of axes asks for it.

    Natively integers are arrays where there is one. The axis of arrays stands where they do if no slice is between
    them, and in front elsewhere.
    """
    kinds = [_kind(part) for part in index]
    picked = [place for place, kind in enumerate(kinds) if kind != "basic"]
    if "number" not in kinds or "array" not in kinds or picked[-1] - picked[0] == len(picked) - 1:
        return x, index
    first: list[Any] = []
    for part, kind in zip(index, kinds, strict=True):
        if kind == "array":
            first += [slice(None)] * _axes_of(part)
        elif part is not None:
            first.append(part if kind == "number" or part is ... else slice(None))
    rest = tuple(part for part, kind in zip(index, kinds, strict=True) if kind != "number")
    return _native_get(x, tuple(first)), rest


_native_get: Any = Tensor.__getitem__


def _kind(part: Any) -> str:
    if part is None or part is ... or isinstance(part, slice):
        return "basic"
    if isinstance(part, int):
        return "array" if isinstance(part, bool) else "number"
    return "array"


def _axes_of(part: Any) -> int:
    """Returns the number of axes that an array among indices stands for: those of a mask, or one."""
    if isinstance(part, bool):
        return 0
    array = part if isinstance(part, Tensor) else lm.asarray(part)
    return array.ndim if array.dtype == lm.bool else 1


def _meant(part: Any) -> Any:
    """Returns one index as it is written natively."""
    if isinstance(part, Tensor):
        dtype = part.dtype
        if dtype == lm.uint8:
            return _mask(part)
        if part.ndim == 0 and lm.isdtype(dtype, "integral"):
            return _number(part)
    elif isinstance(part, range):
        return list(part)
    elif isinstance(part, Integral) and not isinstance(part, bool):  # of numpy
        return int(part)
    elif getattr(part, "dtype", None) == "uint8":  # an array
        return _mask(lm.asarray(part))
    return part


def as_masks(indices: Any) -> Any:
    """Returns the list of a tensor's indices, in which those of uint8 are masks."""
    return [_mask(x) if isinstance(x, Tensor) and x.dtype == lm.uint8 else x for x in indices]


def _mask(x: Tensor) -> Tensor:
    warnings.warn("[index] a tensor of uint8 is taken as a mask: write x.bool(), or x.long() for places", stacklevel=4)
    return x.astype(lm.bool)


def _number(x: Tensor) -> Any:
    """Returns the number of a tensor without axes, or the tensor where its number is not to be read.

    What is recorded would keep the number of one run; under ``vmap`` there is one for each example.
    """
    if x.device == "meta" or _C._recorder() is not None:
        return x
    try:
        return int(x)
    except RuntimeError:
        return x
