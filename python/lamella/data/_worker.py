"""The worker's process: it fetches the batches that it is told to, and ends when its parent does."""

from __future__ import annotations

import _thread
import collections
import contextlib
import os
import pickle
import random
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

import lamella as lm

from . import collate
from ._fetch import End, MapFetcher, StreamFetcher
from ._transport import Sender


class WorkerInfo(NamedTuple):
    """Describes a worker to the code that runs in it."""

    #: Its number, from 0.
    id: int
    #: Number of workers.
    num_workers: int
    #: Seed of its random numbers in this epoch.
    seed: int
    #: Its copy of the dataset.
    dataset: Any


class Failure(NamedTuple):
    """An exception that a worker sends in place of a batch."""

    error: BaseException
    text: str


class Stated(NamedTuple):
    """A batch of a stream, and the stream's state after it."""

    batch: Any
    state: Any


class Settings(NamedTuple):
    """Describes the work of a loader's workers."""

    dataset: Any
    stream: bool
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    init: Callable[[int], Any] | None
    num_workers: int
    #: True if the dataset is a stream that can tell where it is, and go on there.
    resumable: bool


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Returns what the worker that this is called in knows of itself; None outside of a loader's workers."""
    return _info


def seed_all(seed: int) -> None:
    """Seeds the random numbers of Lamella, of ``random`` and of ``numpy.random``."""
    lm.seed(seed)
    random.seed(seed)
    np.random.seed((seed ^ seed >> 32) & 0xFFFFFFFF)


def seed_of(base: int, number: int) -> int:
    """Returns a seed for one batch of an epoch, which fits into int64.

    Neighbors are far apart (the step is 2**64 over the golden ratio).
    """
    return (base + (number + 1) * 0x9E3779B97F4A7C15) % 2**63


def _watch_parent(parent: int) -> None:
    """Ends this process when its parent is gone, however that ended, even while it fetches."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    # threading's threads are waited for until they run, which costs every worker milliseconds.
    _thread.start_new_thread(watch, ())


def _failure(error: BaseException) -> Failure:
    """Returns an exception as one that can be sent: as it is if its copy is the same, else as a RuntimeError."""
    text = "".join(traceback.format_exception(error)).rstrip()
    try:
        copied = pickle.loads(pickle.dumps(error))
        whole = type(copied) is type(error) and str(copied) == str(error)
    except Exception:
        whole = False
    return Failure(error if whole else RuntimeError(f"{type(error).__name__}: {error}"), text)


class _Worker:
    def __init__(self, connection: Connection, settings: Settings, number: int) -> None:
        self._connection = connection
        self._settings = settings
        self._number = number
        self._waiting: collections.deque[Any] = collections.deque()
        self._sender = Sender(self._write, connection)
        collate.allocate = self._sender.allocate
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN | select.POLLOUT)
        self._failed: Failure | None = None
        #: What is called before the first epoch, which knows of get_worker_info() and has its seeds.
        self._init = settings.init
        self._fetch: Any = None
        self._epoch = self._base = 0

    def run(self) -> None:
        while (message := self._next()) is not None:
            released, begins, *rest = message
            self._sender.release(released)
            if begins:
                self._begin(*rest)
            else:
                self._answer(*rest)

    def _next(self) -> Any:
        return self._waiting.popleft() if self._waiting else pickle.loads(self._connection.recv_bytes())

    def _write(self, data: bytes) -> None:
        """Sends bytes once the socket takes them, and reads on until then: the parent may be waiting for that."""
        while True:
            [(_, events)] = self._poll.poll()
            if events & select.POLLOUT:
                return self._connection.send_bytes(data)
            self._waiting.append(pickle.loads(self._connection.recv_bytes()))

    def _begin(self, epoch: int, base: int, state: Any) -> None:
        global _info
        settings = self._settings
        self._epoch, self._base = epoch, base
        seed = (base + self._number) % 2**63
        _info = WorkerInfo(self._number, settings.num_workers, seed, settings.dataset)
        if self._failed:
            return
        seed_all(seed)
        if (init := self._init) is not None:
            self._init = None
            try:
                init(self._number)
            except BaseException as error:
                self._failed = _failure(error)
                return
        try:
            if settings.stream:
                self._fetch = StreamFetcher(settings.dataset, settings.collate, settings.drop_last, state)
            else:
                self._fetch = MapFetcher(settings.dataset, settings.collate, settings.batched)
        except BaseException as error:
            failure = _failure(error)

            def fail(task: Any) -> Any:
                return failure

            self._fetch = fail
            self._fetch.skip = fail

    def _answer(self, number: int, task: Any, skip: bool) -> None:
        tag = (self._epoch, number)
        try:
            if self._failed:
                value: Any = self._failed
            else:
                self._sender.begin()
                seed_all(seed_of(self._base, number))
                value = self._fetch.skip(task) if skip else self._fetch(task)
                if skip and value is not End and not isinstance(value, Failure):
                    value = None
                if self._settings.resumable and not isinstance(value, Failure):
                    value = Stated(value, self._fetch.state_dict())
            self._sender.send(tag, value)
        except (BrokenPipeError, ConnectionResetError, EOFError):
            raise
        except BaseException as error:
            self._sender.send(tag, _failure(error))


def main(connection: Connection, settings: Settings, number: int, parent: int | None) -> None:
    """Runs a worker until it is told to end, or its parent is gone.

    Args:
        connection: where it is told what to fetch, and answers.
        settings: of all workers of the loader.
        number: of this worker.
        parent: number of the process that started it, which may be gone already; None if a server did, which ends
            with the loader's process.
    """
    # Ctrl-C goes to the whole group of processes: the parent ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _watch_parent(os.getppid() if parent is None else parent)
    lm.set_num_threads(1)
    seed_all(number)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        _Worker(connection, settings, number).run()
    sys.stdout.flush()
    sys.stderr.flush()
