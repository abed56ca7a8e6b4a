"""Watches which functions run during a call: the code whose reads count, and the effects that a replay would lose."""

from __future__ import annotations

import dis
import functools
import itertools
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

import lamella as lm
from lamella import _C, _attributes
from lamella.graph._special import KNOWN

_NUMPY = np.__path__[0] + "/"
_FOLDER = lm.__path__[0] + "/"
_OWN = __file__.rpartition("/")[0] + "/"
_STANDARD = (sysconfig.get_paths()["stdlib"] + "/", "<frozen ")
_PACKAGES = ("site-packages", "dist-packages")

#: Functions of `builtins` that do something else than compute from their arguments.
_WITH_EFFECTS = frozenset(
    [
        "print",
        "input",
        "open",
        "exec",
        "eval",
        "compile",
        "breakpoint",
        "globals",
        "locals",
        "vars",
        "dir",
        "id",
        "memoryview",
        "__import__",
        "__build_class__",
    ]
)
#: Modules in C whose functions compute from their arguments alone.
_PURE_MODULES = frozenset(
    [
        "math",
        "cmath",
        "_operator",
        "_functools",
        "_collections",
        "_abc",
        "_heapq",
        "_bisect",
        "_string",
        "_struct",
        "_typing",
        "itertools",
    ]
)
#: Modules of the standard library whose functions compute from their arguments, and from what programs do not change.
_PURE_STANDARD = frozenset(
    [
        "functools",
        "itertools",
        "collections",
        "_collections_abc",
        "contextlib",
        "dataclasses",
        "enum",
        "typing",
        "abc",
        "_abc",
        "operator",
        "_weakrefset",
        "copy",
        "copyreg",
        "numbers",
        "fractions",
        "types",
        "re",
        "heapq",
        "bisect",
        "string",
        "textwrap",
        "math",
        "cmath",
        "statistics",
        "weakref",
        "reprlib",
        "keyword",
        "graphlib",
        "importlib",
        "contextvars",
        "datetime",
        "numpy",
    ]
)
#: Functions of numpy that read or change what holds for the whole thread.
_SETTINGS_OF_NUMPY = frozenset(["geterr", "seterr", "geterrcall", "seterrcall", "getbufsize", "setbufsize"])
#: Functions and methods in C of numpy that read and write files.
_FILES_OF_NUMPY = frozenset(["fromfile", "tofile", "dump"])
#: Functions of fronts that read a setting, and the global object of their module that has it.
_SETTINGS = {"get_default_dtype": "_default", "current_device": "_placement", "current": "recorded"}
#: Modules through which code reads what no names bound.
_EVERYTHING = frozenset(["sys", "builtins", "gc", "ctypes", "inspect"])
#: Names of what reads attributes whose names are computed.
_DYNAMIC = frozenset(
    [
        "getattr",
        "hasattr",
        "setattr",
        "delattr",
        "__setattr__",
        "__delattr__",
        "format",
        "format_map",
        "attrgetter",
        "methodcaller",
        "__dict__",
        "__getattribute__",
        "fields",
        "asdict",
        "astuple",
        "replace",
    ]
)
#: Types in C whose methods compute from, or change, the object alone, whose changes are seen afterwards.
_PLAIN_TYPES: tuple[type, ...] = (
    *(list, dict, tuple, set, frozenset, str, bytes, bytearray, int, float, complex, bool, range, slice, type(None)),
    *(property, types.FunctionType, types.MethodType, types.GeneratorType, types.MappingProxyType),
)  # fmt: skip
#: The compiled part's own functions that compute from their arguments alone, beside the operators.
_PURE_FUNCTIONS = frozenset(
    [
        "broadcast_shapes",
        "can_cast",
        "result_type",
        "isdtype",
        "is_grad_enabled",
        "is_inference_mode_enabled",
        "asarray",
        "tensor",
        "grad",
        "backward",
        "_hidden_axes",
        "_recorder",
        "_autocast_state",
        "_privateuse1_name",
    ]
)


@functools.cache
def _operator_names() -> frozenset[str]:
    names = {operator["name"] for operator in _C.operators()}
    return frozenset(names | {name + "_" for name in names})


def is_standard(filename: str) -> bool:
    """True for code of Python's standard library, or of numpy."""
    if filename.startswith(_NUMPY):
        return True
    return filename.startswith(_STANDARD) and not any(name in filename for name in _PACKAGES)


def is_library(filename: str) -> bool:
    """True for code of this package."""
    return filename.startswith(_FOLDER)


def where(frame: types.FrameType | None) -> str:
    """Returns the line of the user's code that a frame belongs to: "train.py:12"."""
    while frame is not None and (is_library(frame.f_code.co_filename) or is_standard(frame.f_code.co_filename)):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


class Break(NamedTuple):
    """Why a call cannot be replayed."""

    reason: str
    where: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.where})" if self.where else self.reason


def module_of(kind: type) -> str:
    """Returns the name of the module that defines a class; "" where it does not tell."""
    module = getattr(kind, "__module__", "")
    return module if isinstance(module, str) else ""


