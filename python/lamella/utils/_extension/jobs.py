"""Runs compilers, as many at once as processors and memory allow."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# Largest memory of one compiler at work on an extension, pybind11's templates and nvcc included, with some room.
MEMORY_PER_JOB = 1_500_000_000


class BuildError(RuntimeError):
    """A compiler or linker failed; the message ends with what it printed."""


@dataclass(frozen=True)
class Command:
    """Command line of one run of a compiler."""

    #: Name of what is made, for messages: "extension.cpp".
    what: str
    line: list[str]
    folder: Path


def available_memory() -> int | None:
    """Bytes that new processes can have, by the machine and by the control group; None where neither is known."""
    limits: list[int] = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) * 1024)
    except OSError:
        pass
    for most, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            limits.append(int(Path(most).read_text()) - int(Path(used).read_text()))
        except (OSError, ValueError):  # no such group, or its limit is "max"
            continue
    return min(limits, default=None)


def job_count(commands: int) -> int:
    """Returns how many of ``commands`` run at once: MAX_JOBS, or as many as processors and memory allow.

    Raises:
        ValueError: MAX_JOBS is set and no positive number.
    """
    wish = os.environ.get("MAX_JOBS", "")
    if wish:
        if not wish.isdigit() or int(wish) < 1:
            raise ValueError(f"[cpp_extension] MAX_JOBS is '{wish}': expected a positive number")
        return min(int(wish), max(commands, 1))
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = available_memory()
    if memory is not None:
        most = min(most, memory // MEMORY_PER_JOB)
    return max(1, min(most, commands))


def run(command: Command, verbose: bool) -> None:
    """Runs one compiler.

    Raises:
        BuildError: it failed, was killed or could not be started.
    """
    text = shlex.join(command.line)
    if verbose:
        print(text, flush=True)
    try:
        # English messages are the ones that people search for: compilers translate theirs.
        env = {**os.environ, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            command.line,
            cwd=command.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{command.what}: cannot run '{command.line[0]}': {error.strerror}") from None
    output = done.stdout.decode("utf-8", "replace")
    if done.returncode == 0:
        if output.strip():  # warnings
            print(output, end="", file=sys.stderr, flush=True)
        return
    if done.returncode < 0:
        ending = f"was ended by signal {-done.returncode}"
        if done.returncode == -9:
            ending += " (out of memory? MAX_JOBS=1 needs the least)"
    else:
        ending = f"failed with exit status {done.returncode}"
        if "fatal error: pybind11/" in output:
            ending += " (Python modules in C++ need pybind11: pip install pybind11)"
        elif "fatal error: Python.h" in output:
            ending += " (Python's headers are missing: on Debian, apt install python3-dev)"
    raise BuildError(f"{command.what}: the compiler {ending}\n{text}\n{output}")


def run_all(commands: Sequence[Command], jobs: int, verbose: bool, done: Callable[[int], None]) -> None:
    """Runs commands, ``jobs`` at once; ``done(i)`` is called after each success, on any thread.

    Raises:
        BuildError: some failed; it has the messages of all that did. Those not yet begun are left out.
    """

    def one(i: int) -> BuildError | None:
        if failures:
            return None
        try:
            run(commands[i], verbose)
            done(i)
        except BuildError as error:
            failures.append(error)
            return error
        return None

    failures: list[BuildError] = []
    if jobs == 1 or len(commands) == 1:
        for i in range(len(commands)):
            one(i)
    else:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(one, range(len(commands))))
    if failures:
        raise BuildError("\n".join(str(error) for error in failures))
