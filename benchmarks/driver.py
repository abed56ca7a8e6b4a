"""Chooses, checks, times in turns, and reports."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import fnmatch
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import machine, report
from benchmarks.adapters import COMPILED_FRAMEWORKS, FRAMEWORKS, PORTED_FRAMEWORKS
from benchmarks.agreement import difference
from benchmarks.compiled import COMPILED
from benchmarks.environments import PACKAGES, ROOT, SHARED, Environment, SetupError, environment
from benchmarks.figures import ratios, spread
from benchmarks.operators.workloads import SWEEP
from benchmarks.ported import PORTED
from benchmarks.process import WorkerError, WorkerProcess, first_runs_seconds, import_seconds, peak_bytes, plot
from benchmarks.workloads import WORKLOADS, Workload

RESULTS = ROOT / "benchmarks" / "results"
#: Folder of results that are not kept.
SCRATCH = ROOT / "build" / "benchmarks"
#: Share of the machine's time used by others above which results are not kept.
BUSY = 0.03
#: Cases of a long table whose ratio is above NEAR times their goal are timed again, with MORE times the rounds.
NEAR, MORE = 0.8, 5
#: Largest number of rounds in fresh processes, which take long and vary little; and of those that compile.
PROCESS_ROUNDS, COMPILING_ROUNDS = 7, 3


def say(text: str) -> None:
    """Tells what is going on, apart from the table on standard output."""
    print(text, file=sys.stderr, flush=True)


@dataclass
class Run:
    """One run of the benchmarks."""

    environments: dict[str, Environment]
    workloads: list[Workload]
    rounds: int
    batch_seconds: float
    threads: int
    verbose: bool = False
    #: True if a case near its goal, or above it, is timed again with more rounds.
    again: bool = False
    #: What is timed: "wall", or "cpu" (see benchmarks.timing.CLOCKS).
    clock: str = "wall"
    about: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Figures by workload and framework, one per round: seconds for one run, or bytes, by the workload's kind.
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    load: machine.Load = field(default_factory=lambda: machine.Load(0.0, 0.0))
    _failed: set[tuple[str, str]] = field(default_factory=set)

    def check(self) -> None:
        """Starts the workers, and runs each workload once everywhere to compare the results. Keeps what agrees."""
        with contextlib.ExitStack() as stack:
            workers = self._start(stack)
            for workload in self.workloads:
                if workload.prepare is not None and workload.kind != "cached":  # the same work as "cold"
                    self._compare(workload, workers)

    def time(self) -> None:
        """Times all workloads, the frameworks taking turns."""
        with contextlib.ExitStack() as stack:
            workers = self._start(stack)
            meter = machine.LoadMeter([worker.pid for worker in workers.values()])
            for workload in self.workloads:
                if workload.kind == "time":
                    self._time(workload, workers, self.rounds)
                else:
                    self._measure_processes(workload)
            if self.again:
                near = [workload for workload in self.workloads if self._is_near_goal(workload)]
                say(f"timing again what is above {NEAR:g} of its goal: {len(near)} cases, {MORE * self.rounds} rounds")
                for workload in near:
                    self._time(workload, workers, MORE * self.rounds)
            self.load = meter.load()

    def record(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "machine": machine.describe(),
            "load": {"others": self.load.others, "stolen": self.load.stolen},
            "frameworks": self.about,
            "threads": self.threads,
            "clock": self.clock,
            "rounds": self.rounds,
            "rounds_near_goals": MORE * self.rounds if self.again else self.rounds,
            "batch_seconds": self.batch_seconds,
            "ops_per_run": {workload.name: workload.ops for workload in self.workloads if workload.ops != 1},
            "seconds": {name: figures for name, figures in self.figures.items() if not self._of_memory(name)},
            "bytes": {name: figures for name, figures in self.figures.items() if self._of_memory(name)},
            "failures": self.failures,
        }

    def _is_near_goal(self, workload: Workload) -> bool:
        figures = self.figures.get(workload.name, {})
        if workload.goal is None or not {"lamella", "torch"} <= figures.keys():
            return False
        return spread(ratios(figures["lamella"], figures["torch"])).median > NEAR * workload.goal

    def _of_memory(self, name: str) -> bool:
        return any(workload.name == name and workload.kind == "memory" for workload in self.workloads)

    def _start(self, stack: contextlib.ExitStack) -> dict[str, WorkerProcess]:
        workers = {}
        for name, where in self.environments.items():
            worker = stack.enter_context(WorkerProcess(where, self.threads, quiet=not self.verbose))
            self._start_one(worker)
            workers[name] = worker
        return workers

    def _start_one(self, worker: WorkerProcess) -> None:
        name = worker.environment.framework
        try:
            self.about[name] = worker.start()
        except WorkerError as error:
            raise SetupError(f"{name} does not start: {error}\n{error.details}(--verbose shows its messages)") from None

    def _fail(self, framework: str, workload: Workload, error: WorkerError) -> None:
        self._failed.add((framework, workload.name))
        self.failures.append(f"{framework}, {workload.name}: {str(error).partition(chr(10))[0]}")
        say(f"  {self.failures[-1]}")
        if self.verbose and error.details:
            say(error.details)

    def _ask(self, worker: WorkerProcess, workload: Workload, what: str, **arguments: Any) -> dict[str, Any] | None:
        """Returns the answer, or None after noting the failure; restarts a worker that died for the next workloads."""
        try:
            return worker.ask(what, workload=workload.name, **arguments)
        except WorkerError as error:
            self._fail(worker.environment.framework, workload, error)
            if error.died:
                self._start_one(worker)
            return None

    def _compare(self, workload: Workload, workers: dict[str, WorkerProcess]) -> None:
        workers = {name: worker for name, worker in workers.items() if workload.is_for(name)}
        answers = {name: self._ask(worker, workload, "check") for name, worker in workers.items()}
        results = {name: answer["results"] for name, answer in answers.items() if answer is not None}
        if len(results) < 2:
            return
        reference = "torch" if "torch" in results else next(iter(results))
        for name, result in results.items():
            found = difference(result, results[reference], workload.tolerance)
            if found is not None:
                error = WorkerError(f"other results than {reference}: {found}", died=False)
                self._fail(name, workload, error)

    def _time(self, workload: Workload, workers: dict[str, WorkerProcess], rounds: int) -> None:
        counts: dict[str, int] = {}
        for name, worker in workers.items():
            if (name, workload.name) in self._failed or not workload.is_for(name):
                continue
            answer = self._ask(worker, workload, "calibrate", seconds=self.batch_seconds)
            if answer is not None:
                counts[name] = answer["count"]
                worker.settle()
        times: dict[str, list[float]] = {name: [] for name in counts}
        for number in range(rounds):
            for name in in_turn(list(counts), number):
                answer = self._ask(workers[name], workload, "time", count=counts[name], clock=self.clock)
                if answer is None:
                    del counts[name], times[name]
                else:
                    times[name].append(answer["seconds"] / counts[name])
                    workers[name].settle()
        self._note(workload, times)

    def _measure_processes(self, workload: Workload) -> None:
        figures: dict[str, list[float]] = {
            name: []
            for name in self.environments
            if (name, workload.name) not in self._failed and workload.is_for(name)
        }
        most = COMPILING_ROUNDS if workload.kind in ("cold", "cached") else PROCESS_ROUNDS
        for number in range(min(self.rounds, most) + 1):
            for name in in_turn(list(figures), number):
                try:
                    figures[name].append(self._in_fresh_process(workload, self.environments[name]))
                except WorkerError as error:
                    self._fail(name, workload, error)
                    del figures[name]
        # The first round is dropped, as it reads the files into memory, and fills the caches.
        self._note(workload, {name: rounds[1:] for name, rounds in figures.items()})

    def _in_fresh_process(self, workload: Workload, where: Environment) -> float:
        if workload.kind == "import":
            return import_seconds(where, self.threads)
        if workload.kind == "cold":
            with tempfile.TemporaryDirectory(prefix="lamella-benchmarks-") as folder:
                return first_runs_seconds(where, self.threads, workload.name, self.clock, Path(folder))
        if workload.kind == "cached":
            cache = SCRATCH / "caches" / where.framework
            return first_runs_seconds(where, self.threads, workload.name, self.clock, cache)
        return peak_bytes(where, self.threads, workload.name)

    def _note(self, workload: Workload, figures: dict[str, list[float]]) -> None:
        self.figures[workload.name] = {name: figures[name] for name in self.environments if name in figures}
        medians = {name: sorted(rounds)[len(rounds) // 2] / workload.ops for name, rounds in figures.items()}
        shown = (f"{name} {report.format_figure(median, workload)}" for name, median in medians.items())
        say(f"  {workload.name}: {', '.join(shown)}")


def in_turn(names: list[str], number: int) -> list[str]:
    """Another one goes first in every round."""
    start = number % max(len(names), 1)
    return names[start:] + names[:start]


@dataclass(frozen=True)
class Suite:
    """Workloads of a command, and how thoroughly they are timed by default."""

    command: str
    description: str
    workloads: dict[str, Workload]
    frameworks: tuple[str, ...]
    rounds: int
    batch_seconds: float
    #: True for a long table, which is printed worst first, with ratios of minima.
    ranked: bool = False
    #: Suffix of the names of its files.
    suffix: str = ""
    #: True for a table short enough to draw.
    plotted: bool = False
    #: Frameworks that may be named.
    known: tuple[str, ...] = FRAMEWORKS
    #: True if a peer that cannot be installed is told and left out.
    without_missing: bool = False

    def table(self, figures: report.Figures, frameworks: Sequence[str]) -> list[list[str]]:
        """Returns the report's table of these figures."""
        if self.ranked and len(frameworks) > 1:
            figures = report.worst_first(figures, frameworks, self.workloads)
        return report.rows(figures, frameworks, self.workloads, minima=self.ranked)


