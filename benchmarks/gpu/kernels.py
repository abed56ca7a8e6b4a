"""Lists the kernels of the training steps of networks.py, Lamella's and PyTorch's.

python -m benchmarks.gpu.kernels [NAME...]

PyTorch's profiler records them (CUPTI sees those of the whole process). For each step: its time, the time in which
the host had queued it, and the kernels by their sum of time.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

import lamella as lm
from benchmarks.gpu.networks import WORKS, step_of

STEPS = 5
ROWS = 24


def kernels_of(function: Callable[[], Any]) -> list[tuple[float, float, str]]:
    """Returns time (in µs) and number for a call of all kernels and copies, by name, the longest first."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(STEPS):
            function()
        lm.cuda.synchronize()
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0])
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            found[event.name][0] += event.device_time / STEPS
            found[event.name][1] += 1 / STEPS
    return sorted(((total, count, name) for name, (total, count) in found.items()), reverse=True)


def report(framework: ModuleType, name: str, function: Callable[[], Any]) -> None:
    """Prints the kernels of a function."""
    for _ in range(3):
        function()
    lm.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(STEPS):
        function()
    queued = (time.perf_counter() - begin) / STEPS
    lm.cuda.synchronize()
    whole = (time.perf_counter() - begin) / STEPS
    kernels = kernels_of(function)
    busy, count = sum(row[0] for row in kernels), sum(row[1] for row in kernels)
    times = f"{whole * 1e6:.0f} µs, queued in {queued * 1e6:.0f}, {count:.0f} kernels of {busy:.0f}"
    print(f"## {framework.__name__}, {name}: {times}")
    for total, each, kernel in kernels[:ROWS]:
        print(f"{total:9.1f} µs {each:6.1f} x  {kernel[:150]}")
    print(flush=True)


def main() -> None:
    """Reports on the steps whose names hold one of the arguments, or on all."""
    for work in WORKS:
        if len(sys.argv) > 1 and not any(part in work.name for part in sys.argv[1:]):
            continue
        for framework in (lm, torch):
            report(framework, work.name, step_of(framework, work)[1])


if __name__ == "__main__":
    main()
