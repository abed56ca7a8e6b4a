"""Scripts and traces. A function or module is its own script here: ``torch.compile`` makes it run as a graph."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union  # noqa: F401, UP035

from lamella.compat.front import add_paths, close_module
from lamella.nn import Module

from . import serialization


class ScriptModule(Module):
    """The class of modules that are compiled; modules that :func:`script` returns are of their own class."""


RecursiveScriptModule = ScriptModule


class ScriptFunction:
    """The class of functions that are compiled; functions that :func:`script` returns are functions."""


#: Lists of as many numbers, in annotations.
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list


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


def interface(obj: type) -> type:
    """Returns the class itself."""
    return obj


def _overload_method(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns ``func`` itself: the last definition of a name is the one that is called."""
    return func


_overload = _overload_method


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Returns a function itself."""
    return drop if callable(drop) else lambda function: function


unused = export = ignore


class Error(RuntimeError):
    """A script that fails, which no function does here for being one."""


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


_script_if_tracing = script_if_tracing


class TracerWarning(Warning):
    """Warning of values that a trace would miss; no trace is made here."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Does nothing: there are none."""


def _get_trace_graph(f: Any, args: Any = (), *further: Any, **options: Any) -> Any:
    """Says that there are no traces of operators.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "[jit] operators are not traced: torch.fx.symbolic_trace makes graphs, torch.utils.flop_counter counts products"
    )


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


_ANNOTATIONS = "BroadcastingList1 BroadcastingList2 BroadcastingList3 Dict Final List Optional Tuple Union"
__getattr__ = close_module(__name__)
add_paths("torch", {f"{__name__}.annotations": {__name__: _ANNOTATIONS}})