def _texts(constants: Any) -> Iterator[str]:
    for constant in constants:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, (tuple, frozenset)):
            yield from _texts(constant)


class _Reads(NamedTuple):
    """Facts that the instructions of a function tell."""

    globals: frozenset[str]
    #: True if it reads attributes by names that a class gives: "case Point(x, y)".
    by_position: bool
    #: True if it goes on after exceptions.
    handles: bool


@functools.cache
def _reads(code: types.CodeType) -> _Reads:
    instructions = list(dis.get_instructions(code))
    names = [
        str(instruction.argval)
        for instruction in instructions
        if "GLOBAL" in instruction.opname or instruction.opname in ("LOAD_NAME", "STORE_NAME", "DELETE_NAME")
    ]
    handled = any(
        # A "with" statement has a handler, too, which leaves to the context what becomes of the exception.
        first.opname == "PUSH_EXC_INFO" and second.opname != "WITH_EXCEPT_START"
        for first, second in itertools.pairwise(instructions)
    )
    return _Reads(
        frozenset(names),
        any(instruction.opname == "MATCH_CLASS" for instruction in instructions),
        handled or "suppress" in code.co_names,
    )


class Log:
    """Code that ran during calls, and effects that it had."""

    def __init__(self) -> None:
        self.codes: set[types.CodeType] = set()
        #: Names of attributes and keys that the code may read; modules look for parameters in these tables in C.
        self.names: set[str] = {"_parameters", "_modules", "_buffers"}
        #: Those of them that code outside of this package reads.
        self.user_names: set[str] = set()
        #: True if the user's code may read any attribute.
        self.dynamic = False
        #: True if the user's code goes on after exceptions.
        self.handles = False
        #: Names that the user's code reads in each module's dictionary.
        self.globals: dict[int, tuple[dict[str, Any], set[str]]] = {}
        #: Objects of this package that hold settings which the code asks for, and what they are, by id.
        self.settings: dict[int, tuple[Any, str]] = {}
        self.breaks: list[Break] = []

    def merge(self, other: Log) -> bool:
        """Adds what another log has; returns True if it has anything new."""
        new = not other.codes <= self.codes
        self.codes |= other.codes
        self.names |= other.names
        self.user_names |= other.user_names
        self.dynamic |= other.dynamic
        self.handles |= other.handles
        new |= not other.settings.keys() <= self.settings.keys()
        self.settings |= other.settings
        for key, (dictionary, names) in other.globals.items():
            known = self.globals.setdefault(key, (dictionary, set()))[1]
            new |= not names <= known
            known |= names
        return new

    def add_code(self, frame: types.FrameType) -> None:
        """Notes the code of a function that is called."""
        code = frame.f_code
        if code in self.codes:
            return
        self.codes.add(code)
        if is_standard(code.co_filename):
            module = frame.f_globals.get("__name__", "")
            known = module.partition(".")[0] in _PURE_STANDARD and not module.startswith("numpy.random")
            if not known or (module.startswith("numpy") and code.co_name in _SETTINGS_OF_NUMPY):
                self.add_break(f"{module}.{code.co_name}() is called, which may do more than compute", frame)
            return
        read = {*code.co_names, *_texts(code.co_consts)}
        self.names |= read
        if is_library(code.co_filename):
            holder = frame.f_globals.get(_SETTINGS.get(code.co_name, ""))
            if holder is not None:
                self.settings[id(holder)] = (holder, code.co_name)
        else:
            self.user_names |= read
            found = _reads(code)
            self.dynamic |= found.by_position or not _DYNAMIC.isdisjoint(code.co_names)
            self.handles |= found.handles
            self.globals.setdefault(id(frame.f_globals), (frame.f_globals, set()))[1].update(found.globals)
            for name in found.globals:
                reason = _unseen(frame.f_globals.get(name), read)
                if reason is not None:
                    self.add_break(f"{name}: {reason}", frame)

    def add_layer(self, functions: Iterable[types.FunctionType]) -> None:
        """Notes the functions of a layer that a graph has in place of calls: what they read is a part of it."""
        for function in functions:
            code = function.__code__
            self.codes.add(code)
            read = {"forward", "backward", *code.co_names}
            self.names |= read
            self.user_names |= read
            names = self.globals.setdefault(id(function.__globals__), (function.__globals__, set()))[1]
            names.update(_reads(code).globals)

    def add_break(self, reason: str, frame: types.FrameType | None) -> None:
        """Notes a reason against replays, once for each line."""
        found = Break(reason, where(frame))
        if found not in self.breaks:
            self.breaks.append(found)


