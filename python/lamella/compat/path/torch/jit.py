"""Scripts and traces: modules run as they are, and their programs are shown, saved and loaded without their classes."""

from __future__ import annotations

import builtins
import contextlib
import copy
import functools
from collections.abc import Callable
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union  # noqa: F401, UP035

from lamella import Tensor, empty_like
from lamella.compat.front import add_paths, close_module
from lamella.nn import Module

from . import serialization
from ._stand_ins import Uninhabited
from .utils._pytree import tree_map


class ScriptModule(Module):
    """The class of modules that are compiled: :func:`script` and :func:`trace` return modules that are of it, too."""


RecursiveScriptModule = ScriptModule


class TensorType(metaclass=Uninhabited):
    """The type of tensors in compiled programs, which annotations name; no object is one."""


class ScriptFunction:
    """A function with the program that :func:`trace` recorded of it.

    Args:
        function: the function.
        program: what was recorded, or the error that was raised.
    """

    def __init__(self, function: Callable[..., Any], program: Any) -> None:
        self._function, self._recorded = function, program
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        return self._function(*args, **kwargs)

    @property
    def graph(self) -> Any:
        """The steps, as a graph of ``torch.fx``."""
        return _program_of(self).steps.graph

    @property
    def code(self) -> str:
        """The steps, as Python code."""
        return str(_program_of(self).steps.code)

    def save(self, f: Any, _extra_files: Any = None) -> None:
        """Writes the program, see :func:`save`."""
        save(self, f, _extra_files)


#: Lists of as many numbers, in annotations.
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list


class _Compiled(ScriptModule):
    """Methods of modules that :func:`script` and :func:`trace` return."""

    _recorded: Any
    #: What a trace was recorded with, or None.
    _traced: _Traced | None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module; the first arguments of a script are noted, without their elements."""
        if self.__dict__["_recorded"] is None:
            like = tree_map(lambda x: empty_like(x) if builtins.isinstance(x, Tensor) else x, (args, kwargs))
            self.__dict__["_recorded"] = _Examples(*like)
        return super().__call__(*args, **kwargs)

    @property
    def graph(self) -> Any:
        """The steps, as a graph of ``torch.fx``; of a script, after its first call."""
        return _program_of(self).steps.graph

    @property
    def code(self) -> str:
        """The steps, as Python code."""
        return str(_program_of(self).steps.code)

    @property
    def original_name(self) -> str:
        """The name of the module's class."""
        return type(self).__name__

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Returns what a copy or a file is made of: the module itself, of its own class."""
        plain = copy.copy(self)
        kind, state = type(self).__bases__[1], {k: v for k, v in vars(plain).items() if k not in _OWN}
        return _again, (kind, state)


#: Attributes of modules that :func:`script` and :func:`trace` return, and others do not have.
_OWN = ("_recorded", "_traced")


def _again(kind: Any, state: dict[str, Any]) -> Any:
    made = kind.__new__(kind)
    made.__dict__.update(state)
    return made


def _program_of(owner: Any) -> Any:
    """Returns what was recorded of a function or module.

    Raises:
        RuntimeError: nothing was, or recording failed, with the reason.
    """
    found = owner.__dict__.get("_recorded")
    if builtins.isinstance(found, _Examples):
        found = owner.__dict__["_recorded"] = _recorded(owner, found.args, found.kwargs)
    traced = owner.__dict__.get("_traced")
    if traced is not None and traced.modes != _modes_of(owner):
        # What is shown and written is what calls do now, after train() or eval().
        found = owner.__dict__["_recorded"] = _recorded(owner, *traced.examples)
        owner.__dict__["_traced"] = traced._replace(modes=_modes_of(owner))
    if found is None:
        raise RuntimeError("[jit] a script has a graph after its first call, whose arguments it is recorded with")
    if builtins.isinstance(found, Exception):
        raise RuntimeError(f"[jit] there is no program: {found}") from found
    return found


class _Examples(NamedTuple):
    """Arguments of a call, without their elements."""

    args: Any
    kwargs: Any


class _Traced(NamedTuple):
    """The arguments that a module was traced with, and the modes that it and its parts had when it was recorded."""

    examples: _Examples
    modes: tuple[bool, ...]


def _modes_of(module: Module) -> tuple[bool, ...]:
    return tuple(part.training for part in module.modules())


def _recorded(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the program of a function, or the error of recording it."""
    from ._programs import record_widely

    try:
        return record_widely(function, args, kwargs)
    except Exception as error:  # whatever the function raises where values are not known
        return error