WHOLE = Suite(
    "benchmarks/run", "Times Lamella beside PyTorch and Paddle.", WORKLOADS, FRAMEWORKS, 20, 0.1, plotted=True
)
OPERATORS = Suite(
    "benchmarks/run sweep",
    "Times every operator beside PyTorch's (or numpy's, where PyTorch has none), on several shapes.",
    SWEEP,
    ("lamella", "torch"),
    7,
    0.02,
    ranked=True,
    suffix="-sweep",
)
COMPILING = Suite(
    "benchmarks/run compiled",
    "Times Lamella's compiled functions beside Lamella without them, PyTorch with and without torch.compile, and JAX.",
    COMPILED,
    COMPILED_FRAMEWORKS,
    20,
    0.1,
    suffix="-compiled",
    known=COMPILED_FRAMEWORKS,
    without_missing=True,
)
FRONT = Suite(
    "benchmarks/run ported",
    "Times programs written for PyTorch, models and data loaders, on Lamella's front and on PyTorch.",
    PORTED,
    PORTED_FRAMEWORKS,
    10,
    0.1,
    suffix="-ported",
    known=PORTED_FRAMEWORKS,
    without_missing=True,
)
#: Suites by the first argument that chooses them.
SUITES = {"sweep": OPERATORS, "compiled": COMPILING, "ported": FRONT}


