"""Times of operators: Paddle's profiler over :mod:`lamella.profiler`."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from pathlib import Path
from typing import Any, Self

from lamella import profiler as _native
from lamella.compat.front import close_module
from lamella.compat.stepped_profile import SteppedProfile, place_in_turn


class ProfilerState(enum.Enum):
    """Names what a profiler does with a step."""

    CLOSED = 0
    READY = 1
    RECORD = 2
    RECORD_AND_RETURN = 3


class ProfilerTarget(enum.Enum):
    """Devices of which Paddle takes times."""

    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM_DEVICE = 3


class SortedKeys(enum.Enum):
    """Times by which a table is in order."""

    CPUTotal = 0
    CPUAvg = 1
    CPUMax = 2
    CPUMin = 3
    GPUTotal = 4
    GPUAvg = 5
    GPUMax = 6
    GPUMin = 7


class SummaryView(enum.Enum):
    """Tables of Paddle's summary; here there is that of operators."""

    DeviceView = 0
    OverView = 1
    ModelView = 2
    DistributedView = 3
    KernelView = 4
    OperatorView = 5
    MemoryView = 6
    MemoryManipulationView = 7
    UDFView = 8


def make_scheduler(
    *, closed: int, ready: int, record: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerState]:
    """Returns what a profiler does with each step: ``closed``, then ``ready``, then ``record`` measured ones, again.

    Args:
        closed: number of steps that are left out.
        ready: number of steps that are left out after them.
        record: number of steps that are measured then.
        repeat: how often; 0 for as long as there are steps.
        skip_first: number of steps before the first turn.

    Raises:
        ValueError: a number is negative, or none are measured.
    """
    if min(closed, ready, repeat, skip_first) < 0 or record <= 0:
        raise ValueError("[make_scheduler] numbers of steps are at least 0, and that of measured ones at least 1")

    def state(step: int) -> ProfilerState:
        return ProfilerState(place_in_turn(step, closed, ready, record, repeat, skip_first))

    return state


def _between(first: int, end: int) -> Callable[[int], ProfilerState]:
    """Returns a scheduler that measures the steps from the first to before the end."""
    return make_scheduler(closed=max(first - 1, 0), ready=min(first, 1), record=end - first, repeat=1, skip_first=0)


def export_chrome_tracing(dir_name: str, worker_name: str | None = None) -> Callable[[Profiler], None]:
    """Returns a function that writes a profiler's times into a folder, as ``chrome://tracing`` reads them."""
    os.makedirs(dir_name, exist_ok=True)

    def write(profiler: Profiler) -> None:
        worker = worker_name or f"host_{socket.gethostname()}process_{os.getpid()}"
        now = time.strftime("time_%Y_%m_%d_%H_%M_%S") + f"_{time.time_ns() // 1000 % 10**6:06d}"
        profiler.export(str(Path(dir_name) / f"{worker}_{now}.paddle_trace.json"), "json")

    return write


class RecordEvent(ContextDecorator):
    """Has the operators of a block, or between :meth:`begin` and :meth:`end`, stand under a name."""

    def __init__(self, name: str, event_type: Any = None) -> None:
        self.name, self.event_type = name, event_type
        self._scope: Any = None

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def begin(self) -> None:
        """Begins the part of the program."""
        self._scope = _native.scope(self.name)
        self._scope.__enter__()

    def end(self) -> None:
        """Ends the part of the program."""
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.__exit__(None, None, None)


