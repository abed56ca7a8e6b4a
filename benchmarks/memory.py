"""Checks that memory stays constant: `python -m benchmarks.memory` compares it after 100 and after 10,000 repetitions.

Each case runs in a fresh process. Fails where the bytes that tensors hold, or the resident memory of the process,
differ by more than the tolerances below.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.environments import ROOT, Environment, SetupError, environment
from benchmarks.machine import usable_cores

FEW, MANY = 100, 10_000
#: Growth allowed in bytes held by tensors: none.
ALLOCATED_TOLERANCE = 0
#: Growth allowed in resident bytes: pages that the interpreter and the C library touch late. Leaking 106 bytes per
#: repetition exceeds it.
RESIDENT_TOLERANCE = 2**20


class Memory(NamedTuple):
    """Memory that a process holds, in bytes."""

    allocated: int
    resident: int


def _training(optimizer: str) -> Callable[[], object]:
    """Trains a small network with a PyLayer in it, on new data in every step."""
    import numpy as np

    import lamella as lm
    from benchmarks.adapters.adapter_lamella import Tanh

    class Activation(lm.nn.Module):
        def forward(self, x: lm.Tensor) -> lm.Tensor:
            return Tanh.apply(x)

    first, second, last = lm.nn.Linear(64, 32), lm.nn.Linear(32, 32), lm.nn.Linear(32, 10)
    model = lm.nn.Sequential(first, Activation(), second, lm.nn.ReLU(), last)
    options: dict[str, float] = {"momentum": 0.9} if optimizer == "SGD" else {}
    updater = getattr(lm.optim, optimizer)(model.parameters(), lr=0.01, **options)
    numbers = np.random.default_rng(0)

    def step() -> None:
        x = lm.tensor(numbers.standard_normal((16, 64), dtype=np.float32))
        labels = lm.tensor(numbers.integers(0, 10, 16))
        updater.zero_grad()
        loss = lm.cross_entropy(model(x), labels)
        loss.backward()
        updater.step()
        loss.item()

    return step


def _abandoned(keep: Callable[[Any, Any], object]) -> Callable[[], object]:
    """Calls a PyLayer whose backward never runs; `keep(ctx, y)` is how it keeps its output."""
    import lamella as lm

    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            y = lm.tanh(x)
            keep(ctx, y)
            return y

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return dy

    x = lm.tensor([[0.1] * 32] * 32, stop_gradient=False)
    return lambda: Layer.apply(x)


def _keep_attribute(ctx: Any, y: Any) -> None:
    ctx.y = y


def _keep_view(ctx: Any, y: Any) -> None:
    ctx.y = y[0]


def _keep_list(ctx: Any, y: Any) -> None:
    ctx.kept = {"all": [y]}


def _keep_closure(ctx: Any, y: Any) -> None:
    ctx.function = lambda: y


#: Repeated cases by name.
CASES: dict[str, Callable[[], Callable[[], object]]] = {
    "training step, SGD with momentum": lambda: _training("SGD"),
    "training step, Adam": lambda: _training("Adam"),
    "PyLayer without backward, output saved": lambda: _abandoned(lambda ctx, y: ctx.save_for_backward(y)),
    "PyLayer without backward, output as an attribute": lambda: _abandoned(_keep_attribute),
    "PyLayer without backward, view of the output": lambda: _abandoned(_keep_view),
    "PyLayer without backward, output in containers": lambda: _abandoned(_keep_list),
    "PyLayer without backward, output in a closure": lambda: _abandoned(_keep_closure),
}


def measure(case: str) -> tuple[Memory, Memory]:
    """Memory after FEW and after MANY repetitions, in this process."""
    import lamella as lm

    repeat = CASES[case]()

    def memory() -> Memory:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return Memory(lm.memory_allocated(), pages * os.sysconf("SC_PAGE_SIZE"))

    for _ in range(FEW):
        repeat()
    few = memory()
    for _ in range(MANY - FEW):
        repeat()
    return few, memory()


def within_tolerance(few: Memory, many: Memory) -> bool:
    """True if both kinds of memory stayed what they were."""
    allocated = abs(many.allocated - few.allocated) <= ALLOCATED_TOLERANCE
    return allocated and abs(many.resident - few.resident) <= RESIDENT_TOLERANCE


def _measure_in_process(case: str, where: Environment) -> tuple[Memory, Memory] | None:
    """Measures the case in a fresh process; None if that failed, which it has reported itself."""
    done = subprocess.run(
        [str(where.python), "-m", "benchmarks.memory", "--case", case],
        cwd=ROOT,
        env=where.variables(usable_cores()),
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode != 0:
        return None
    few, many = json.loads(done.stdout)
    return Memory(*few), Memory(*many)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit status: 1 if memory grew or shrank, or a case failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--python", type=Path, help="the Python that has Lamella's requirements (.venv/bin/python)")
    parser.add_argument("--case", choices=CASES, help="measure one case in this very process, and print JSON")
    options = parser.parse_args(arguments)
    if options.case:
        print(json.dumps(measure(options.case)))
        return 0
    try:
        where = environment("lamella", lamella_python=options.python, renew=False, say=print)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{'bytes after':52}{'':8}{FEW:>12,}{MANY:>14,}{'difference':>14}")
    failed = False
    for case in CASES:
        memory = _measure_in_process(case, where)
        good = memory is not None and within_tolerance(*memory)
        failed |= not good
        if memory is None:
            print(f"{case:52}FAILED")
            continue
        names = (case, "" if good else "  DIFFERS TOO MUCH")
        for name, kind, before, after in zip(names, ("tensors", "process"), *memory, strict=True):
            print(f"{name:52}{kind:8}{before:>12,}{after:>14,}{after - before:>+14,}", flush=True)
    print(f"tolerance: {ALLOCATED_TOLERANCE:,} bytes of tensors, {RESIDENT_TOLERANCE:,} of the process")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
