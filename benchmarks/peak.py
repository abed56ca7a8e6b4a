"""The peak of memory in a workload's steady state: `python -m benchmarks.peak FRAMEWORK WORKLOAD` prints it in bytes.

What counts is the anonymous memory of the process (what a framework allocates, by any allocator) beyond what it held
before the workload was made ready: weights, gradients, optimizer state, data, temporaries, and what the allocator
keeps. The pages of files, such as a framework's own code, do not count; after the first steps they no longer change.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from benchmarks.adapters import Adapter, load
from benchmarks.timing import compile_loop
from benchmarks.workloads import WORKLOADS, Work

#: Steps before and while the peak is taken.
WARM_UP, STEPS = 5, 20


def _status() -> dict[str, int]:
    """Returns the process's memory in bytes by the names of /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = (line.split() for line in lines if line.endswith(" kB"))
    return {name.removesuffix(":"): int(kilobytes) * 1024 for name, kilobytes, _ in fields}


def _files(status: dict[str, int]) -> int:
    return status["RssFile"] + status["RssShmem"]


def _wake(fw: Adapter) -> None:
    """Starts what a framework starts at its first call, threads for one."""
    import numpy as np

    x = fw.tensor(np.ones((256, 256), np.float32), wants_grad=True)
    exec("y = fw.relu(x @ x)\ny.backward(x)", {"fw": fw, "x": x})


def peak(fw: Adapter, work: str) -> int:
    """Returns the peak in bytes above what this process held before; OSError where the kernel does not tell it."""
    prepare = WORKLOADS[work].prepare
    if prepare is None:
        raise ValueError(f"{work} has nothing to run in a loop")
    _wake(fw)
    gc.collect()
    before = _status()["RssAnon"]
    return _steady_peak(prepare(fw)) - before


def _steady_peak(work: Work) -> int:
    """Returns the most anonymous memory that the process holds meanwhile."""
    loop = compile_loop(work)
    loop(WARM_UP)
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew: proc(5)
    loop(STEPS)
    status = _status()
    return status["VmHWM"] - _files(status)


def main(framework: str, work: str) -> None:
    """Prints the figure."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a framework prints must not get into the answer
    adapter = load(framework)
    adapter.set_threads(int(os.environ["OMP_NUM_THREADS"]))
    print("bytes", peak(adapter, work), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