class Profiler(SteppedProfile):
    """Takes the times of operators: of a ``with`` block, or of the steps that a scheduler chooses.

    Args:
        targets: not used: operators run on the device of their tensors.
        scheduler: what is done with each step, see :func:`make_scheduler`; or the first step that is measured, and the
            first that is not.
        on_trace_ready: called with the profiler when steps have been measured.
        record_shapes: not used.
        profile_memory: not used.
        timer_only: measures steps only, see :meth:`step_info`.
        emit_nvtx: not used.
        custom_device_types: not used.
        with_flops: not used.
    """

    _record, _last = ProfilerState.RECORD, ProfilerState.RECORD_AND_RETURN

    def __init__(
        self,
        *,
        targets: Iterable[ProfilerTarget] | None = None,
        scheduler: Callable[[int], ProfilerState] | tuple[int, int] | None = None,
        on_trace_ready: Callable[[Profiler], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        timer_only: bool = False,
        emit_nvtx: bool = False,
        custom_device_types: Any = None,
        with_flops: bool = False,
    ) -> None:
        if isinstance(scheduler, (list, tuple)):
            first, end = scheduler
            if not 0 <= first < end:
                raise ValueError(f"[Profiler] scheduler is two steps, the lesser one first, not {scheduler}")
            scheduler = _between(first, end)
        super().__init__((lambda step: ProfilerState.CLOSED) if timer_only else scheduler, on_trace_ready)
        #: Seconds and samples of the steps since the last call of step_info.
        self._steps: list[tuple[float, int]] = []
        self._begun = 0.0

    def start(self) -> None:
        """Begins with the first step."""
        self._begun = time.perf_counter()
        super().start()

    def step(self, num_samples: int | None = None) -> None:
        """Goes on to the next step, after one of ``num_samples`` samples."""
        now = time.perf_counter()
        self._steps.append((now - self._begun, num_samples or 0))
        self._begun = now
        super().step()

    def step_info(self, unit: str | None = None) -> str:
        """Returns the mean time of the steps since the last call as text, and how many samples there were a second."""
        steps, self._steps = self._steps, []
        if not steps:
            return ""
        seconds, samples = sum(each for each, _ in steps), sum(each for _, each in steps)
        speed = samples / seconds if samples else len(steps) / seconds
        words = f"{unit or 'samples'}/s" if samples else "steps/s"
        return f" reader_cost: 0.00000 s batch_cost: {seconds / len(steps):.5f} s ips: {speed:.3f} {words}"

    def export(self, path: str = "", format: str = "json") -> None:
        """Writes the times into a file.

        Raises:
            NotImplementedError: ``format`` is not "json".
        """
        if format != "json":
            raise NotImplementedError(f"[Profiler.export] Lamella's paddle front writes 'json', not {format!r}")
        self._found().save_trace(path)

    def summary(
        self,
        sorted_by: SortedKeys = SortedKeys.CPUTotal,
        op_detail: bool = True,
        thread_sep: bool = False,
        time_unit: str = "ms",
        views: Any = None,
    ) -> None:
        """Prints the times by operator: their sums, means, largest and least ones.

        Raises:
            ValueError: ``time_unit`` is no unit.
        """
        units = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
        if time_unit not in units:
            raise ValueError(f"[Profiler.summary] time_unit is one of {', '.join(units)}, not {time_unit!r}")
        times: dict[str, list[float]] = {}
        for call in self._found().calls:
            name = f"{call.name} (backward)" if call.kind == "backward" else call.name
            times.setdefault(name, []).append((call.end - call.begin) * units[time_unit])
        choices: dict[str, Callable[[list[float]], float]] = {
            "Avg": lambda each: sum(each) / len(each),
            "Max": max,
            "Min": min,
            "Total": sum,
        }
        by = choices[sorted_by.name[3:]]
        rows: list[tuple[str, ...]] = [("Name", "Calls", f"Total ({time_unit})", "Avg", "Max", "Min")]
        for name, each in sorted(times.items(), key=lambda item: -by(item[1])):
            numbers = (sum(each), sum(each) / len(each), max(each), min(each))
            rows.append((name, str(len(each)), *(f"{number:.3f}" for number in numbers)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
            print("  ".join(cells))


def load_profiler_result(filename: str) -> list[dict[str, Any]]:
    """Returns the events of a file that :meth:`Profiler.export` has written."""
    with open(filename, encoding="utf-8") as file:
        found = json.load(file)
    events: list[dict[str, Any]] = found["traceEvents"] if isinstance(found, dict) else found
    return events


__all__ = [
    "Profiler",
    "ProfilerState",
    "ProfilerTarget",
    "RecordEvent",
    "SortedKeys",
    "SummaryView",
    "export_chrome_tracing",
    "load_profiler_result",
    "make_scheduler",
]

__getattr__ = close_module(__name__)
