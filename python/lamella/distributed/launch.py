"""Starts the processes of a program on this machine: ``python -m lamella.distributed.launch -n 2 train.py``.

It starts nothing but processes with the variables that ``torchrun`` sets (``RANK``, ``WORLD_SIZE``, ``LOCAL_RANK``,
``LOCAL_WORLD_SIZE``, ``MASTER_ADDR``, ``MASTER_PORT``), and a private folder in which they meet. When one of them
fails, it ends the others, says which one it was, and ends with its exit status, or starts all of them again where
``--restarts`` lets it; signals that it gets go to all of them.
Processes that they have started, and that still run when all of them have ended, are killed. So are all of them, by a
shell that waits for it, when the launcher itself is killed.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import IO

#: Seconds between a request to end and the signal that a process cannot ignore.
_GRACE = 5.0
#: Signals that are passed on.
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
#: Of these, the ones after which the program is to end.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Script of a shell that is told the numbers of process groups, and "ended" when these are no more. Where its input
#: ends without that, it ends the groups, and removes the folder that it is given.
_GUARD = """
while read -r word; do
  [ "$word" = ended ] && exit
  groups="$groups -$word"
done
kill -s KILL -- $groups 2> /dev/null
rm -rf -- "$0"
"""


class Launcher:
    """The processes of a program.

    Args:
        command: What each of them runs.
        count: Number of processes.
        prefix: True to begin each line of their output with the rank.
        grace: Seconds that they get to end after one has failed, or after a signal.
        restarts: Number of times that all of them are started again after one has failed, with the number of the
            attempt in ``TORCHELASTIC_RESTART_COUNT``: programs go on from a checkpoint.
    """

    def __init__(
        self, command: Sequence[str], count: int, *, prefix: bool = False, grace: float = _GRACE, restarts: int = 0
    ) -> None:
        self.command = list(command)
        self.count = count
        self.prefix = prefix
        self.grace = grace
        self.restarts = restarts
        self.attempt = 0
        self.processes: list[subprocess.Popen[bytes]] = []
        self._printers: list[threading.Thread] = []
        self._guard: subprocess.Popen[bytes] | None = None
        self._ends_at: float | None = None
        self._ended_by = 0
        self._port = os.environ.get("MASTER_PORT") or str(_port())

    def run(self) -> int:
        """Starts the processes, waits until all have ended, and returns the exit status: 0 where all of them did well.

        Otherwise it is that of the first process that failed; 128 and the number of the signal that ended it.
        """
        before = {number: signal.signal(number, self._on_signal) for number in _PASSED_ON}
        try:
            while (status := self._attempted()) and self.attempt < self.restarts and not self._ended_by:
                self.attempt += 1
                print(f"[launch] starts again: {self.attempt} of {self.restarts}", file=sys.stderr)
            return status
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _attempted(self) -> int:
        """Runs the processes once."""
        folder = tempfile.mkdtemp(prefix="lamella-launch-")
        self.processes, self._printers, self._ends_at = [], [], None
        self._guard = subprocess.Popen(["sh", "-c", _GUARD, folder], stdin=subprocess.PIPE, start_new_session=True)
        try:
            for rank in range(self.count):
                if self._ended_by:
                    break
                self._start(rank, folder)
            if self._ended_by:  # by a signal that came before they were there
                self._tell(signal.SIGTERM)
            return self._watch()
        finally:
            for process in self.processes:  # and what they have started, and not ended
                _signal_group(process, signal.SIGKILL)
                process.wait()
            for printer in self._printers:
                printer.join()
            shutil.rmtree(folder, ignore_errors=True)
            self._tell_guard("ended")
            self._guard.communicate()

    def _tell_guard(self, word: str) -> None:
        assert self._guard is not None and self._guard.stdin is not None
        with contextlib.suppress(OSError):  # it may have been killed
            self._guard.stdin.write(f"{word}\n".encode())
            self._guard.stdin.flush()

    def _start(self, rank: int, folder: str) -> None:
        environ = dict(os.environ)
        environ.update(
            RANK=str(rank),
            WORLD_SIZE=str(self.count),
            LOCAL_RANK=str(rank),
            LOCAL_WORLD_SIZE=str(self.count),
            LAMELLA_DISTRIBUTED_STORE=f"file://{folder}",
            MASTER_ADDR=os.environ.get("MASTER_ADDR", "127.0.0.1"),
            MASTER_PORT=self._port,
            TORCHELASTIC_RESTART_COUNT=str(self.attempt),
            TORCHELASTIC_MAX_RESTARTS=str(self.restarts),
        )
        pipe = subprocess.PIPE if self.prefix else None
        # Its own process group lets a signal reach the processes that it starts in turn.
        process = subprocess.Popen(self.command, env=environ, stdout=pipe, stderr=pipe, start_new_session=True)
        self.processes.append(process)
        self._tell_guard(str(process.pid))
        for stream, to in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            if stream is not None:
                printer = threading.Thread(target=_print_lines, args=(stream, to, rank), daemon=True)
                printer.start()
                self._printers.append(printer)

    def _watch(self) -> int:
        failed: tuple[int, int] | None = None
        running = set(range(len(self.processes)))
        while running:
            for rank in sorted(running):
                status = _status(self.processes[rank])
                if status is None:
                    continue
                running.discard(rank)
                if status != 0 and failed is None:
                    failed = (rank, status)
                    if running and self._ends_at is None:
                        self._tell(signal.SIGTERM)
            if self._ends_at is not None and time.monotonic() > self._ends_at:
                for process in self.processes:
                    _signal_group(process, signal.SIGKILL)
            time.sleep(0.01)
        if failed is None:
            return 0 if len(self.processes) == self.count else 128 + self._ended_by
        rank, status = failed
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
        print(f"[launch] rank {rank} of {self.count} (process {self.processes[rank].pid}) {how}", file=sys.stderr)
        return 128 - status if status < 0 else status

    def _on_signal(self, number: int, frame: object) -> None:
        if number in _ENDING:
            self._ended_by = number
            self._tell(number)
        else:
            for process in self.processes:
                _signal_group(process, number)

    def _tell(self, number: int) -> None:
        """Asks the processes to end, which they get some time for."""
        if self._ends_at is None:
            self._ends_at = time.monotonic() + self.grace
        for process in self.processes:
            _signal_group(process, number)


def _status(process: subprocess.Popen[bytes]) -> int | None:
    """Returns the exit status of a process, None while it runs; its number stays taken, as that of its group."""
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it may have just ended
        os.killpg(process.pid, number)


def _print_lines(stream: IO[bytes], to: IO[str], rank: int) -> None:
    with stream:
        for line in stream:
            to.write(f"[{rank}] {line.decode(errors='replace')}")
            to.flush()


def _port() -> int:
    """Returns a port that nobody listens on now: programs that meet by it expect one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line, and returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m lamella.distributed.launch",
        description="Starts the processes of a program on this machine.",
    )
    parser.add_argument("-n", "--processes", type=int, default=1, metavar="N", help="number of processes (default 1)")
    parser.add_argument("--prefix", action="store_true", help="begin each line of output with the rank of its process")
    parser.add_argument(
        "--grace", type=float, default=_GRACE, metavar="SECONDS", help="time to end after another one has failed"
    )
    parser.add_argument(
        "--restarts", type=int, default=0, metavar="N", help="times that all start again after one has failed"
    )
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module, as for python -m")
    parser.add_argument("program", help="a script of Python, or with -m a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    given = parser.parse_args(arguments)
    if given.processes < 1:
        parser.error(f"-n is at least 1, not {given.processes}")
    if given.restarts < 0:
        parser.error(f"--restarts is at least 0, not {given.restarts}")
    if not 0 <= given.grace < math.inf:
        parser.error(f"--grace is a number of seconds, at least 0, not {given.grace:g}")
    program = ["-m", given.program] if given.module else [given.program]
    command = [sys.executable, *program, *given.arguments]
    launcher = Launcher(command, given.processes, prefix=given.prefix, grace=given.grace, restarts=given.restarts)
    try:
        return launcher.run()
    except OSError as error:  # no folder for temporary files, or too many processes
        print(f"[launch] the processes cannot be started: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
