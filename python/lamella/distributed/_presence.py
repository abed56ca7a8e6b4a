"""Gives a thread the recorder of global tensors while it has any."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lamella import _C

if TYPE_CHECKING:
    from ._dispatch import Dispatcher

_thread = threading.local()


@functools.cache
def recorder() -> Dispatcher:
    """Returns what sees the calls of threads with global tensors."""
    from ._dispatch import Dispatcher

    return Dispatcher()


class Token:
    """Held by each global tensor: the thread has the recorder while there is one."""

    __slots__ = ("_owner",)

    def __init__(self) -> None:
        self._owner = _thread.__dict__
        count = self._owner.get("live", 0)
        self._owner["live"] = count + 1
        if count == 0 and _C._recorder() is None and not self._owner.get("busy", 0):
            _C._set_recorder(recorder())

    def __del__(self) -> None:
        self._owner["live"] -= 1
        if self._owner["live"] == 0 and self._owner is _thread.__dict__ and _C._recorder() is recorder():
            _C._set_recorder(None)


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Has this thread's calls seen, on a thread that has no global tensors of its own."""
    if _C._recorder() is not None:
        yield
        return
    _C._set_recorder(recorder())
    try:
        yield
    finally:
        _C._set_recorder(None)


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """Keeps global tensors made meanwhile from giving the thread its recorder, which the engine puts back itself."""
    _thread.__dict__["busy"] = _thread.__dict__.get("busy", 0) + 1
    try:
        yield
    finally:
        _thread.__dict__["busy"] -= 1


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """Takes the recorder away, as the engine does while it works."""
    before = _C._set_recorder(None)
    try:
        with busy():
            yield
    finally:
        _C._set_recorder(before)
