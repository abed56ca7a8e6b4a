"""Instructions per op, compared with those on record: `python -m benchmarks.instructions`.

Callgrind counts what small workloads take, in Python and in C++, on one thread and with the kernels of one instruction
set. Two runs of the same tree agree to the instruction. Fails where one takes more than on record by more than the
tolerance; `--renew` records what was counted.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.building import build
from benchmarks.callgrind import Counts, count_instructions
from benchmarks.counted import COUNTED, NOTHING
from benchmarks.environments import ROOT, SetupError
from benchmarks.machine import usable_cores
from benchmarks.native import NATIVE
from benchmarks.report import text_table
from benchmarks.workloads import WORKLOADS

RECORD = ROOT / "benchmarks" / "instructions.json"
#: Number of runs of each statement while it is counted.
RUNS = 10
#: Instruction set of the counted kernels: valgrind knows no AVX-512.
ISA = "x86-64-v3"
#: Largest share by which a figure may exceed the record. With the compiler, Python and C library of the record, figures
#: come out to the instruction again for the same sources (the interpreter's share moves by 0.1 % with what importlib
#: keeps of the folders' contents). The tolerance is room to add a branch to a path that all ops share without a new
#: record: about 20 instructions of the shortest ops.
TOLERANCE = 0.02
#: Largest share with another compiler, Python or C library, where only Lamella's own instructions are compared:
#: compilers differ in what they inline by some percent.
OTHER_TOOLCHAIN_TOLERANCE = 0.1

#: Whole environment of the counted programs, as its size moves the stack.
ENVIRONMENT = {
    "LAMELLA_CPU_ISA": ISA,
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "python")]),
}


class Finding(NamedTuple):
    """One row: what was counted beside what is on record, both per op."""

    name: str
    counted: Counts
    recorded: Counts | None
    #: Verdict: "", "better", "WORSE", or "NOT ON RECORD".
    verdict: str


def judge(counted: Mapping[str, Counts], recorded: Mapping[str, Counts], *, same_toolchain: bool) -> list[Finding]:
    """Compares each with the record's."""
    return [_judge_one(name, counts, recorded.get(name), same_toolchain) for name, counts in counted.items()]


def _judge_one(name: str, counted: Counts, recorded: Counts | None, same_toolchain: bool) -> Finding:
    if recorded is None:
        return Finding(name, counted, None, "NOT ON RECORD")
    tolerance = TOLERANCE if same_toolchain else OTHER_TOOLCHAIN_TOLERANCE
    pairs = [(counted.lamella, recorded.lamella), *([(counted.all, recorded.all)] if same_toolchain else [])]
    if any(now > before * (1 + tolerance) for now, before in pairs):
        return Finding(name, counted, recorded, "WORSE")
    better = any(now < before * (1 - tolerance) for now, before in pairs)
    return Finding(name, counted, recorded, "better" if better else "")


def ops_of(name: str) -> int:
    """Returns the number of ops in one run of a workload's statement."""
    language, _, work = name.partition(" ")
    table = NATIVE if language == "c++" else WORKLOADS
    return table[work].ops if work in table else 1


def table(findings: Iterable[Finding]) -> list[list[str]]:
    """Returns the report's cells, per op."""
    rows = [["instructions per op", "all", "on record", "Lamella's own", "on record", "difference", ""]]
    for name, counted, recorded, verdict in findings:
        runs = RUNS * ops_of(name)
        cells = [f"{counted.all / runs:.1f}", "", f"{counted.lamella / runs:.1f}", "", "", verdict]
        if recorded is not None:
            cells[1], cells[3] = f"{recorded.all / runs:.1f}", f"{recorded.lamella / runs:.1f}"
            cells[4] = f"{counted.lamella / recorded.lamella - 1:+.2%}"
        rows.append([name, *cells])
    return rows


@dataclass(frozen=True)
class Programs:
    """Programs whose instructions are counted, built and ready to run."""

    python: Path
    counter: Path
    #: C++ program; None if no C++ workload is wanted.
    native: Path | None

    def command(self, name: str) -> list[str]:
        """Returns the command that runs a workload's loop: "python add" or "c++ add"."""
        language, _, work = name.partition(" ")
        if language == "c++":
            assert self.native is not None
            return [str(self.native), work, str(RUNS)]
        return [str(self.python), "-m", "benchmarks.counted", work, str(RUNS), str(self.counter)]

    def count(self, name: str) -> Counts:
        """Returns the instructions of all runs, those of an empty loop included."""
        with tempfile.TemporaryDirectory() as folder:
            return count_instructions(self.command(name), ENVIRONMENT, Path(folder))


