"""Measures the calls of a thread, and finds out what they belong to."""

from __future__ import annotations

import bisect
import contextlib
import functools
import json
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, TypeVar

import lamella as lm
from lamella import _C

from .._compile._compiled import Compiled
from .._compile._module import CompiledModule
from ..nn.module import quicken
from ._table import Row, Table

_Kind = TypeVar("_Kind")
_KINDS = ("operator", "backward", "scope")


class Call(NamedTuple):
    """A call that was measured.

    Attributes:
        name: Name of the operator, of the custom layer, or of the scope; of the operation whose gradient was computed.
        kind: ``"operator"`` for calls of operators and layers, ``"backward"`` for the computation of an operation's
            gradient, ``"scope"`` for calls of modules, compiled functions and static programs, optimizers' steps, the
            wait for a loader's batch, and :class:`scope`.
        begin, end: Seconds since the profile began.
        own: Seconds without the calls within this one.
        depth: Number of calls around this one.
        line: Line of the program that made the call, ``"train.py:12"``, or that of the forward call whose gradient was
            computed; ``""`` where it is not known.
        layer: Path of the innermost module that the call, or that forward call, belongs to; ``""`` where there is none.
        allocated: Bytes that tensors held on the CPU at the end of the call.
    """

    name: str
    kind: Literal["operator", "backward", "scope"]
    begin: float
    end: float
    own: float
    depth: int
    line: str
    layer: str
    allocated: int

    @property
    def total(self) -> float:
        """Seconds from begin to end."""
        return self.end - self.begin


class scope(contextlib.ContextDecorator):  # noqa: N801 (called like a function)
    """Gives a part of a program a name in profiles: a ``with`` block, or the function that it decorates.

    It does nothing but note the name while the thread is profiled.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"[scope] name: expected a string, got {type(name).__name__}")
        self._name = name
        self._events: list[int] = []

    def __enter__(self) -> Self:
        self._events.append(_C._enter_profiled_scope(self._name))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _C._leave_profiled_scope(self._events.pop())


class _Methods:
    """Gives scopes to calls of modules, compiled functions and programs, and to steps of optimizers and loaders.

    They have them while at least one thread is profiled.
    """

    _lock = threading.Lock()
    _users = 0
    _originals: tuple[tuple[type, str, Any], ...] = ()

    @classmethod
    def exchange(cls, change: int) -> None:
        with cls._lock:
            before, cls._users = cls._users, cls._users + change
            if before == 0:
                # A loader or an executor may be made in the block.
                from ..data._epochs import Epoch
                from ..static.executor import Executor

                # Replays of compiled functions, and programs, call no operators that would be measured.
                found: list[tuple[type, str, Callable[[Any], str]]] = [
                    (lm.nn.Module, "__call__", lambda module: type(module).__name__),
                    (CompiledModule, "__call__", lambda module: type(module).__name__),
                    (Compiled, "__call__", lambda compiled: str(compiled._name)),
                    (lm.optim.Optimizer, "step", lambda optimizer: f"{type(optimizer).__name__}.step"),
                    (Executor, "run", lambda _: "Executor.run"),
                    (Epoch, "__next__", lambda _: "DataLoader"),
                ]
                originals = [
                    (*definition, label) for kind, name, label in found for definition in _definitions(kind, name)
                ]
                cls._originals = tuple((kind, name, original) for kind, name, original, _ in originals)
                for kind, name, original, label in originals:
                    setattr(kind, name, _in_scope(original, label))
            elif cls._users == 0:
                for kind, name, original in cls._originals:
                    setattr(kind, name, original)
            if 0 in (before, cls._users):
                # An exchange makes calls slow; those in C measure themselves.
                for kind in _with_subclasses(lm.nn.Module):
                    quicken(kind)


def _with_subclasses(kind: type[_Kind]) -> list[type[_Kind]]:
    found: list[type[_Kind]] = []
    pending = [kind]
    while pending:
        found.append(pending.pop())
        pending += found[-1].__subclasses__()
    return found


def _definitions(kind: type, name: str) -> list[tuple[type, str, Any]]:
    """Returns a method of a class and those of the library's own subclasses, each with the class that defines it."""
    found = {next(base for base in kind.__mro__ if name in vars(base))}
    subclasses: list[type] = _with_subclasses(kind)[1:]
    found.update(one for one in subclasses if name in vars(one) and one.__module__.startswith("lamella."))
    return [(owner, name, vars(owner)[name]) for owner in found]


