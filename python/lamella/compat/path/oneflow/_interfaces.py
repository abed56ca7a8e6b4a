"""Functions that jobs and the eager interface have under one name, with other parameters."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def _never(arguments: Mapping[str, Any]) -> bool:
    return False


def also_eager(is_eager: Callable[[Mapping[str, Any]], bool] = _never) -> Callable[[_F], _F]:
    """Makes a function of jobs take calls of the eager function of its name: those that do not fit its parameters.

    Args:
        is_eager: is told the arguments by name, of calls that do fit them: True if they mean the eager function.
    """

    def decorate(function: _F) -> _F:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return _eager(function.__name__)(*args, **kwargs)
            if is_eager(bound.arguments):
                return _eager(function.__name__)(*args, **kwargs)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def _eager(name: str) -> Callable[..., Any]:
    for home in ("oneflow._eager", "torch"):
        found = getattr(importlib.import_module(home), name, None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    raise TypeError(f"[{name}] the arguments are not those of the function")