def names() -> list[str]:
    """Returns all that is counted."""
    return [*(f"python {name}" for name in COUNTED if name != NOTHING), *(f"c++ {name}" for name in NATIVE)]


def count_all(programs: Programs, wanted: Sequence[str]) -> dict[str, Counts]:
    """Counts these, less what an empty loop takes."""
    languages = sorted({name.partition(" ")[0] for name in wanted})
    empty = {language: f"{language} {NOTHING}" for language in languages}
    with ThreadPoolExecutor(usable_cores()) as pool:
        everything = [*empty.values(), *wanted]
        counts = dict(zip(everything, pool.map(programs.count, everything), strict=True))
    return {name: counts[name].less(counts[empty[name.partition(" ")[0]]]) for name in wanted}


def toolchain(python: Path, valgrind: str) -> dict[str, Any]:
    """Returns what the figures depend on beside the sources."""
    script = "import json, lamella.config as about; print(json.dumps(about.config()))"
    done = subprocess.run([str(python), "-c", script], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode != 0:
        raise SetupError(
            f"Lamella does not start with {ISA} kernels (LAMELLA_PRESET=ci ./dev build makes them):\n{done.stderr}"
        )
    config = json.loads(done.stdout)
    version = subprocess.run([valgrind, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "compiler": config["compiler"],
        "kernels": config["cpu kernels"],
        "parallel loops": config["parallel loops"],
        "built with CUDA": config["built with CUDA"],
        "python": config["python"],
        "libc": " ".join(platform.libc_ver()),
        "valgrind": version,
        "architecture": platform.machine(),
    }


def _difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {ours[key]} and not {theirs.get(key)}" for key in ours if ours[key] != theirs.get(key))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit status: 1 if something takes more instructions than on record."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="names or patterns such as 'c++ *' (all)")
    parser.add_argument("--python", type=Path, default=ROOT / ".venv" / "bin" / "python", help="(.venv/bin/python)")
    parser.add_argument("--record", type=Path, default=RECORD, help="(benchmarks/instructions.json)")
    parser.add_argument("--renew", action="store_true", help="record what is counted now")
    parser.add_argument("--list", action="store_true", help="show the workloads")
    options = parser.parse_args(arguments)
    wanted = [name for name in names() if _is_wanted(name, options.workloads)]
    if options.list:
        print(*wanted, sep="\n")
        return 0
    if platform.machine() != "x86_64":
        print("skipped: the record is for x86-64")
        return 0
    try:
        return _run(options, wanted)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 2


def _is_wanted(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _run(options: argparse.Namespace, wanted: Sequence[str]) -> int:
    if not wanted:
        raise SetupError(f"no workload matches {' or '.join(options.workloads)}: --list shows them")
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise SetupError("valgrind is needed to count instructions (Debian: valgrind; ./dev setup ci installs it)")
    native = build("benchmark_instructions") if any(name.startswith("c++ ") for name in wanted) else None
    programs = Programs(options.python, build("benchmark_counter"), native)
    ours = toolchain(options.python, valgrind)
    counted = count_all(programs, wanted)
    before = json.loads(options.record.read_text()) if options.record.is_file() else {}
    theirs = before.get("toolchain", {})
    recorded = {name: Counts(**counts) for name, counts in before.get("instructions", {}).items()}
    findings = judge(counted, recorded, same_toolchain=ours == theirs)
    print(text_table(table(findings)))
    if options.renew:
        kept = {name: counts._asdict() for name, counts in {**recorded, **counted}.items() if name in names()}
        if theirs not in ({}, ours) and len(counted) < len(names()):
            raise SetupError("another toolchain than on record: renew all workloads together")
        record = {
            "runs": RUNS,
            "toolchain": ours,
            "instructions": {name: kept[name] for name in names() if name in kept},
        }
        options.record.write_text(json.dumps(record, indent=1) + "\n")
        print(f"recorded in {options.record}")
        return 0
    return _report(findings, _difference(ours, theirs))


def _report(findings: Sequence[Finding], other_toolchain: str) -> int:
    if other_toolchain:
        print(f"another toolchain than on record ({other_toolchain}): only Lamella's own instructions are compared")
    tolerance = OTHER_TOOLCHAIN_TOLERANCE if other_toolchain else TOLERANCE
    bad = [finding for finding in findings if finding.verdict not in ("", "better")]
    if any(finding.verdict == "better" for finding in findings) and not other_toolchain:
        print("better than on record: `python -m benchmarks.instructions --renew` keeps it so")
    if bad:
        print(f"more than {tolerance:.0%} above the record, or not on it: {', '.join(finding.name for finding in bad)}")
        print("Where that is meant, renew the record: python -m benchmarks.instructions --renew")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