def _unseen(value: Any, names: set[str]) -> str | None:
    """Returns why calls of a global object's functions would not be seen; None if they are."""
    if getattr(value, "__name__", "") == "decimal" or getattr(value, "__module__", "") == "decimal":
        return "decimal numbers are computed as the thread's context says"
    if not isinstance(value, types.ModuleType):
        return None
    name = value.__name__
    if name.startswith("numpy"):
        random = "random" in name or "random" in names
        return "random numbers of numpy are others in each call" if random else None
    if name in _EVERYTHING:
        return "what it gives cannot be watched"
    unseen = any(type(item).__name__ == "cython_function_or_method" for item in vars(value).values())
    return f"the module {name} has functions in C whose calls are not reported" if unseen else None


def _defines(owner: Any, name: str) -> type:
    """Returns the class that has a method."""
    kind = owner if isinstance(owner, type) else type(owner)
    return next((base for base in kind.__mro__ if name in vars(base)), kind)


def effect_of(function: Any) -> str | None:
    """Returns what a call of a function in C may do beside computing from its arguments; None for nothing."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "?")
    module = owner.__name__ if isinstance(owner, types.ModuleType) else getattr(function, "__module__", None) or ""
    if isinstance(owner, types.ModuleType) or owner is None:
        if module == "builtins":
            return None if name not in _WITH_EFFECTS else f"{name}() is called"
        if module in (_C.__name__, ""):
            pure = name in _PURE_FUNCTIONS or name in _operator_names()
            return None if pure else f"lamella.{name}() is called, which replays cannot repeat"
        pure_numpy = module.startswith("numpy") and "random" not in module and name not in _FILES_OF_NUMPY
        if module in _PURE_MODULES or pure_numpy:
            return None
        return f"{module}.{name}() is called, which may do more than compute"
    kind = _defines(owner, name)
    # The observer sees what matters of tensors, layers and modes, whatever a front calls them.
    modes = (lm.no_grad, lm.enable_grad, lm.set_grad_enabled, lm.inference_mode)
    if issubclass(kind, (lm.Tensor, lm.PyLayer, _C.DType, *modes)):
        return None
    if module_of(kind).startswith("lamella"):
        return f"{kind.__name__}.{name}() is called, which replays cannot repeat"
    if module_of(kind).startswith("numpy"):
        if name in _FILES_OF_NUMPY:
            return f"{kind.__name__}.{name}() writes a file"
        random = "random" in module_of(kind)
        return f"{kind.__name__}.{name}() draws random numbers that are not Lamella's" if random else None
    if kind in _PLAIN_TYPES or module_of(kind) in (
        "builtins",
        "collections",
        "re",
        "itertools",
        "functools",
        "_abc",
        "types",
    ):
        return None
    return f"{module_of(kind)}.{kind.__qualname__}.{name}() is called, which may do more than compute"


def _passed_by(function: Any, frame: types.FrameType) -> str | None:
    """Returns what a method of tensors does that no observer has seen, as a front has put its own in its place."""
    name = getattr(function, "__name__", "?")
    seen = not isinstance(getattr(function, "__self__", None), lm.Tensor) or name in KNOWN or name in _operator_names()
    return None if seen or frame.f_code.co_filename == _attributes.__file__ else f"{name} is asked of a tensor"


def _is_extension(function: Any) -> bool:
    """True if a function in C belongs neither to Python nor to this package."""
    module = getattr(function, "__module__", None) or module_of(type(getattr(function, "__self__", None)))
    root = module.partition(".")[0]
    return root not in ("builtins", "lamella") and root not in sys.stdlib_module_names


class Watch:
    """Notes in a log what this thread calls, while it is entered."""

    def __init__(self, log: Log) -> None:
        self.log = log
        #: Positive inside of what a replay calls as a whole, which counts as one function.
        self.paused = 0
        #: Number of calls of layers in C++ that were observed.
        self.cpp_layers = 0
        #: Calls of functions in C whose effects are not known, with that number and the reason against them.
        self._unknown: list[tuple[Any, int, str]] = []
        self._before: Any = None

    def _event(self, frame: types.FrameType, event: str, argument: Any) -> None:
        if self.paused or frame.f_code.co_filename.startswith(_OWN):
            return
        if event == "call":
            self.log.add_code(frame)
        elif event == "c_call":
            if argument is id and is_library(frame.f_code.co_filename):
                return  # Modules tell their tensors apart so: what they yield depends on no address.
            if argument is sys._getframe and is_library(frame.f_code.co_filename):
                return  # a method of a front asks which module calls it, which is the same in each call
            effect = effect_of(argument) or _passed_by(argument, frame)
            if effect is not None and _is_extension(argument):
                self._unknown.append((argument, self.cpp_layers, effect))
            elif effect is not None:
                self.log.add_break(effect, frame)
        elif event in ("c_return", "c_exception") and self._unknown and self._unknown[-1][0] == argument:
            # A function that calls a layer in C++ is taken for that layer.
            _, layers, effect = self._unknown.pop()
            if event == "c_return" and layers == self.cpp_layers:
                self.log.add_break(effect, frame)

    def __enter__(self) -> Watch:
        self._before = sys.getprofile()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *error: Any) -> None:
        sys.setprofile(self._before)
        for _, _, effect in self._unknown:
            self.log.add_break(effect, None)
