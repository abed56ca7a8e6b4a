"""Sizes that a compiler does not know yet: programs ask whether a number is one, and here none is."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any

from ._stand_ins import Uninhabited


class SymInt(metaclass=Uninhabited):
    """An integer that is not known yet."""


class SymFloat(metaclass=Uninhabited):
    """A number that is not known yet."""


class SymBool(metaclass=Uninhabited):
    """A truth value that is not known yet."""


def sym_int(a: Any) -> int:
    """Returns a number rounded towards 0."""
    return math.trunc(a)


def sym_float(a: Any) -> float:
    """Returns a number as a float."""
    return builtins.float(a)


def sym_not(a: Any) -> bool:
    """True if ``a`` is false."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """Returns the larger number; a float where one of them is one."""
    larger = builtins.max(a, b)
    return builtins.float(larger) if isinstance(a, builtins.float) or isinstance(b, builtins.float) else larger


def sym_min(a: Any, b: Any) -> Any:
    """Returns the smaller number; a float where one of them is one."""
    smaller = builtins.min(a, b)
    return builtins.float(smaller) if isinstance(a, builtins.float) or isinstance(b, builtins.float) else smaller


def sym_sum(args: Iterable[Any]) -> Any:
    """Returns the sum of numbers."""
    return builtins.sum(args)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Returns ``t`` if ``b`` is true, else ``f``."""
    return t if b else f