def choose(patterns: Sequence[str], workloads: dict[str, Workload] = WORKLOADS) -> list[Workload]:
    """Returns the workloads that match any pattern, by their names or their operators' (all, without patterns)."""

    def matches(workload: Workload, pattern: str) -> bool:
        return fnmatch.fnmatchcase(workload.name, pattern) or fnmatch.fnmatchcase(workload.group, pattern)

    for pattern in patterns:
        if not any(matches(workload, pattern) for workload in workloads.values()):
            raise SetupError(f"no workload matches {pattern!r}: --list shows them")
    return [one for one in workloads.values() if not patterns or any(matches(one, pattern) for pattern in patterns)]


def _arguments(suite: Suite, arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=suite.command, description=suite.description)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="names or patterns such as 'mlp*' (all)")
    frameworks, rounds, batch = ",".join(suite.frameworks), suite.rounds, suite.batch_seconds
    parser.add_argument("-f", "--frameworks", default=frameworks, help="in the table's order (%(default)s)")
    parser.add_argument("-r", "--rounds", type=int, default=rounds, help="batches for each framework (%(default)s)")
    parser.add_argument("-b", "--batch", type=float, default=batch, metavar="SECONDS", help="one batch (%(default)s)")
    parser.add_argument("-t", "--threads", type=int, default=machine.usable_cores(), help="for each (%(default)s)")
    parser.add_argument("--cpu-time", action="store_true", help="CPU time, for a busy machine and one thread")
    parser.add_argument("-q", "--quick", action="store_true", help="3 rounds of 0.02 s: to see that it works")
    parser.add_argument("-v", "--verbose", action="store_true", help="show tracebacks and what the frameworks print")
    parser.add_argument("-o", "--output", type=Path, help="folder for the JSON and Markdown files (see below)")
    parser.add_argument("--check", action="store_true", help="only compare the frameworks' results")
    parser.add_argument("--list", action="store_true", help="show the workloads")
    parser.add_argument("--python", type=Path, help="the Python that has Lamella's requirements (.venv/bin/python)")
    parser.add_argument("--renew", action="store_true", help="install the peers' newest versions")
    parser.epilog = (
        "Results go to benchmarks/results, or to build/benchmarks where they are not for keeping: those of a quick or "
        "partial run, of one with failures, or of one on a busy machine."
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    suite = SUITES.get(arguments[0], WHOLE) if arguments else WHOLE
    arguments = arguments if suite is WHOLE else arguments[1:]
    options = _arguments(suite, arguments)
    if options.list:
        for workload in suite.workloads.values():
            print(f"{workload.name:18} {workload.title}" if workload.title != workload.name else workload.name)
        return 0
    try:
        return _run(suite, options)
    except SetupError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        return 130


def _run(suite: Suite, options: argparse.Namespace) -> int:
    frameworks = options.frameworks.split(",")
    if unknown := [name for name in frameworks if name not in suite.known]:
        raise SetupError(f"unknown framework {unknown[0]!r}: expected {', '.join(suite.known)}")
    workloads = choose(options.workloads, suite.workloads)
    environments = _environments(suite, frameworks, options)
    frameworks = list(environments)
    rounds, batch = (3, 0.02) if options.quick else (options.rounds, options.batch)
    run = Run(environments, workloads, rounds, batch, options.threads, options.verbose, again=suite.ranked)
    run.clock = "cpu" if options.cpu_time else "wall"
    before = machine.load_over(1.0)
    if before.others > BUSY:
        say(f"the machine is busy: other processes take {before.others:.0%} of its cores")
    say(f"comparing the results of {', '.join(frameworks)}")
    run.check()
    if not options.check:
        say(f"timing, {rounds} rounds of {batch:g} s each")
        run.time()
        table = suite.table(run.figures, frameworks)
        print(report.text_table(table))
        busy = max(before.others, run.load.others) > BUSY
        partial = (
            options.quick
            or options.cpu_time
            or len(workloads) < len(suite.workloads)
            or len(frameworks) < len(suite.frameworks)
        )
        folder = options.output or (SCRATCH if partial or busy or run.failures else RESULTS)
        path = write(run.record(), table, folder, suite.suffix)
        say(f"{'a busy machine: ' if busy else ''}written to {path}.json and .md")
        if suite.plotted and len(frameworks) > 1 and "lamella" in environments:
            say(plot(environments["lamella"], Path(f"{path}.json")))
    for failure in run.failures:
        say(f"failed: {failure}")
    return 1 if run.failures else 0


def _environments(suite: Suite, frameworks: Sequence[str], options: argparse.Namespace) -> dict[str, Environment]:
    environments = {}
    for name in frameworks:
        try:
            renew = options.renew and name in PACKAGES
            environments[name] = environment(name, lamella_python=options.python, renew=renew, say=say)
        except SetupError as error:
            if not suite.without_missing or SHARED.get(name, name).startswith("lamella"):
                raise
            say(f"{name} is left out: {error}")
    return environments


def write(record: dict[str, Any], table: list[list[str]], folder: Path, suffix: str) -> Path:
    """Writes a record as JSON and its table as Markdown; returns their common path, without the ends."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (report.file_stem(record["date"], record["machine"]["cpu"]) + suffix)
    Path(f"{path}.json").write_text(json.dumps(record, indent=1) + "\n")
    Path(f"{path}.md").write_text(report.markdown_page(record, table, suffix[1:].replace("cpp", "C++")))
    return path
