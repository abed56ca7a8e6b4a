"""Ranges that NVIDIA's tools show; nothing is sent to them, and Lamella's profiler has a range as a block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from lamella.compat.front import close_module

_open: list[str] = []


def range_push(msg: str) -> int:
    """Begins a range; returns how many there are around it."""
    _open.append(msg)
    return len(_open) - 1


def range_pop() -> int:
    """Ends the innermost range; returns how many are left around it, -1 where there is none."""
    if not _open:
        return -1
    _open.pop()
    return len(_open)


def mark(msg: str) -> None:
    """Does nothing."""


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Is a range from the beginning of a ``with`` block to its end, whose text is formatted with the arguments."""
    from ..profiler import record_function

    with record_function(msg.format(*args, **kwargs)):
        yield


__getattr__ = close_module(__name__)
