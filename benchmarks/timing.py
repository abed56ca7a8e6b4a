"""Runs a workload's statement in a loop and times it."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from itertools import repeat

from benchmarks.workloads import Work

#: Takes the number of repetitions.
Loop = Callable[[int], None]
#: Seconds, some of the scheduler's ticks: threads that woke on one core are apart by then.
_WARM = 0.015


def wall_ns() -> int:
    """Time on the clock, in nanoseconds."""
    return time.perf_counter_ns()


def cpu_ns() -> int:
    """Time that this process's threads took of all cores, in nanoseconds, and the processes that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() + round((children.ru_utime + children.ru_stime) * 1e9)


#: What is timed, by the name that requests have for it.
CLOCKS = {"wall": wall_ns, "cpu": cpu_ns}


def compile_loop(work: Work) -> Loop:
    """Compiles the statement in a loop with local variables: what is not the framework's costs a few ns at most."""
    body = work.statement.replace("\n", "\n        ")
    source = f"def loop(_times, {', '.join(work.variables)}):\n    for _ in _times:\n        {body}\n"
    namespace: dict[str, Callable[..., None]] = {}
    exec(compile(source, "<workload>", "exec"), namespace)
    loop = namespace["loop"]
    return lambda count: loop(repeat(None, count), **work.variables)


def warm_up(loop: Loop, count: int) -> None:
    """Runs a tenth of `count` repetitions and more: caches, clocks and cores were another process's until now."""
    start = time.perf_counter()
    while True:
        loop(count // 10 + 1)
        if time.perf_counter() - start >= _WARM:
            return


def time_loop(loop: Loop, count: int, clock: Callable[[], int] = wall_ns) -> float:
    """Seconds that `count` repetitions take."""
    start = clock()
    loop(count)
    return (clock() - start) * 1e-9


def calibrate(loop: Loop, seconds: float) -> int:
    """Returns the number of repetitions that take about `seconds`; warms up on the way."""
    loop(3)  # what a framework does once only
    count = 1
    while (taken := min(time_loop(loop, count), time_loop(loop, count))) < seconds / 4:
        count *= 2
    return max(1, round(count * seconds / taken))
