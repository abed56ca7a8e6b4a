"""Sizes of tensors as PyTorch has them."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm

_item = tuple.__getitem__
_joined = tuple.__add__
_new: Any = tuple.__new__


class Size(tuple[int, ...]):
    """The sizes of a tensor's axes, a tuple. Parts of it, and what is joined to it, are sizes, too."""

    __slots__ = ()
    __module__ = "torch"
    #: ``torch.Tensor(x.shape)`` is a tensor of the shape, and not of the sizes as data.
    stands_for_sizes = True

    def numel(self) -> int:
        """Returns the number of elements."""
        return math.prod(self)

    def __getitem__(self, index: Any) -> Any:
        found = _item(self, index)
        return found if index.__class__ is int else _of(found)

    def __add__(self, other: Any) -> Any:
        return _of(_joined(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return _of(_joined(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return _of(tuple(self) * times)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"{self.__module__}.Size({list(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


def _of(found: Any) -> Any:
    return _new(Size, found) if isinstance(found, tuple) else found


def shape_of(native: Any) -> property:
    """Returns the property of tensors that gives their sizes, from the native one."""
    get = native.__get__

    def shape(self: lm.Tensor) -> Size:
        """The sizes of the axes."""
        made: Size = _new(Size, get(self))
        return made

    return property(shape)
