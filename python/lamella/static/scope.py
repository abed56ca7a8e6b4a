"""Where the values of parameters are kept between runs, by name."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import lamella as lm
from lamella.graph import not_recording

from .places import device_of


class ScopeTensor:
    """The value of a variable of a scope: an array to numpy, and :meth:`set` overwrites it."""

    def __init__(self, variable: ScopeVariable) -> None:
        self._variable = variable

    @property
    def tensor(self) -> lm.Tensor:
        """The tensor itself, without its history; a write into it changes the variable.

        Raises:
            RuntimeError: the variable has no value yet.
        """
        value = self._variable.value
        if value is None:
            raise RuntimeError(f"[Scope] the variable '{self._variable.name}' has no value yet: set() one")
        return value.detach()

    def numpy(self) -> Any:
        """Returns a copy of the values."""
        return self.tensor.numpy().copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        values = self.numpy()
        return values if dtype is None else values.astype(dtype)

    def shape(self) -> list[int]:
        """Returns the sizes of the axes."""
        return list(self.tensor.shape)

    def set(self, array: Any, place: Any = None) -> None:
        """Overwrites the value, cast to the variable's dtype; the first value of a new variable decides on the dtype.

        Args:
            array: an array, a tensor or numbers.
            place: the device of a first value; that of the variable by default.

        Raises:
            ValueError: the shape is not the variable's.
        """
        held = self._variable.value
        with not_recording(), lm.no_grad():
            values = (array.detach() if isinstance(array, lm.Tensor) else lm.asarray(array)).to(
                device_of("set", place) if held is None else held.device
            )
            if held is None:
                self._variable.value = values.clone()
                return
            if tuple(values.shape) != tuple(held.shape):
                raise ValueError(
                    f"[set] the variable '{self._variable.name}' has shape {list(held.shape)}, "
                    f"the array {list(values.shape)}"
                )
            held.copy_(values.astype(held.dtype))

    def __len__(self) -> int:
        return self.shape()[0]

    def __repr__(self) -> str:
        return repr(self.tensor)


class ScopeVariable:
    """A name in a scope, and its value.

    Attributes:
        name: the variable's name.
        value: the tensor, or None before the first value.
    """

    def __init__(self, name: str, value: lm.Tensor | None = None) -> None:
        self.name = name
        self.value = value

    def get_tensor(self) -> ScopeTensor:
        """Returns the value, to be read as an array or to be set."""
        return ScopeTensor(self)

    def set_tensor(self, value: Any) -> None:
        """Overwrites the value."""
        self.get_tensor().set(value)

    def __repr__(self) -> str:
        return f"{self.name}: {'no value' if self.value is None else repr(self.value)}"


class Scope:
    """Values of variables by name: what a start-up program initializes and a program trains.

    A program names its parameters and finds their values in the scope in which it runs, so two programs whose
    parameters have the same names share them, and one program can be trained twice in two scopes.
    """

    def __init__(self, parent: Scope | None = None) -> None:
        self._variables: dict[str, ScopeVariable] = {}
        self._parent = parent
        self._kids: list[Scope] = []
        #: What the optimizers of programs remember in this scope, by update.
        self.states: weakref.WeakKeyDictionary[Any, dict[int, dict[str, Any]]] = weakref.WeakKeyDictionary()
        #: States of the generators of programs with a seed of their own.
        self.generators: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        #: The programs that were run here; their modules' parameters are found by name, too.
        self.programs: weakref.WeakSet[Any] = weakref.WeakSet()

    def var(self, name: str) -> ScopeVariable:
        """Returns the variable of that name, which is made where there is none."""
        found = self.find_var(name)
        if found is None:
            found = self._variables[name] = ScopeVariable(name)
        return found

    def find_var(self, name: str) -> ScopeVariable | None:
        """Returns the variable of that name in this scope or in those around it, or None.

        Raises:
            TypeError: ``name`` is not text.
        """
        if not isinstance(name, str):
            raise TypeError(f"[find_var] name is a str, not {type(name).__name__}")
        found = self._variables.get(name)
        if found is not None:
            return found
        for program in self.programs:
            tensor = program.graph.captured.get(name)
            if tensor is not None:
                return ScopeVariable(name, tensor)
        return None if self._parent is None else self._parent.find_var(name)

    def new_scope(self) -> Scope:
        """Returns a scope within this one, which sees its variables."""
        self._kids.append(Scope(self))
        return self._kids[-1]

    def drop_kids(self) -> None:
        """Forgets the scopes within this one."""
        self._kids.clear()

    def local_var_names(self) -> list[str]:
        """Returns the names of this scope's own variables."""
        return list(self._variables)

    def erase(self, names: list[str]) -> None:
        """Forgets variables; names that are not there are passed over."""
        for name in names:
            self._variables.pop(name, None)

    def __contains__(self, name: str) -> bool:
        return self.find_var(name) is not None

    def __repr__(self) -> str:
        return f"Scope({', '.join(self._variables)})"


class Run:
    """A run in progress, for the nodes that it calls.

    Attributes:
        scope: has the values of parameters.
        device: on which the program runs.
        last_update: the last of the program's optimizers, which makes the steps of all.
        steps: the steps that wait for it.
    """

    def __init__(self, scope: Scope, device: str, last_update: Any) -> None:
        self.scope = scope
        self.device = device
        self.last_update = last_update
        self.steps: list[tuple[Any, Sequence[lm.Tensor]]] = []


class _Current(threading.local):
    """The scopes in force on this thread: those of ``scope_guard``, and those of runs in progress."""

    def __init__(self) -> None:
        self.guards: list[Scope] = []
        self.runs: list[Run] = []


_current = _Current()
_first = Scope()


def global_scope() -> Scope:
    """Returns the scope in which programs run by default: that of :func:`scope_guard`, or the process's own."""
    return _current.guards[-1] if _current.guards else _first


@contextlib.contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Makes ``scope`` the global scope of this thread until the end of the block.

    Raises:
        TypeError: ``scope`` is not a Scope.
    """
    check_scope("scope_guard", scope)
    _current.guards.append(scope)
    try:
        yield
    finally:
        _current.guards.pop()


@contextlib.contextmanager
def run_in(scope: Scope, device: str, last_update: Any) -> Iterator[None]:
    """Tells the nodes that a run calls of it."""
    _current.runs.append(Run(scope, device, last_update))
    try:
        yield
    finally:
        _current.runs.pop()


def running_scope() -> Scope:
    """Returns the scope of the innermost run on this thread, or the global one."""
    return _current.runs[-1].scope if _current.runs else global_scope()


def running_device() -> str:
    """Returns the device of the innermost run on this thread, or the CPU."""
    return _current.runs[-1].device if _current.runs else "cpu"


def current_run() -> Run:
    """Returns the innermost run on this thread; RuntimeError if there is none."""
    if not _current.runs:
        raise RuntimeError("[Executor.run] a program with an optimizer is run by an Executor")
    return _current.runs[-1]


def check_scope(op: str, scope: Any) -> Scope:
    """Returns ``scope``; TypeError for anything else than a Scope."""
    if not isinstance(scope, Scope):
        raise TypeError(f"[{op}] scope is a Scope, not {type(scope).__name__}")
    return scope
