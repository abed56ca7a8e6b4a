"""`benchmarks/run cpp`: Lamella's C++ beside libtorch's, in turns."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import machine, report
from benchmarks.agreement import TOLERANCE
from benchmarks.building import build
from benchmarks.driver import BUSY, RESULTS, SCRATCH, choose, in_turn, say, write
from benchmarks.environments import PACKAGES, SetupError, environment
from benchmarks.native import NATIVE
from benchmarks.process import plot
from benchmarks.workloads import Workload

PEERS = ("lamella", "torch")


@dataclass
class NativeRun:
    """One run of the programs."""

    programs: dict[str, Path]
    #: Environment variables of each program's process.
    variables: dict[str, dict[str, str]]
    workloads: list[Workload]
    rounds: int
    batch_seconds: float
    #: Figures: seconds for one run of the work, one per round.
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    load: machine.Load = field(default_factory=lambda: machine.Load(0.0, 0.0))

    def check(self) -> list[str]:
        """Compares the programs' results; returns what differs, in words."""
        ours, theirs = (self._results(name) for name in PEERS)
        return compare(ours, theirs)

    def time(self) -> None:
        """Times all workloads, one process after the other, another one going first in each round."""
        self.figures = {workload.name: {name: [] for name in self.programs} for workload in self.workloads}
        meter = machine.LoadMeter()
        for number in range(self.rounds):
            for name in in_turn(list(self.programs), number):
                for work, seconds in self._times(name).items():
                    self.figures[work][name].append(seconds)
            say(f"  round {number + 1} of {self.rounds}")
        self.load = meter.load()

    def _results(self, name: str) -> dict[str, list[float]]:
        lines = (line.split() for line in self._run(name, ["--results"]).splitlines())
        return {work: [float(value) for value in values] for work, *values in lines}

    def _times(self, name: str) -> dict[str, float]:
        chosen = "|".join(workload.name for workload in self.workloads)
        options = [f"--benchmark_filter=^({chosen})$", f"--benchmark_min_time={self.batch_seconds:g}"]
        answer = json.loads(self._run(name, [*options, "--benchmark_format=json"]))
        units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
        return {one["name"]: one["real_time"] * units[one["time_unit"]] for one in answer["benchmarks"]}

    def _run(self, name: str, arguments: list[str]) -> str:
        command = [str(self.programs[name]), *arguments]
        done = subprocess.run(command, env=self.variables[name], capture_output=True, text=True)
        if done.returncode != 0:
            raise SetupError(f"{name}'s program failed (status {done.returncode}):\n{done.stderr[-2000:]}")
        return done.stdout


def compare(ours: dict[str, list[float]], theirs: dict[str, list[float]]) -> list[str]:
    """Returns the difference between the results of two programs, in words."""
    if list(ours) != list(theirs):
        return [f"the programs have other workloads: {', '.join(ours)} and {', '.join(theirs)}"]
    found = []
    for work, values in ours.items():
        others = theirs[work]
        scale = max((abs(value) for value in (*values, *others)), default=0.0)
        close = (
            math.isclose(a, b, rel_tol=0.0, abs_tol=TOLERANCE * scale) for a, b in zip(values, others, strict=False)
        )
        if len(values) != len(others) or not all(close):
            found.append(f"{work}: {values} and {others}")
    return found


def _about(name: str, python: Path, variables: dict[str, str]) -> dict[str, Any]:
    """Returns the version, and where the package is."""
    script = (
        "import importlib.metadata as metadata, importlib.util as util, json\n"
        f"print(json.dumps([metadata.version({name!r}), util.find_spec({name!r}).origin]))"
        if name != "lamella"
        else "import json, lamella\nprint(json.dumps([lamella.__version__, lamella.__file__]))"
    )
    done = subprocess.run([str(python), "-c", script], env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        raise SetupError(f"{name} is not there: {done.stderr.strip().rpartition(chr(10))[2]}")
    version, file = json.loads(done.stdout)
    return {"version": version, "folder": Path(file).parent}


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks/run cpp",
        description="Times Lamella's C++ beside that of the torch wheel, by Google Benchmark.",
    )
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="names or patterns such as 'chain*' (all)")
    parser.add_argument("-r", "--rounds", type=int, default=10, help="processes of each program (%(default)s)")
    parser.add_argument("-b", "--batch", type=float, default=0.1, metavar="SECONDS", help="one batch (%(default)s)")
    parser.add_argument("-t", "--threads", type=int, default=machine.usable_cores(), help="for each (%(default)s)")
    parser.add_argument("-o", "--output", type=Path, help="folder for the JSON and Markdown files")
    parser.add_argument("--check", action="store_true", help="only compare the results")
    parser.add_argument("--list", action="store_true", help="show the workloads")
    parser.add_argument("--python", type=Path, help="the Python that has Lamella's requirements (.venv/bin/python)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit status."""
    options = _arguments(sys.argv[1:] if arguments is None else arguments)
    if options.list:
        for workload in NATIVE.values():
            print(f"{workload.name:22} {workload.title}")
        return 0
    try:
        return _run(options)
    except SetupError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        return 130


def _run(options: argparse.Namespace) -> int:
    workloads = choose(options.workloads, NATIVE)
    programs, variables, about = {}, {}, {}
    for name in PEERS:
        where = environment(name, lamella_python=options.python, renew=False, say=say)
        variables[name] = where.variables(options.threads)
        known = _about(name, where.python, variables[name])
        say(f"building the program for {name}")
        programs[name] = build("benchmark_timings", torch=known["folder"] if name in PACKAGES else None)
        about[name] = {"version": known["version"]}
    run = NativeRun(programs, variables, workloads, options.rounds, options.batch)
    before = machine.load_over(1.0)
    say("comparing the results")
    failures = run.check()
    if not options.check and not failures:
        say(f"timing, {options.rounds} rounds of {options.batch:g} s for each workload")
        run.time()
        table = report.rows(run.figures, PEERS, NATIVE, minima=True)
        print(report.text_table(table))
        record = _record(run, about, options.threads)
        busy = max(before.others, run.load.others) > BUSY
        folder = options.output or (SCRATCH if busy or len(workloads) < len(NATIVE) else RESULTS)
        path = write(record, table, folder, "-cpp")
        say(f"{'a busy machine: ' if busy else ''}written to {path}.json and .md")
        say(plot(environment("lamella", lamella_python=options.python, renew=False, say=say), Path(f"{path}.json")))
    for failure in failures:
        say(f"failed: {failure}")
    return 1 if failures else 0


def _record(run: NativeRun, about: dict[str, dict[str, Any]], threads: int) -> dict[str, Any]:
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine.describe(),
        "load": {"others": run.load.others, "stolen": run.load.stolen},
        "frameworks": about,
        "threads": threads,
        "rounds": run.rounds,
        "batch_seconds": run.batch_seconds,
        "ops_per_run": {workload.name: workload.ops for workload in run.workloads if workload.ops != 1},
        "seconds": run.figures,
        "failures": [],
    }