def _of_module(module: Module, recorded: Any, traced: _Traced | None = None) -> Any:
    """Returns a module with the same parts whose class is the module's and :class:`ScriptModule`, too."""
    made = copy.copy(module)
    kind = type(module)
    made.__class__ = type(kind.__name__, (_Compiled, kind), {"__module__": kind.__module__})
    made.__dict__.update(_recorded=recorded, _traced=traced)
    return made


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns a function or class itself, and of a module one with the same parts.

    :func:`save` writes it as a program. What the program does is recorded with the arguments of the first call.
    """
    if not builtins.isinstance(obj, Module) or builtins.isinstance(obj, ScriptModule):
        return obj
    return _of_module(obj, None)


def trace(func: Any, example_inputs: Any = None, *args: Any, example_kwarg_inputs: Any = None, **kwargs: Any) -> Any:
    """Returns a module with the same parts, or a function, with a program of what ``func`` does with examples.

    Calls go to ``func``; the program is what is shown (``graph``, ``code``) and written by :func:`save`. The first axes
    of all inputs may have any size where the function does not ask for them.

    Args:
        func: a function or module.
        example_inputs: a tensor, or a tuple of arguments.
        args: not used.
        example_kwarg_inputs: named arguments.
        kwargs: not used.
    """
    given = example_inputs if builtins.isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    named = dict(example_kwarg_inputs or {})
    if example_inputs is None:
        given = ()
    if builtins.isinstance(func, ScriptModule | ScriptFunction):
        return func
    recorded = _recorded(func, tuple(given), named)
    if not builtins.isinstance(func, Module):
        return ScriptFunction(func, recorded)
    return _of_module(func, recorded, _Traced(_Examples(tuple(given), named), _modes_of(func)))


def freeze(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns the program of a traced module as a module without parameters; a script without a program stays itself.

    Raises:
        RuntimeError: the module is in training mode.
    """
    if mod.training:
        raise RuntimeError("[freeze] a module is frozen in evaluation mode: call eval() first")
    recorded = mod.__dict__.get("_recorded")
    if recorded is None or builtins.isinstance(recorded, Exception):
        return mod
    from ._loaded import LoadedModule
    from ._programs import Program

    program = _program_of(mod)
    constants = {name: tensor.detach().clone() for name, tensor in program.state.items()}
    graph = program.graph.parse(program.graph.text(), constants)
    return LoadedModule(Program(graph, program.inputs, program.outputs, program.takes, program.returns), frozen=True)


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


def trace_module(mod: Module, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns what :func:`trace` does, with the examples of ``forward`` in a dict of methods."""
    return trace(mod, inputs["forward"])


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Writes the program of a traced module or function, or of a script that was called, which :func:`load` runs.

    A module without a program is written with its class's name, for programs that have the class.

    Args:
        m: the module or function.
        f: a path or a file.
        _extra_files: a dict of texts or bytes that are written along.
    """
    try:
        held: Any = _program_of(m).plain()
    except RuntimeError:
        held = m
    extra = {
        name: text.encode() if builtins.isinstance(text, str) else text for name, text in (_extra_files or {}).items()
    }
    serialization.save({_FILE: held, "extra": extra}, f)


_FILE = "torch.jit"


def _save(self: Module, f: Any, _extra_files: Any = None) -> None:
    """Implements the method of scripts and traces: see :func:`save`."""
    save(self, f, _extra_files)


_module: Any = Module
if not hasattr(_module, "save"):
    _module.save = _save


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> Any:
    """Reads what :func:`save` wrote: a module that runs the program, without the class of the one that was traced.

    Args:
        f: a path or a file.
        map_location: the device of the tensors.
        _extra_files: a dict whose values become what was written along by these names.

    Raises:
        RuntimeError: the file holds no program.
    """
    held = serialization.load(f, map_location=map_location, weights_only=False)
    if not builtins.isinstance(held, dict) or _FILE not in held:
        raise RuntimeError("[load] the file is none of torch.jit.save; torch.load reads states")
    for name in _extra_files or {}:
        if name in held["extra"]:
            _extra_files[name] = held["extra"][name]
    if builtins.isinstance(held[_FILE], Module):
        return held[_FILE]
    from ._loaded import LoadedModule
    from ._programs import Program

    return LoadedModule(Program.from_plain(held[_FILE]))


_ANNOTATIONS = "BroadcastingList1 BroadcastingList2 BroadcastingList3 Dict Final List Optional Tuple Union"
__getattr__ = close_module(__name__)
add_paths("torch", {f"{__name__}.annotations": {__name__: _ANNOTATIONS}})
