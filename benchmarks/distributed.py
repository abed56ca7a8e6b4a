"""`benchmarks/run distributed`: data parallel steps beside plain ones, and beside PyTorch's over Gloo."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import machine, report
from benchmarks.agreement import TOLERANCE
from benchmarks.driver import BUSY, RESULTS, SCRATCH, in_turn, say, write
from benchmarks.environments import Environment, SetupError, environment
from benchmarks.figures import ratios, spread
from benchmarks.parallel_worker import FRAMEWORKS, NETWORKS


@dataclass(frozen=True)
class Way:
    """A way to take a step on the whole batch: processes, and threads of each."""

    title: str
    kind: str
    processes: int
    threads: int


#: The first is what the others are compared with.
WAYS = {
    "plain": Way("plain, 1 process of 2 threads", "plain", 1, 2),
    "alone": Way("data parallel, 1 process of 2 threads", "ddp", 1, 2),
    "both": Way("data parallel, 2 processes of 1 thread", "ddp", 2, 1),
}


def run_once(where: Environment, network: str, way: Way, seconds: float, *, first: bool) -> dict[str, Any]:
    """Runs the processes of a way. Returns the losses of the first steps, and a step's seconds and processors' seconds.

    With `first` the timed steps come before what else runs on the machine.

    Raises:
        SetupError: one of them failed.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(where.python), "-m", "benchmarks.parallel_worker", where.framework, network, way.kind, str(seconds)]
    command += ["first"] * first
    processes = []
    try:
        for rank in range(way.processes):
            place = {"RANK": rank, "WORLD_SIZE": way.processes, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": way.processes}
            variables = {**where.variables(way.threads), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            variables |= {name: str(value) for name, value in place.items()}
            pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            processes.append(subprocess.Popen(command, env=variables, **pipes))
        said = [process.communicate() for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for process, (_, error) in zip(processes, said, strict=True):
        if process.returncode:
            raise SetupError(f"{where.framework}, {way.title}: status {process.returncode}:\n{error[-2000:]}")
    answer: dict[str, Any] = json.loads(said[0][0])
    return answer


def differences(losses: dict[str, list[float]]) -> list[str]:
    """Returns, in words, what differs from the losses of the first framework and way."""
    first, expected = next(iter(losses.items()))
    return [
        f"{name}: losses {found}, those of {first} are {expected}"
        for name, found in losses.items()
        if not all(math.isclose(a, b, rel_tol=TOLERANCE) for a, b in zip(found, expected, strict=True))
    ]


def table_of(figures: dict[str, dict[str, list[float]]], frameworks: Sequence[str]) -> list[list[str]]:
    """Returns the table: for each network and way the time of a step, and its ratios."""
    header = ["step", *frameworks, *(f"{name}, to plain" for name in frameworks)]
    if len(frameworks) > 1:
        header.append("lamella to torch")
    rows = [header]
    for network, by_key in figures.items():
        for key, way in WAYS.items():
            found = {name: by_key[f"{name} {key}"] for name in frameworks}
            row = [f"{network}: {way.title}"]
            row += [report.format_seconds(spread(found[name]).median) for name in frameworks]
            for name in frameworks:
                row.append(f"{spread(ratios(found[name], by_key[f'{name} plain'])).median:.2f}")
            if len(frameworks) > 1:
                row.append(f"{spread(ratios(found['lamella'], found['torch'])).median:.2f}")
            rows.append(row)
    return rows


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks/run distributed",
        description="Times data parallel steps beside plain ones, and PyTorch's, in fresh processes and in turns.",
    )
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=f"of {', '.join(NETWORKS)} (all)")
    parser.add_argument("-f", "--frameworks", default=",".join(FRAMEWORKS), help="separated by commas (%(default)s)")
    parser.add_argument("-r", "--rounds", type=int, default=10, help="processes of each way (%(default)s)")
    parser.add_argument("-b", "--batch", type=float, default=0.5, metavar="SECONDS", help="one timing (%(default)s)")
    parser.add_argument(
        "-p",
        "--processors",
        action="store_true",
        help="the processors' time of a process, which depends less on what else runs, in place of the clock's",
    )
    parser.add_argument(
        "--first",
        action="store_true",
        help="let the timed steps come before what else runs on the machine, which root may; such results are kept",
    )
    parser.add_argument("-o", "--output", type=Path, help="folder for the JSON and Markdown files")
    parser.add_argument("--python", type=Path, help="the Python that has Lamella's requirements (.venv/bin/python)")
    parser.add_argument("--torch-python", type=Path, help="a Python that has PyTorch, in place of an environment")
    options = parser.parse_args(arguments)
    options.networks = options.networks or list(NETWORKS)
    options.frameworks = options.frameworks.split(",")
    for given, known in ((options.networks, NETWORKS), (options.frameworks, FRAMEWORKS)):
        unknown = [name for name in given if name not in known]
        if unknown:
            parser.error(f"{unknown[0]!r} is none of {', '.join(known)}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit status."""
    options = _arguments(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(options)
    except SetupError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        return 130


def _environments(options: argparse.Namespace) -> dict[str, Environment]:
    found = {}
    for name in options.frameworks:
        where = options.torch_python if name == "torch" else None
        made = environment("lamella" if where else name, lamella_python=options.python, renew=False, say=say)
        found[name] = Environment("torch", where, made.path[:1]) if where else made
    return found


def _run(options: argparse.Namespace) -> int:
    where = _environments(options)
    before = machine.load_over(1.0)
    keys = [f"{name} {key}" for name in where for key in WAYS]
    figures: dict[str, dict[str, list[float]]] = {network: {key: [] for key in keys} for network in options.networks}
    failures: list[str] = []
    meter = machine.LoadMeter()
    for number in range(options.rounds):
        for network in options.networks:
            losses = {}
            for key in in_turn(keys, number):
                name, _, way = key.partition(" ")
                found = run_once(where[name], network, WAYS[way], options.batch, first=options.first)
                figures[network][key].append(found["processors" if options.processors else "seconds"])
                losses[key] = found["losses"]
            failures += differences({key: losses[key] for key in keys}) if not number else []
        say(f"  round {number + 1} of {options.rounds}")
    load = meter.load()
    table = table_of(figures, list(where))
    print(report.text_table(table))
    record = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine.describe(),
        "load": {"others": load.others, "stolen": load.stolen},
        "frameworks": {name: {"version": _version(one)} for name, one in where.items()},
        "threads": max(way.processes * way.threads for way in WAYS.values()),
        "rounds": options.rounds,
        "batch_seconds": options.batch,
        "clock": "processors" if options.processors else "wall",
        "first": options.first,
        "seconds": figures,
        "failures": failures,
    }
    busy = max(before.others, load.others) > BUSY and not options.first
    partial = set(options.networks) < set(NETWORKS) or set(where) < set(FRAMEWORKS)
    folder = options.output or (SCRATCH if busy or partial or failures else RESULTS)
    path = write(record, table, folder, "-distributed-processors" if options.processors else "-distributed")
    say(f"{'a busy machine: ' if busy else ''}written to {path}.json and .md")
    for failure in failures:
        say(f"failed: {failure}")
    return 1 if failures else 0


def _version(where: Environment) -> str:
    command = [str(where.python), "-c", f"import {where.framework} as one; print(one.__version__)"]
    done = subprocess.run(command, env=where.variables(1), capture_output=True, text=True)
    return done.stdout.strip()