#: Names of the modules of the model that this thread profiles, by id.
_local = threading.local()


def _in_scope(original: Callable[..., Any], label: Callable[[Any], str]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        names: dict[int, str] = getattr(_local, "names", {})
        event = _C._enter_profiled_scope(names.get(id(self)) or label(self))
        try:
            return original(self, *args, **kwargs)
        finally:
            _C._leave_profiled_scope(event)

    return method


class Profile:
    """Calls that were measured in a ``with`` block of :func:`profile`, and their sums.

    Attributes:
        calls: All calls, in the order in which they began.
        duration: Seconds from the beginning of the block to the end of the last call.
    """

    def __init__(self, model: Any, lines: bool) -> None:
        self._lines = lines
        self._names: dict[int, str] = {}
        if model is not None:
            if not isinstance(model, lm.nn.Module):
                raise TypeError(f"[profile] model: expected a Module, got {type(model).__name__}")
            self._names = {id(module): name for name, module in model.named_modules() if name}
        self.calls: list[Call] = []
        self.duration = 0.0
        self._thread = (threading.get_native_id(), threading.current_thread().name)
        # By the positions of gradients' calls, those of the forward calls.
        self._forward: dict[int, int] = {}
        self._begun = False

    def __enter__(self) -> Self:
        if self._begun:
            raise RuntimeError("[profile] a profile measures one block; make another one for the next")
        _Methods.exchange(1)
        try:
            _C._start_profile(self._lines, self._names)
        except RuntimeError:
            _Methods.exchange(-1)
            raise
        self._begun = True
        self._thread = (threading.get_native_id(), threading.current_thread().name)
        _local.names = self._names
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _Methods.exchange(-1)
        _local.names = {}
        events, names, lines = _C._stop_profile()
        # Calls that an exception has ended before they began to be measured have no end.
        self.calls, self._forward = _calls([event for event in events if event[5] >= event[4]], names, lines)
        self.duration = max((call.end for call in self.calls), default=0.0)

    def table(
        self, by: Literal["operator", "layer", "line"] = "operator", *, sort: str = "own", rows: int | None = 20
    ) -> Table:
        """Sums the calls up.

        Args:
            by: ``"operator"``: by name; ``"layer"``: by the innermost module; ``"line"``: by the line of the program.
                Gradients count where the forward call was made.
            sort: The column to sort by, largest first: ``"calls"``, ``"own"``, ``"forward"`` or ``"backward"``.
            rows: Number of rows at most, None for all; how many more there are is told.

        Raises:
            ValueError: ``by`` or ``sort`` is none of these.
        """
        if by not in ("operator", "layer", "line"):
            raise ValueError(f"[table] by: expected 'operator', 'layer' or 'line', got {by!r}")
        if sort not in ("calls", "own", "forward", "backward"):
            raise ValueError(f"[table] sort: expected 'calls', 'own', 'forward' or 'backward', got {sort!r}")
        found: dict[str, list[float]] = {}
        for call in self.calls:
            # A scope's own time is that of Python's code between the operators.
            key = call.name if by == "operator" else call.layer if by == "layer" else call.line
            sums = found.setdefault(key or "(elsewhere)", [0, 0.0, 0.0])
            sums[0] += call.kind != "scope" or by == "operator"
            sums[2 if call.kind == "backward" else 1] += call.own
        all_rows = [
            Row(key, int(n), forward + backward, forward, backward) for key, (n, forward, backward) in found.items()
        ]
        all_rows.sort(key=lambda row: (-getattr(row, sort), row.name))
        return Table(by, all_rows if rows is None else all_rows[:rows], len(all_rows), self.duration)

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes all calls as a trace in Chrome's format, which ``ui.perfetto.dev`` shows along an axis of time.

        The memory that tensors hold is a curve in it, and arrows lead from forward calls to their gradients.
        """
        (tid, thread), pid = self._thread, os.getpid()
        events: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "lamella"}},
            {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": thread}},
        ]
        with_gradients: dict[int, list[int]] = {}
        for gradient, forward in self._forward.items():
            with_gradients.setdefault(forward, []).append(gradient)
        for i, call in enumerate(self.calls):
            where = {key: value for key, value in (("line", call.line), ("layer", call.layer)) if value}
            shown = call.name + " (backward)" if call.kind == "backward" else call.name
            events.append(
                {
                    "ph": "X",
                    "name": shown,
                    "cat": call.kind,
                    "ts": call.begin * 1e6,
                    "dur": call.total * 1e6,
                    "pid": pid,
                    "tid": tid,
                    "args": where,
                }
            )
            # An arrow belongs to the innermost call that runs at its time.
            arrow = {"name": "gradient", "cat": "gradient", "ts": call.begin * 1e6, "pid": pid, "tid": tid}
            events += [{"ph": "s", "id": gradient, **arrow} for gradient in with_gradients.get(i, ())]
            if i in self._forward:
                events.append({"ph": "f", "bp": "e", "id": i, **arrow})
            if call.kind != "scope":
                memory = {"tensors": call.allocated}
                events.append({"ph": "C", "name": "memory", "ts": call.end * 1e6, "pid": pid, "args": memory})
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)

    @property
    def peak_memory(self) -> int:
        """Largest number of bytes that tensors held on the CPU at the end of a call."""
        return max((call.allocated for call in self.calls), default=0)

    def __repr__(self) -> str:
        return f"<profile of {len(self.calls)} calls, {self.duration * 1e3:.3g} ms>"


def profile(model: Any = None, *, lines: bool = True) -> Profile:
    """Measures the operators, gradients, modules and optimizers' steps that this thread runs in a ``with`` block.

    Args:
        model: The module that is run, whose parts then go by their paths in it (``"encoder.0"``); by their class where
            it is not given.
        lines: Find the line of the program for each call, which takes some 0.2 µs.

    Returns:
        The profile; see :class:`Profile` for what it tells after the block.

    Raises:
        TypeError: ``model`` is no module.
        RuntimeError: the block is entered while the thread is profiled already.
    """
    return Profile(model, lines)


def _short(file: str, line: int) -> str:
    return f"{os.path.basename(file)}:{line}" if file else ""


def _calls(events: list[Any], names: list[str], lines: list[tuple[str, int]]) -> tuple[list[Call], dict[int, int]]:
    """Returns the events with what they belong to, and by the positions of gradients those of their forward calls.

    Gradients belong where their forward calls were made.
    """
    own = [event[5] - event[4] for event in events]
    layers: list[str] = []
    around: list[int] = []  # the calls that contain the present one, outermost first
    made: list[tuple[int, int]] = []  # for innermost calls that recorded nodes: first node, position
    for i, (kind, _, _, _, begin, end, first, last, _) in enumerate(events):
        while around and events[around[-1]][5] <= begin:
            around.pop()
        if around:
            own[around[-1]] -= end - begin
        modules = [names[events[k][2]] for k in (*around, i) if _KINDS[events[k][0]] == "scope"]
        layers.append(modules[-1] if modules else "")
        around.append(i)
        if _KINDS[kind] == "operator" and last > first:
            made.append((first, i))
    made.sort()
    calls = []
    forward_of: dict[int, int] = {}
    for i, (kind, depth, name, line, begin, end, first, _, allocated) in enumerate(events):
        forward = i
        if _KINDS[kind] == "backward":
            at = bisect.bisect_right(made, (first, len(events))) - 1
            if at >= 0 and first < events[made[at][1]][7]:
                forward_of[i] = forward = made[at][1]
                line = events[forward][3]
        calls.append(
            Call(
                names[name],
                _KINDS[kind],  # type: ignore[arg-type]
                begin / 1e9,
                end / 1e9,
                own[i] / 1e9,
                depth,
                _short(*lines[line]),
                layers[forward],
                allocated,
            )
        )
    return calls, forward_of
