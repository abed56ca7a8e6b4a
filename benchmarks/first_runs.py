"""The first runs of a workload, with what they compile: `python -m benchmarks.first_runs FRAMEWORK WORKLOAD CLOCK`.

It prints the time in seconds of the first RUNS runs of the statement, its data and its model made ready before. What a
framework imports to compile counts, as a user waits for it, too.
"""

from __future__ import annotations

import os
import sys

from benchmarks.adapters import load
from benchmarks.compiled import COMPILED
from benchmarks.timing import CLOCKS, compile_loop, time_loop

#: Lamella runs compiled code in the third; PyTorch compiles an optimizer's step again in the second.
RUNS = 3


def main(framework: str, work: str, clock: str) -> None:
    """Prints the figure."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a framework prints must not get into the answer
    adapter = load(framework)
    adapter.set_threads(int(os.environ["OMP_NUM_THREADS"]))
    prepare = COMPILED[work].prepare
    if prepare is None:
        raise ValueError(f"{work} has nothing to run")
    print("seconds", time_loop(compile_loop(prepare(adapter)), RUNS, CLOCKS[clock]), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
