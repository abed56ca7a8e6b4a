"""Second names of parameters, and axes that are checked."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

#: What PyTorch calls Paddle's parameters, which Paddle takes as well.
_SECOND = {"input": "x", "dim": "axis"}


def with_second_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that takes ``input`` for ``x``, and ``dim`` for ``axis``, as well."""
    own = inspect.signature(function).parameters
    names = {second: first for second, first in _SECOND.items() if first in own and second not in own}

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        for second in names.keys() & named.keys():
            if names[second] in named:
                raise TypeError(f"[{function.__name__}] got both '{names[second]}' and '{second}'")
            named[names[second]] = named.pop(second)
        return function(*args, **named)

    return call


def checked_axes(op: str, axes: Any, ndim: int) -> list[int]:
    """Returns axes counted from the front.

    Raises:
        ValueError: there is no such axis, or one is named twice.
    """
    listed = [int(each) for each in axes]
    if any(not -ndim <= each < ndim for each in listed):
        raise ValueError(f"[{op}] the tensor has {ndim} axes, among which are not all of {listed}")
    found = [each % ndim for each in listed]
    if len(set(found)) < len(found):
        raise ValueError(f"[{op}] the axes {listed} name one twice")
    return found
