"""The state of Python objects that a program may read: what it was, and whether it still is."""

from __future__ import annotations

import abc
import collections
import datetime
import decimal
import enum
import fractions
import functools
import operator
import re
import struct
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import lamella as lm
from lamella import _C

from ._calls import Log, is_library, is_standard, module_of

#: Stands in guards for what is not there, and for what nobody reads.
UNWATCHED = object()

_MAX_OBJECTS = 50_000
_MAX_BYTES = 1 << 16

#: Types of objects that cannot change, or whose changes no code can see.
_ATOMS: tuple[type, ...] = (
    *(int, float, complex, str, bytes, bool, type(None), type(Ellipsis), type(NotImplemented), range, slice),
    *(types.CodeType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType),
    *(types.MemberDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType, types.GenericAlias),
    *(types.UnionType, re.Pattern, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo),
    *(decimal.Decimal, fractions.Fraction, np.generic, np.dtype, np.ufunc),
)  # fmt: skip


class _Enum(enum.Enum):
    MEMBER = 1


#: Number of attributes that each member of an enumeration has.
_ENUM_ATTRIBUTES = len(vars(_Enum.MEMBER))

#: Bytes of an attribute in an object.
_POINTER = struct.calcsize("P")

#: Classes of objects whose steps change them, and which replays step as a whole.
STEPPERS = (lm.optim.Optimizer, lm.optim.lr.LRScheduler)


class UnwatchableError(Exception):
    """An object that the program may read changes in ways that cannot be seen."""


def _is_constant_class(kind: type) -> bool:
    """True for classes of Python itself, of numpy and of this package, which nobody changes."""
    return module_of(kind).partition(".")[0] in ("builtins", "lamella", "numpy", "typing", "abc", "enum", "collections")


#: Classes written in C whose objects are watched, and those whose objects do not change.
_KNOWN_BASES = (dict, list, tuple, set, frozenset, int, float, str, bytes, complex, BaseException, type)
_UNCHANGING = (re.Pattern, re.Match, struct.Struct, operator.itemgetter, functools._lru_cache_wrapper, _C._Operator)


def _is_hiding(kind: type) -> bool:
    """True for a class whose objects have more memory than attributes that Python shows."""
    if module_of(kind).partition(".")[0] in ("lamella", "numpy") or kind.__base__ is None:
        return False
    shown = sum(isinstance(value, types.MemberDescriptorType) for value in vars(kind).values())
    shown += ("__dict__" in vars(kind)) + ("__weakref__" in vars(kind))
    return kind.__basicsize__ > kind.__base__.__basicsize__ + _POINTER * shown


def _mangled(kind: type, name: str) -> str:
    """Returns the attribute that a name of ``__slots__`` stands for."""
    private = name.startswith("__") and not name.endswith("__")
    return f"_{kind.__name__.lstrip('_')}{name}" if private else name


class Everything:
    """Stands for state of which nothing is known: whatever a program reads may be there."""

    class _All:
        def __contains__(self, item: Any) -> bool:
            return True

    tensors = _All()

    def knows(self, _value: Any) -> bool:
        """True."""
        return True


