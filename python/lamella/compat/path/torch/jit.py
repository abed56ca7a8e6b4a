"""Scripts and traces. A function or module is its own script here: ``torch.compile`` makes it run as a graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from lamella.compat.front import close_module
from lamella.nn import Module

ScriptModule = Module


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns ``obj`` itself."""
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Returns ``func`` itself."""
    return func


def freeze(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns ``mod`` itself."""
    return mod


def optimize_for_inference(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns ``mod`` itself."""
    return mod


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns ``fn`` itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Returns a function itself."""
    return drop if callable(drop) else lambda function: function


unused = export = ignore


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls ``func`` at once; :func:`wait` gives its result."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """Returns what :func:`fork` returned."""
    return future


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Any:
    """Changes nothing."""
    yield


__getattr__ = close_module(__name__)
