"""Runs a program under valgrind's callgrind, and reads what it counted."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.environments import ROOT, SetupError

_LAMELLA = re.compile(r"(^|/)(liblamella|_C[.])[^/]*$")


class Counts(NamedTuple):
    """Instructions of a process, and of Lamella's libraries within it."""

    all: int
    lamella: int

    def less(self, other: Counts) -> Counts:
        """Returns the difference of these counts to others."""
        return Counts(self.all - other.all, self.lamella - other.lamella)


def count_instructions(command: list[str], variables: Mapping[str, str], folder: Path) -> Counts:
    """Counts what the program has counted: it starts and stops that itself, and dumps once.

    `variables` are all that the program's environment holds; `folder` is an empty one.
    """
    # Valgrind's own loader puts everything at the same address each time, so that no address differs between runs.
    callgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
    done = subprocess.run([*callgrind, *command], cwd=ROOT, env=dict(variables), capture_output=True, text=True)
    dumps = sorted(folder.glob("out.*"))
    if done.returncode != 0 or len(dumps) != 1:
        raise SetupError(
            f"{' '.join(command)} under valgrind failed (status {done.returncode}):\n{done.stderr[-2000:]}"
        )
    return read_counts(dumps[0].read_text().splitlines())


def read_counts(lines: Iterable[str]) -> Counts:
    """Returns the counts in a dump: https://valgrind.org/docs/manual/cl-format.html."""
    objects: dict[str, str] = {}
    total = lamella = 0
    ours = skip = False
    for line in lines:
        if line.startswith("ob="):
            number, _, path = line.removeprefix("ob=").partition(" ")
            ours = bool(_LAMELLA.search(objects.setdefault(number, path)))
        elif line.startswith("cob="):
            number, _, path = line.removeprefix("cob=").partition(" ")
            objects.setdefault(number, path)  # a name stands where its number comes first
        elif line.startswith("calls="):
            skip = True  # the next line tells what the called function took, which is counted there
        elif line[:1] in "0123456789+-*" and line:
            if not skip:
                cost = int(line.split()[1])
                total += cost
                lamella += cost if ours else 0
            skip = False
    return Counts(total, lamella)
