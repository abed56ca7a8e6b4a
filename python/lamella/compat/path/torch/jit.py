"""Scripts and traces. A function or module is its own script here: ``torch.compile`` makes it run as a graph."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple  # noqa: F401

from lamella.compat.front import close_module
from lamella.nn import Module

from . import serialization

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


class Error(RuntimeError):
    """A script that fails, which no function does here for being one."""


class TracerWarning(Warning):
    """A warning of traces, which no function gives here."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Does nothing: there are none."""


def _overload(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that says what types another of its name takes."""
    return func


_overload_method = _overload


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


def annotate(the_type: Any, the_value: Any) -> Any:
    """Returns the value itself."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """True if an object is of a type, or of one of several."""
    return builtins.isinstance(obj, target_type)


class Attribute(NamedTuple):
    """A value with the type that a script gives it."""

    value: Any
    type: Any


class strict_fusion(contextlib.nullcontext[None]):  # noqa: N801 (PyTorch's name)
    """Changes nothing."""


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns ``fn`` itself."""
    return fn


def trace_module(mod: Module, inputs: Any, *args: Any, **kwargs: Any) -> Module:
    """Returns ``mod`` itself."""
    return mod


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Writes a module with its class's name, so that a program that has the class can load it.

    See :func:`lamella.graph.record` for files that need no Python code.
    """
    serialization.save(m, f)


def _save(self: Module, f: Any, _extra_files: Any = None) -> None:
    """Implements the method of scripts and traces: see :func:`save`."""
    save(self, f)


_module: Any = Module
if not hasattr(_module, "save"):
    _module.save = _save


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> Any:
    """Reads a module that :func:`save` wrote."""
    return serialization.load(f, map_location=map_location, weights_only=False)


__getattr__ = close_module(__name__)
