"""The processes that fetch for one loader, as the loader's process sees them."""

from __future__ import annotations

import _thread
import contextlib
import importlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Iterator, Sequence
from multiprocessing import connection as connections
from types import FrameType
from typing import Any

from . import _worker
from ._transport import Receiver
from ._worker import Failure, Settings

# Note [Workers by fork]
# A forked worker starts in a millisecond and shares the dataset's memory, so it is the default. It has one thread: the
# library's loops are serial there (Note [Fork] in engine/runtime/parallel.cc), and devices refuse to work.

_GRACE = 1.0  # seconds that a worker gets to end by itself, and then again after SIGTERM

#: Ends of sockets that belong to this process alone. In a forked child they are closed, so that a worker sees the end
#: of its socket although its siblings live.
_ends: weakref.WeakSet[connections.Connection] = weakref.WeakSet()


def _close_ends() -> None:
    for end in list(_ends):
        with contextlib.suppress(OSError):
            end.close()


os.register_at_fork(after_in_child=_close_ends)


def _ends_workers(frame: FrameType | None) -> bool:
    """Returns whether a thread that is at this frame is ending workers, maybe because their owner is dropped."""
    inside = (Pool.shutdown.__code__, weakref.finalize.__call__.__code__)
    while frame is not None and frame.f_code not in inside:
        frame = frame.f_back
    return frame is not None


@contextlib.contextmanager
def _interrupts_postponed() -> Iterator[None]:
    """Keeps Ctrl-C for later.

    Python would swallow its exception in what runs because an object is dropped, and raise it in a process that was
    just forked, too; that process has this handler until it sets its own.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    arrived: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if arrived:
            main = threading.get_ident()

            def send() -> None:
                while _ends_workers(sys._current_frames().get(main)):
                    time.sleep(0.001)
                signal.pthread_kill(main, signal.SIGINT)

            with contextlib.suppress(RuntimeError):  # no thread starts while the interpreter ends
                _thread.start_new_thread(send, ())


class Pool:
    """Workers, each with a socket on which it is told what to fetch and answers in that order.

    Args:
        settings: what the workers are started with.
        context: how processes are started.

    Attributes:
        epoch: number of the epoch that was begun last.
        closed: True once the workers have been ended.
    """

    def __init__(self, settings: Settings, context: Any) -> None:
        if multiprocessing.current_process().daemon:
            raise RuntimeError("[DataLoader] this process is a worker itself, and may start none: set num_workers=0")
        self.epoch = 0
        self._owner = os.getpid()
        self.closed = False
        self._processes: list[Any] = []
        self._connections: list[connections.Connection] = []
        self._receivers: list[Receiver] = []
        try:
            with _interrupts_postponed():
                importlib.import_module("numpy.random")  # here, rather than in every worker
                for number in range(settings.num_workers):
                    self._start(settings, context, number)
        except BaseException:
            self.shutdown()
            raise

    def _start(self, settings: Settings, context: Any, number: int) -> None:
        method = context.get_start_method()
        ours, theirs = multiprocessing.Pipe()
        try:
            _ends.add(ours)
            process = context.Process(
                target=_worker.main,
                args=(theirs, settings, number, None if method == "forkserver" else os.getpid()),
                daemon=True,
                name=f"lamella-data-{number}",
            )
            self._connections.append(ours)
            with warnings.catch_warnings():
                # Python warns of forks beside threads; see Note [Workers by fork].
                warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
                process.start()
            self._processes.append(process)
            self._receivers.append(Receiver(ours))
        finally:
            theirs.close()

    def begin(self, seed: int, states: Sequence[Any]) -> int:
        """Begins an epoch and returns its number; answers of earlier ones are dropped.

        Args:
            seed: of the epoch.
            states: where each worker's stream goes on; None where it begins.
        """
        self.epoch += 1
        for worker, state in enumerate(states):
            try:
                self._tell(worker, True, self.epoch, seed, state)
            except OSError as error:
                raise self._lost(worker) from error
        return self.epoch

    def submit(self, worker: int, number: int, task: Any, skip: bool) -> None:
        """Has a worker fetch the batch of this number, or pass over it.

        That a worker is gone is said where its batch is asked for, after those that were fetched before it.
        """
        with contextlib.suppress(OSError):
            self._tell(worker, False, number, task, skip)

    def receive(self, worker: int, number: int, timeout: float) -> Any:
        """Waits for the batch of this number and returns it, or the :class:`Failure` in its place.

        Raises:
            RuntimeError: the worker is gone, or gives nothing for ``timeout`` seconds, if that is not 0.
        """
        if self.closed:
            raise RuntimeError("[DataLoader] the workers have ended")
        receiver = self._receivers[worker]
        while True:
            try:
                if timeout and not self._connections[worker].poll(timeout):
                    raise RuntimeError(
                        f"[DataLoader] worker {worker} (pid {self._processes[worker].pid}) gave no batch within "
                        f"{timeout:g} s"
                    )
                tag, batch = receiver.receive()
            except (EOFError, OSError) as error:
                raise self._lost(worker) from error
            if tag == (self.epoch, number):
                return batch

    def raise_failure(self, worker: int, failure: Failure) -> None:
        """Raises what a worker raised, with the worker's traceback as a note."""
        failure.error.add_note(
            f"[DataLoader] raised in worker {worker} (pid {self._processes[worker].pid}):\n{failure.text}"
        )
        raise failure.error

    def shutdown(self) -> None:
        """Ends the workers: those that do not end by themselves are terminated, and killed after that."""
        if self.closed or os.getpid() != self._owner:
            return
        self.closed = True
        with _interrupts_postponed():
            self._end_workers()

    def _end_workers(self) -> None:
        for end in self._connections:
            end.close()
        for stop in (None, "terminate", "kill"):
            living = [process for process in self._processes if process.is_alive()]
            if stop:
                for process in living:
                    getattr(process, stop)()
            waiting = {process.sentinel for process in living}
            while waiting and (ended := connections.wait(waiting, None if stop == "kill" else _GRACE)):
                waiting -= set(ended)  # type: ignore[arg-type]
        for process in self._processes:
            process.join()
            process.close()

    def _tell(self, worker: int, *message: Any) -> None:
        receiver = self._receivers[worker]
        released = receiver.released[:]
        del receiver.released[: len(released)]
        self._connections[worker].send_bytes(pickle.dumps((released, *message), 5))

    def _lost(self, worker: int) -> RuntimeError:
        process = self._processes[worker]
        process.join(_GRACE)
        code, pid = process.exitcode, process.pid
        self.shutdown()
        if code is not None and code < 0:
            what = f"was killed by {signal.Signals(-code).name}"
            if -code == signal.SIGKILL:
                what += ": there may have been no memory for it"
        else:
            what = f"ended with the code {code}" if code is not None else "closed its socket"
        return RuntimeError(f"[DataLoader] worker {worker} (pid {pid}) {what}")
