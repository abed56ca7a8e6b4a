"""Runs benchmarks by their name, on Lamella alone: what `./dev bench NAME` calls.

A name is that of a workload of `benchmarks/run`, of an operator of its sweep (all its shapes), or of one of the other
programs, which run whole.
"""

from __future__ import annotations

import difflib
import sys
import textwrap
from collections.abc import Callable, Sequence

from benchmarks import driver, instructions, memory, native_run, opdb

#: Function that runs a benchmark with the arguments that follow its name, and returns the exit status.
Run = Callable[[Sequence[str]], int]
PROGRAMS: dict[str, Run] = {
    "compiled": lambda options: driver.main(["compiled", *options]),
    "cpp": native_run.main,
    "instructions": instructions.main,
    "memory": memory.main,
    "opdb": opdb.main,
    "ported": lambda options: driver.main(["ported", *options]),
}


def names() -> dict[str, list[str]]:
    """Returns the names of benchmarks, by what they are names of."""
    operators = sorted({workload.group for workload in driver.OPERATORS.workloads.values()})
    return {"workloads": [*driver.WHOLE.workloads], "operators": operators, "programs": [*PROGRAMS]}


def runs_of(name: str) -> list[Run]:
    """Returns what is to be run for a name; nothing where there is no such benchmark."""
    known = names()
    alone = ["-f", "lamella"]
    runs: list[Run] = []
    if name in known["workloads"]:
        runs.append(lambda options: driver.main([name, *alone, *options]))
    if name in known["operators"]:
        runs.append(lambda options: driver.main(["sweep", name, *alone, *options]))
    return [*runs, PROGRAMS[name]] if name in PROGRAMS else runs


def listing() -> str:
    """Returns the names, for people."""
    wrapped = (
        f"{kind}:\n{textwrap.fill(' '.join(members), 118, initial_indent='  ', subsequent_indent='  ')}"
        for kind, members in names().items()
    )
    return "\n".join(wrapped)


def main(arguments: Sequence[str]) -> int:
    """Runs the command. Returns its exit status: 2 if there is no benchmark of that name."""
    if not arguments:
        print(listing())
        return 0
    name, *options = arguments
    runs = runs_of(name)
    if not runs:
        every = [member for members in names().values() for member in members]
        near = difflib.get_close_matches(name, set(every))
        print(
            f"there is no benchmark {name!r}" + (f"; did you mean {', '.join(near)}?" if near else ""), file=sys.stderr
        )
        print(listing(), file=sys.stderr)
        return 2
    return max(run(options) for run in runs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
