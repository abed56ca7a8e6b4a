"""A lock on a folder between processes and threads."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

# Locks between the threads of this process, all of which share the system's lock.
_threads: dict[str, threading.Lock] = {}
_threads_lock = threading.Lock()


def _forget() -> None:
    """Drops all locks in the child of a fork, which holds none and lacks the threads that would release them."""
    global _threads_lock
    _threads_lock = threading.Lock()
    _threads.clear()


os.register_at_fork(after_in_child=_forget)


@contextlib.contextmanager
def folder_lock(folder: Path, patience: float = 10.0) -> Iterator[None]:
    """Holds ``folder`` for this thread alone; another that asks waits.

    The system releases the lock when its process ends, however it ends, so a lock is never left behind; the file stays.

    Args:
        folder: exists.
        patience: seconds after which a process that still waits says for whom, on stderr.
    """
    path = folder / ".lock"
    with _threads_lock:
        thread_lock = _threads.setdefault(os.path.realpath(path), threading.Lock())
    with thread_lock:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _wait(file, folder, patience)
            os.ftruncate(file, 0)
            os.pwrite(file, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(file)  # releases


def _wait(file: int, folder: Path, patience: float) -> None:
    deadline = time.monotonic() + patience
    pause = 0.001
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
        if time.monotonic() > deadline:
            break
        time.sleep(pause)
        pause = min(2 * pause, 0.1)
    holder = os.pread(file, 32, 0).decode("ascii", "replace")
    print(f"lamella: waiting for process {holder}, which builds in {folder}", file=sys.stderr, flush=True)
    fcntl.lockf(file, fcntl.LOCK_EX)
