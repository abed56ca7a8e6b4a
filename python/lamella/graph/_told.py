"""Sizes in values of a graph: what is known of the elements of a vector that was made of a shape."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from lamella import _C

#: A number or a size that is known later, or a list of them.
Sizes: TypeAlias = Any

#: Operators of numbers, and what they are in Python.
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "lamella::add": operator.add,
    "lamella::subtract": operator.sub,
    "lamella::multiply": operator.mul,
    "lamella::floor_divide": operator.floordiv,
    "lamella::remainder": operator.mod,
}


class Told:
    """Follows the sizes in values of a graph, through subscripts, casts and arithmetic, until something is written."""

    def __init__(self) -> None:
        self._sizes: dict[int, Sizes] = {}

    def find(self, id_: int) -> Sizes | None:
        """Returns the sizes that the elements of a value are: those of a vector in a list; None for other values."""
        found = self._sizes.get(id_)
        return list(found) if isinstance(found, list) else found

    def tell(self, id_: int, sizes: Sizes) -> None:
        """Notes the sizes that the elements of a value are."""
        self._sizes[id_] = sizes

    def forget(self) -> None:
        """Drops everything, as an operator writes integers, maybe to one of the values through a view."""
        self._sizes.clear()

    def subscript(self, x: Any, key: Any, result: Any) -> None:
        """Notes what one element of a vector is, or some in a row."""
        sizes = sizes_in(x)
        bounds = [key.start, key.stop, key.step] if isinstance(key, slice) else [key]
        if isinstance(sizes, list) and key is not None and all(each is None or type(each) is int for each in bounds):
            self._sizes[result._id] = sizes[key]

    def computed(self, op: str, arguments: Sequence[Any], result: Any) -> None:
        """Notes what an operator makes of sizes."""
        if not _C.isdtype(result.dtype, "integral"):
            return
        given = [sizes_in(x) for x in arguments[:2]]
        if op in ("lamella::astype", "lamella::clone") and given[0] is not None:
            self._sizes[result._id] = given[0]
        elif op in _ARITHMETIC and all(type(x) is int or hasattr(x, "known_later") for x in given):
            with contextlib.suppress(ZeroDivisionError):
                self._sizes[result._id] = _ARITHMETIC[op](*given)


def sizes_in(value: Any) -> Sizes | None:
    """Returns an integer, or the sizes that the elements of a value of a graph are; None for anything else."""
    if type(value) is int:
        return value
    return value._graph._told.find(value._id) if hasattr(value, "_graph") else None
