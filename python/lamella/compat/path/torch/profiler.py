"""Times of operators: PyTorch's profiler over :mod:`lamella.profiler`."""

from __future__ import annotations

import contextlib
import enum
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lamella import profiler as _native
from lamella.compat.front import add_paths, close_module
from lamella.compat.stepped_profile import SteppedProfile, place_in_turn


class ProfilerActivity(enum.Enum):
    """Kinds of work that PyTorch measures; here, operators are measured in any case."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3


class ProfilerAction(enum.Enum):
    """Names what a profile does with a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


record_function = _native.scope


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, **options: Any
) -> Callable[[int], ProfilerAction]:
    """Returns what a profile does with each step: ``wait``, then ``warmup``, then ``active`` recorded ones, again.

    Args:
        wait: number of steps that are left out.
        warmup: number of steps that are left out after them.
        active: number of steps that are recorded then.
        repeat: how often; 0 for as long as there are steps.
        skip_first: number of steps before the first turn.
        options: not used.

    Raises:
        ValueError: a number is negative, or none are recorded.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ValueError("[schedule] numbers of steps are at least 0, and that of active ones at least 1")

    def action(step: int) -> ProfilerAction:
        return ProfilerAction(place_in_turn(step, wait, warmup, active, repeat, skip_first))

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """Returns a function that writes a profile's trace into a folder."""

    def write(measured: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        measured.export_chrome_trace(str(Path(dir_name) / f"{worker}.{time.time_ns()}.pt.trace.json"))

    return write


def kineto_available() -> bool:
    """True: traces can be written, see :meth:`profile.export_chrome_trace`."""
    return True


def supported_activities() -> set[ProfilerActivity]:
    """Returns what is measured."""
    return {ProfilerActivity.CPU}


def format_time(time_us: float) -> str:
    """Returns a number of microseconds as text, in seconds, milliseconds or microseconds."""
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if time_us >= factor:
            return f"{time_us / factor:.3f}{unit}"
    return f"{time_us:.3f}us"


class FunctionEventAvg:
    """Sums over the calls of one name; times are microseconds."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0

    @property
    def cpu_time(self) -> float:
        """The time of a call."""
        return self.cpu_time_total / self.count


class EventList(list[FunctionEventAvg]):
    """Sums by name."""

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """Returns the sums as text, largest first by one of their times, or by ``count``."""
        key = (sort_by or "").replace("device", "cpu").replace("cuda", "cpu") or "self_cpu_time_total"
        ordered = sorted(self, key=lambda each: -getattr(each, key)) if sort_by else list(self)
        head: tuple[str, ...] = ("Name", "Self CPU", "CPU total", "CPU time avg", "# of Calls")
        rows = [head]
        for each in ordered[: row_limit if row_limit >= 0 else None]:
            times = (f"{t:.3f}us" for t in (each.self_cpu_time_total, each.cpu_time_total, each.cpu_time))
            rows.append((each.key, *times, str(each.count)))
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        total = sum(each.self_cpu_time_total for each in self)
        return "\n".join([*lines, f"Self CPU time total: {total:.3f}us"])


class profile(SteppedProfile):  # noqa: N801 (PyTorch's name)
    """Measures the operators of a ``with`` block, or those of the steps that a schedule chooses.

    Args:
        activities: not used.
        schedule: what is done with each step; all are recorded without one. See :func:`schedule`.
        on_trace_ready: called with the profile when steps have been recorded.
        options: what else is to be recorded: not used.
    """

    _record, _last = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(schedule, on_trace_ready)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **options: Any) -> EventList:
        """Returns the sums by name, gradients among them."""
        sums: dict[str, FunctionEventAvg] = {}
        for call in self._found().calls:
            name = f"{call.name} (backward)" if call.kind == "backward" else call.name
            found = sums.setdefault(name, FunctionEventAvg(name))
            found.count += 1
            found.cpu_time_total += (call.end - call.begin) * 1e6
            found.self_cpu_time_total += call.own * 1e6
        return EventList(sums.values())

    def events(self) -> list[Any]:
        """Returns the calls, see :class:`lamella.profiler.Call`."""
        return list(self._found().calls)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the calls as a trace, which ``chrome://tracing`` and ``ui.perfetto.dev`` show."""
        self._found().save_trace(path)

    def table(self, **options: Any) -> str:
        """Returns the sums by name as text."""
        return self.key_averages().table(**options)


class emit_nvtx(contextlib.nullcontext[None]):  # noqa: N801 (PyTorch's name)
    """Changes nothing."""


__getattr__ = close_module(__name__)
add_paths("torch", {f"{__name__}.profiler": {__name__: "profile schedule tensorboard_trace_handler"}})