class Reading:
    """The state that can be reached from some roots through what a log's code reads.

    Attributes:
        guards: entries as Guards in python/bindings/guards.h takes them.
        paths: for each of them, where it is in the program.
        tensors: the tensors among the objects, by id.
    """

    def __init__(self, log: Log, roots: Iterable[tuple[Any, str]], beyond: Callable[[Any], bool] | None = None) -> None:
        self.guards: list[tuple[Any, ...]] = []
        self.paths: list[str] = []
        self.tensors: dict[int, lm.Tensor] = {}
        #: What is read of optimizers and schedules, which their steps may change.
        self.of_steppers: list[str] = []
        #: True once the register of abstract classes is watched.
        self._registers = False
        self._names = log.names
        self._user_names = log.user_names
        self._codes = log.codes
        self._dynamic = log.dynamic
        self._seen: dict[int, Any] = {}
        self._next: list[tuple[Any, str]] = [*roots]
        for holder, path in log.settings.values():
            if isinstance(holder, threading.local):  # each thread that replays has values of its own
                for name in type(holder).__annotations__:
                    self._attribute(holder, name, path)
            else:
                self._follow(holder, path)
        for dictionary, names in log.globals.values():
            module = dictionary.get("__name__", "?")
            for name in sorted(names):
                self._entry(dictionary, name, dictionary.get(name, UNWATCHED), f"{module}.{name}")
        while self._next:
            value, path = self._next.pop()
            if id(value) not in self._seen and not (beyond and beyond(value)):
                self._seen[id(value)] = value
                if len(self._seen) > _MAX_OBJECTS:
                    raise UnwatchableError(f"more than {_MAX_OBJECTS:,} objects can be reached from what is read")
                self._visit(value, path)

    def first_change(self) -> str | None:
        """Returns where the state is not as it was; None if it is."""
        at = _C._Replay.first_change(self.guards, UNWATCHED)
        return None if at < 0 else self.paths[at]

    def knows(self, value: Any) -> bool:
        """True if the object was there."""
        return id(value) in self._seen

    def _guard(self, path: str, *entry: Any) -> None:
        self.guards.append(entry)
        self.paths.append(path)

    def _entry(self, mapping: Any, name: str, value: Any, path: str) -> None:
        self._guard(path, "name", mapping, name, value)
        self._follow(value, path)

    def _attribute(self, value: Any, name: str, path: str) -> None:
        current = getattr(value, name, UNWATCHED)
        self._guard(f"{path}.{name}", "attribute", value, name, current)
        self._follow(current, f"{path}.{name}")

    def _follow(self, value: Any, path: str) -> None:
        if value is not UNWATCHED:
            self._next.append((value, path))

    def _visit(self, value: Any, path: str) -> None:
        if isinstance(value, lm.Tensor):
            self.tensors[id(value)] = value
            if type(value) is not lm.Tensor:
                self._instance(value, path)
        elif isinstance(value, _ATOMS):
            return
        elif isinstance(value, enum.Enum):
            if len(vars(value)) > _ENUM_ATTRIBUTES:
                self._instance(value, path)
        elif isinstance(value, types.ModuleType):
            self._module(value, path)
        elif isinstance(value, types.FunctionType):
            self._function(value, path)
        elif type(value).__name__ == "cython_function_or_method":
            raise UnwatchableError(f"{path} is a function written in C, whose effects cannot be seen")
        elif isinstance(value, type):
            self._class(value, path)
        elif isinstance(value, np.ndarray):
            self._memory(value, value.nbytes, path)
        elif isinstance(value, bytearray):
            self._memory(value, len(value), path)
        else:
            self._other(value, path)

    def _other(self, value: Any, path: str) -> None:
        if isinstance(value, types.MethodType):
            self._follow(value.__self__, path)
            self._follow(value.__func__, path)
        elif isinstance(value, types.BuiltinFunctionType):
            if not isinstance(value.__self__, types.ModuleType):
                self._follow(value.__self__, path)
        elif isinstance(value, functools.partial):
            self._follow((value.func, value.args, value.keywords), path)
        elif isinstance(value, (staticmethod, classmethod)):
            self._follow(value.__func__, path)
        elif isinstance(value, property):
            self._follow((value.fget, value.fset), path)
        elif isinstance(value, functools.cached_property):
            self._follow(value.func, path)
        elif isinstance(value, weakref.ref):
            raise UnwatchableError(f"{path} is a weak reference, whose object may be gone in another call")
        elif isinstance(value, (operator.attrgetter, operator.methodcaller)):
            raise UnwatchableError(f"{path} reads attributes whose names are not known")
        elif isinstance(value, types.CellType):
            self._cell(value, path)
        elif isinstance(value, types.MappingProxyType):
            raise UnwatchableError(f"{path} is a view of a dictionary, whose changes cannot be seen")
        else:
            self._container_or_instance(value, path)

    def _container_or_instance(self, value: Any, path: str) -> None:
        kind = type(value)
        container = True
        if isinstance(value, dict):
            keys = tuple(value)
            self._guard(path, "dict", value, keys, tuple(value.values()))
            for key, item in value.items():
                self._follow(key, path)
                self._follow(item, f"{path}[{key!r}]" if isinstance(key, (str, int)) else path)
            if isinstance(value, collections.OrderedDict):
                self._guard(path, "order", value, keys)
            if isinstance(value, collections.defaultdict):
                self._attribute(value, "default_factory", path)
        elif isinstance(value, list):
            self._guard(path, "list", value, tuple(value))
            self._items(value, path)
        elif isinstance(value, (tuple, frozenset)):
            self._items(value, path)
        elif isinstance(value, set):
            self._guard(path, "set", value, frozenset(value))
            self._items(value, path)
        else:
            container = False
        if module_of(kind).startswith("lamella") and not kind.__flags__ & (1 << 9):
            return
        if hasattr(value, "__dict__") or kind.__flags__ & (1 << 9):
            self._instance(value, path)
        elif not container and not module_of(kind).startswith("lamella"):
            raise UnwatchableError(f"{path} is a {module_of(kind)}.{kind.__qualname__}, whose changes cannot be seen")

    def _items(self, values: Iterable[Any], path: str) -> None:
        for i, item in enumerate(values):
            self._follow(item, f"{path}[{i}]")

    def _instance(self, value: Any, path: str) -> None:
        kind = type(value)
        self._follow(kind, path)
        self._hidden_state(value, path)
        for base in kind.__mro__:
            hides = module_of(base) in ("builtins", "_io", "_random", "_thread") and base is not object
            if hides and not issubclass(base, _KNOWN_BASES):
                raise UnwatchableError(f"{path} is a {kind.__qualname__}, whose changes cannot be seen")
            slots = vars(base).get("__slots__", ()) if base is not object else ()
            for name in (slots,) if isinstance(slots, str) else slots:
                name = _mangled(base, name)
                if (self._dynamic or name in self._names) and name not in ("__dict__", "__weakref__"):
                    self._attribute(value, name, path)
        if isinstance(value, BaseException):
            self._attribute(value, "args", path)
        try:
            attributes = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return
        if not isinstance(attributes, dict):
            raise UnwatchableError(f"{path} has no ordinary attributes")
        stepper = isinstance(value, STEPPERS)
        every = self._reads_every_attribute(kind)
        names = self._user_names if stepper else self._names
        read = tuple(item if every or name in names else UNWATCHED for name, item in attributes.items())
        self._guard(path, "dict", attributes, tuple(attributes), read)
        self._guard(path, "class", value, kind)
        for name, item in attributes.items():
            if every or name in names:
                self._follow(item, f"{path}.{name}")
                if stepper and not isinstance(item, (*STEPPERS, lm.nn.Module, lm.Tensor, types.FunctionType)):
                    self.of_steppers.append(f"{path}.{name}")

    def _hidden_state(self, value: Any, path: str) -> None:
        """Guards what an object of a class written in C has beside attributes, if its memory can be read."""
        if isinstance(value, (*_UNCHANGING, *_KNOWN_BASES, lm.Tensor)):
            return
        if any(map(_is_hiding, type(value).__mro__[:-1])):
            try:
                size = memoryview(value).nbytes
            except (TypeError, ValueError, BufferError):
                raise UnwatchableError(
                    f"{path} is a {type(value).__qualname__}, whose changes cannot be seen"
                ) from None
            self._memory(value, size, path)

    def _reads_every_attribute(self, kind: type) -> bool:
        """True if code may read attributes whose names are not known: the user's or the standard library's."""
        if module_of(kind).startswith("lamella"):
            return False
        return self._dynamic or any(
            module_of(base).partition(".")[0] in sys.stdlib_module_names and module_of(base) != "builtins"
            for base in kind.__mro__
            if module_of(base) not in ("abc", "typing", "enum")
        )

    def _module(self, module: types.ModuleType, path: str) -> None:
        file = getattr(module, "__file__", None)
        if file is not None and is_library(file):
            for name in sorted(self._user_names & vars(module).keys()):
                self._entry(vars(module), name, vars(module)[name], f"{path}.{name}")
            return
        if file is None or module.__name__.partition(".")[0] == "numpy" or is_standard(file):
            return
        self._guard(path, "size", vars(module), len(vars(module)))
        for name in sorted(self._names & vars(module).keys()):
            self._entry(vars(module), name, vars(module)[name], f"{path}.{name}")

    def _function(self, function: types.FunctionType, path: str) -> None:
        filename = function.__code__.co_filename
        if is_standard(filename):
            # The function of a program's that singledispatch, contextmanager and the like have made another one of.
            for cell, name in zip(function.__closure__ or (), function.__code__.co_freevars, strict=True):
                if name != "dispatch_cache":
                    self._cell(cell, name)
            return
        if function.__code__ in self._codes and not is_library(filename):
            for name in ("__code__", "__defaults__", "__kwdefaults__"):
                self._guard(path, "attribute", function, name, getattr(function, name))
            attributes = function.__dict__
            self._guard(path, "dict", attributes, tuple(attributes), tuple(attributes.values()))
            self._follow(tuple(attributes.values()), path)
        for cell, name in zip(function.__closure__ or (), function.__code__.co_freevars, strict=True):
            self._cell(cell, name)
        for part in (function.__defaults__, function.__kwdefaults__, getattr(function, "__wrapped__", None)):
            self._follow(part, path)

    def _cell(self, cell: types.CellType, name: str) -> None:
        if id(cell) in self._seen:
            return
        self._seen[id(cell)] = cell
        try:
            value = cell.cell_contents
        except ValueError:
            value = UNWATCHED
        self._guard(name, "cell", cell, value)
        self._follow(value, name)

    def _class(self, kind: type, path: str) -> None:
        if isinstance(kind, abc.ABCMeta) and not self._registers:
            self._registers = True
            self._guard("the register of abstract classes", "call", abc.get_cache_token, abc.get_cache_token())
        users = [base for base in kind.__mro__ if not _is_constant_class(base) and base.__flags__ & (1 << 9)]
        inherited: set[str] = set()
        for base in reversed(users):
            attributes = vars(base)
            self._guard(path, "size", attributes, len(attributes))
            special = {
                name
                for name, value in attributes.items()
                if name.startswith("__") and isinstance(value, types.FunctionType)
            }
            inherited |= (self._names & attributes.keys()) | special
            for name in sorted(inherited):
                self._entry(attributes, name, attributes.get(name, UNWATCHED), f"{base.__qualname__}.{name}")
        if issubclass(kind, lm.nn.Module) and not users:
            # The method of a layer that programs replace.
            owner = next(base for base in kind.__mro__ if "forward" in vars(base))
            self._guard(f"{owner.__qualname__}.forward", "name", vars(owner), "forward", vars(owner)["forward"])

    def _memory(self, value: Any, size: int, path: str) -> None:
        if size > _MAX_BYTES:
            raise UnwatchableError(f"{path} is an array of {size:,} bytes, too many to compare in each call")
        try:
            contents = bytes(value)
        except (BufferError, ValueError, TypeError):
            raise UnwatchableError(f"{path} is an array whose memory cannot be read") from None
        self._guard(path, "bytes", value, contents)
