"""Sizes that layers are given: ints, and what counts as one, such as numpy's."""

from __future__ import annotations

import operator
from typing import Any


def is_int(value: Any) -> bool:
    """True of what can be an index (an int, numpy's ints, a tensor of one), but a bool."""
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except (TypeError, ValueError):
        return False
    return True


def as_int(owner: str, name: str, value: Any) -> int:
    """Returns a size as an int.

    Raises:
        TypeError: ``value`` is no int, with the names of the layer ``owner`` and of its argument.
    """
    if not is_int(value):
        raise TypeError(f"[{owner}] {name} is an int, not {type(value).__name__}")
    return operator.index(value)
