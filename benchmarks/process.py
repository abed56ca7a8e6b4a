"""The driver's end of a worker, and what is measured in fresh processes."""

from __future__ import annotations

import contextlib
import json
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.environments import ROOT, Environment

#: Seconds: how long to watch a worker for, and how long to wait at most.
_REST, _LONGEST_SPIN = 0.01, 1.0


class WorkerError(Exception):
    """A request that failed. `died` tells whether the worker went with it."""

    def __init__(self, message: str, *, died: bool, details: str = "") -> None:
        super().__init__(message)
        self.died = died
        self.details = details


class WorkerProcess:
    """A framework's worker; leaving its context ends it. A worker that died can be started again."""

    def __init__(self, environment: Environment, threads: int, *, timeout: float = 300.0, quiet: bool = True) -> None:
        self.environment = environment
        self._threads = threads
        self._timeout = timeout
        self._quiet = quiet
        self._process: subprocess.Popen[bytes] | None = None
        self._pending = b""

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> dict[str, Any]:
        """Starts the process and returns its answer to "hello"."""
        self.stop()
        self._pending = b""
        self._process = subprocess.Popen(
            [str(self.environment.python), "-m", "benchmarks.worker", self.environment.framework],
            cwd=ROOT,
            env=self.environment.variables(self._threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if self._quiet else sys.stderr,
            bufsize=0,
        )
        return self.ask("hello")

    def ask(self, what: str, **arguments: Any) -> dict[str, Any]:
        """Sends a request and waits for its answer. Raises WorkerError where it fails."""
        process = self._process
        if process is None or process.stdin is None:
            raise WorkerError("the worker is not running", died=True)
        try:
            process.stdin.write(json.dumps({"do": what, **arguments}).encode() + b"\n")
            answer: dict[str, Any] = json.loads(self._read_line(process))
        except (BrokenPipeError, EOFError):
            code = process.wait()
            self.stop()
            raise WorkerError(f"the worker {_describe_exit(code)}", died=True) from None
        except TimeoutError:
            self.stop()
            raise WorkerError(f"no answer within {self._timeout:g} s", died=True) from None
        if "error" in answer:
            raise WorkerError(answer["error"], died=False, details=answer["traceback"])
        return answer

    def _read_line(self, process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not selector.select(self._timeout):
                    raise TimeoutError
                chunk = process.stdout.read(65536)
                if not chunk:
                    raise EOFError
                self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def settle(self) -> None:
        """Waits until the process rests: OpenMP's threads go on spinning for up to 0.2 s after their work is done."""
        deadline = time.monotonic() + _LONGEST_SPIN
        before = self._cpu_ns()
        while time.monotonic() < deadline:
            time.sleep(_REST)
            now = self._cpu_ns()
            if now - before < 1e8 * _REST:  # a tenth of a core
                return
            before = now

    def _cpu_ns(self) -> int:
        """Returns the CPU time of all its threads so far, in nanoseconds."""
        total = 0
        for schedule in Path(f"/proc/{self.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):  # a thread that has just ended
                total += int(schedule.read_text().split()[0])
        return total

    def stop(self) -> None:
        """Ends the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _describe_exit(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def import_seconds(environment: Environment, threads: int) -> float:
    """Returns how long `import <framework>` takes in a fresh process, the interpreter's own start excluded."""
    script = (
        "import time; start = time.perf_counter_ns(); "
        f"import {environment.framework}; print('seconds', (time.perf_counter_ns() - start) * 1e-9)"
    )
    return _figure(environment, threads, ["-P", "-c", script], "seconds")


def peak_bytes(environment: Environment, threads: int, workload: str) -> float:
    """Returns the workload's peak of memory in a fresh process: see benchmarks.peak."""
    return _figure(environment, threads, ["-m", "benchmarks.peak", environment.framework, workload], "bytes")


def first_runs_seconds(environment: Environment, threads: int, workload: str, clock: str, cache: Path) -> float:
    """Returns how long the first runs take in a fresh process (see benchmarks.first_runs), caches in a folder."""
    cache.mkdir(parents=True, exist_ok=True)
    variables = {
        "LAMELLA_CACHE": str(cache),
        "TORCHINDUCTOR_CACHE_DIR": str(cache),
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    arguments = ["-m", "benchmarks.first_runs", environment.framework, workload, clock]
    return _figure(environment, threads, arguments, "seconds", variables)


def _figure(
    environment: Environment, threads: int, arguments: list[str], unit: str, variables: Mapping[str, str] | None = None
) -> float:
    """Returns the figure that a process prints after the unit's name. Raises WorkerError where the process fails."""
    done = subprocess.run(
        [str(environment.python), *arguments],
        cwd=ROOT,
        env={**environment.variables(threads), **(variables or {})},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        message = done.stderr.strip().rpartition("\n")[2] or f"the process {_describe_exit(done.returncode)}"
        raise WorkerError(message, died=False, details=done.stderr)
    return float(done.stdout.rpartition(unit)[2])


def plot(environment: Environment, record: Path) -> str:
    """Draws a record (benchmarks.plots) with the environment's Python; tells in words what became of it."""
    done = subprocess.run(
        [str(environment.python), "-m", "benchmarks.plots", str(record)],
        cwd=ROOT,
        env=environment.variables(1),
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        return f"no plot: {done.stderr.strip().rpartition(chr(10))[2]}"
    return f"plot: {done.stdout.strip()}"
