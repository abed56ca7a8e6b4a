"""Attributes of tensors that recorders look at, and those in C that a front has replaced."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from lamella._C import Tensor


class Handler(Protocol):
    """Sees what a thread does with tensors."""

    def special(self, name: str, original: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Takes a call of a special method, or of "get NAME" and "set NAME"; NotImplemented leaves it as it is."""


#: The handler of each thread.
local = threading.local()
#: By name, what the class of tensors had before.
replaced: dict[str, Any] = {}


def replace(name: str, value: Any) -> Any:
    """Gives tensors another attribute in the place of one in C, and returns that one."""
    native = replaced.setdefault(name, vars(Tensor)[name])
    setattr(Tensor, name, value)
    return native


def _call(name: str, original: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    handler: Handler | None = getattr(local, "handler", None)
    result = NotImplemented if handler is None else handler.special(name, original, args, kwargs)
    return original(*args, **kwargs) if result is NotImplemented else result


@functools.cache
def watched(name: str, original: Any) -> Any:
    """Returns a method or property that asks the thread's handler first, if there is one."""
    if hasattr(type(original), "__set__"):
        return property(
            lambda x: _call("get " + name, original.__get__, (x,), {}),
            lambda x, value: _call("set " + name, original.__set__, (x, value), {}),
        )

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        return _call(name, original, args, kwargs)

    return method


def watch(names: Iterable[str]) -> None:
    """Makes attributes in C ask handlers at all times, before a front wraps them in methods of its own."""
    for name in names:
        setattr(Tensor, name, watched(name, vars(Tensor)[name]))
