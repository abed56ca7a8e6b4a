"""Names of variables that are not taken yet: ``fc_0.w_0``, ``fc_1.w_0``, ..."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_shared: dict[str, int] = {}


class _Counters(threading.local):
    """Number of names made so far, by key: that of all threads, or within a guard that of the guard."""

    def __init__(self) -> None:
        self.counts = _shared
        self.prefix = ""
        self.scopes: list[str] = []


_names = _Counters()


def generate(key: str) -> str:
    """Returns ``key`` with the number of earlier calls for it behind it: ``fc_0``, then ``fc_1``."""
    with _lock:
        count = _names.counts.get(key, 0)
        _names.counts[key] = count + 1
    return f"{_names.prefix}{key}_{count}"


def switch(counts: dict[str, int] | None = None) -> dict[str, int]:
    """Begins to count anew, or goes on with ``counts``; returns the counts until now."""
    before, _names.counts = _names.counts, {} if counts is None else counts
    return before


@contextlib.contextmanager
def guard(new_generator: str | dict[str, int] | None = None) -> Iterator[None]:
    """Counts anew within the scope: two networks that are built in two such scopes have parameters of the same names.

    Args:
        new_generator: a text with which all names of the scope begin, or counts to go on with.
    """
    if not isinstance(new_generator, (str, dict, type(None))):
        raise TypeError(f"[unique_name.guard] new_generator is a str, not {type(new_generator).__name__}")
    prefix = _names.prefix
    before = switch(new_generator if isinstance(new_generator, dict) else None)
    _names.prefix = new_generator if isinstance(new_generator, str) else ""
    try:
        yield
    finally:
        _names.prefix = prefix
        switch(before)


@contextlib.contextmanager
def name_scope(prefix: str) -> Iterator[None]:
    """Puts ``prefix`` before the names of the nodes that are made within the scope; variables keep theirs.

    Raises:
        TypeError: ``prefix`` is not text.
        ValueError: ``prefix`` is empty.
    """
    if not isinstance(prefix, str):
        raise TypeError(f"[name_scope] prefix is a str, not {type(prefix).__name__}")
    if not prefix:
        raise ValueError("[name_scope] prefix is empty")
    _names.scopes.append(prefix)
    try:
        yield
    finally:
        _names.scopes.pop()


def node_name(key: str) -> str:
    """Returns a new name of a node, with the scopes around it before it."""
    return "/".join([*_names.scopes, generate(key)])
