"""Iterators of a loader, each over one epoch: in this process, or by workers that fetch ahead."""

from __future__ import annotations

import collections
import contextlib
import itertools
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Self

from .._tree import flatten, rebuild
from ._fetch import End, MapFetcher, StreamFetcher
from ._pool import Pool
from ._worker import Failure, Settings, Stated


def _pinned(batch: Any) -> Any:
    """Returns a batch whose tensors on the CPU lie in page-locked memory."""
    tensors, spec = flatten(batch)
    return rebuild(spec, [x.pin_memory() if x.device == "cpu" else x for x in tensors])


class Epoch:
    """Iterator over the batches of one epoch.

    Args:
        tasks: what is to be fetched, batch by batch.
        seed: of the epoch.
        position: number of batches given before.

    Attributes:
        position: number of batches given, and passed over.
        pins: whether batches are given in page-locked memory.
    """

    def __init__(self, tasks: Iterator[Any], seed: int, position: int) -> None:
        self._tasks = tasks
        self.seed = seed
        self.position = position
        self.pins = False
        self.ended = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if self.ended:
            raise StopIteration
        try:
            batch = self._next_batch()
        except StopIteration as error:
            # Else a dataset's own StopIteration would pass for the end of the epoch.
            raise RuntimeError("[DataLoader] the dataset raised StopIteration") from error
        if batch is End:
            self.ended = True
            raise StopIteration
        return _pinned(batch) if self.pins else batch

    def stream_state(self) -> dict[str, Any] | None:
        """Returns where the dataset stands, if it is a stream that can tell; else None."""
        raise NotImplementedError(f"[{type(self).__name__}] the iterator defines no stream_state")

    def _next_batch(self) -> Any:
        """Returns the next batch, :class:`End` after the last."""
        raise NotImplementedError(f"[{type(self).__name__}] the iterator defines no _next_batch")


class SerialEpoch(Epoch):
    """Epoch whose batches are fetched when they are asked for, in this process."""

    def __init__(
        self, settings: Settings, tasks: Iterator[Any], seed: int, position: int, stream: Mapping[str, Any] | None
    ) -> None:
        super().__init__(tasks, seed, position)
        self._settings = settings
        self._fetch: MapFetcher | StreamFetcher
        if settings.stream:
            self._fetch = StreamFetcher(
                settings.dataset, settings.collate, settings.drop_last, stream and stream["workers"][0]
            )
        else:
            self._fetch = MapFetcher(settings.dataset, settings.collate, settings.batched)
        if stream is None:
            for task in itertools.islice(tasks, position):
                with contextlib.suppress(Exception):  # which came to light the first time
                    self._fetch.skip(task)

    def stream_state(self) -> dict[str, Any] | None:
        if not self._settings.resumable or isinstance(self._fetch, MapFetcher):
            return None
        return {"workers": [self._fetch.state_dict()], "turns": [0], "told": [], "number": self.position}

    def _next_batch(self) -> Any:
        for task in self._tasks:
            self.position += 1
            batch = self._fetch(task)
            if batch is End:
                self.position -= 1
            return batch
        return End


class ParallelEpoch(Epoch):
    """Epoch whose batches workers fetch ahead, in turn.

    Args:
        pool: the workers.
        settings: what they were started with.
        tasks: what is to be fetched, batch by batch.
        seed: of the epoch.
        position: number of batches given before.
        stream: what :meth:`stream_state` gave there; None passes over the batches before it instead.
        ahead: number of batches that each worker is told of in advance.
        timeout: seconds to wait for a batch; 0 waits for ever.
        owner: what the workers belong to, which lives as long as the epoch; None ends them with the epoch.
    """

    def __init__(
        self,
        pool: Pool,
        settings: Settings,
        tasks: Iterator[Any],
        seed: int,
        position: int,
        stream: Mapping[str, Any] | None,
        *,
        ahead: int,
        timeout: float,
        owner: object | None,
    ) -> None:
        super().__init__(tasks, seed, position)
        self._pool = pool
        self._timeout = timeout
        self._owner = owner
        self._close = weakref.finalize(self, pool.shutdown) if owner is None else (lambda: None)
        self._resumable = settings.resumable
        self._states: list[Any] = [None] * settings.num_workers
        self._turns = collections.deque(range(settings.num_workers))
        self._submitted: collections.deque[tuple[int, int]] = collections.deque()
        # Samples of a stream are reached by passing over those before them; others are found by their numbers.
        self._passing = position if settings.stream else 0
        self._skips = self._passing
        self._number = 0
        if not settings.stream:
            self._number = sum(1 for _ in itertools.islice(tasks, position))
        try:
            if stream is not None:
                self._go_on(stream)
            self._epoch = pool.begin(seed, self._states)
            for worker in stream["told"] if stream is not None else ():
                self._tell(worker, next(tasks))
            for _ in range(ahead * settings.num_workers - len(self._submitted)):
                self._submit()
        except BaseException:
            pool.shutdown()
            raise

    def _go_on(self, stream: Mapping[str, Any]) -> None:
        """Takes a stream up where it was: with the same turns, and the same numbers of batches, which are seeds."""
        self._states = list(stream["workers"])
        self._turns = collections.deque(stream["turns"])
        self._number = stream["number"]
        self._passing = self._skips = 0

    def stream_state(self) -> dict[str, Any] | None:
        if not self._resumable or self._passing:
            return None
        told = [worker for worker, _ in self._submitted]
        return {
            "workers": list(self._states),
            "turns": list(self._turns),
            "told": told,
            "number": self._number - len(told),
        }

    def _submit(self) -> None:
        """Has the worker whose turn it is fetch the next batch."""
        if not self._turns:
            return
        for task in self._tasks:
            worker = self._turns[0]
            self._turns.rotate(-1)
            self._tell(worker, task)
            return

    def _tell(self, worker: int, task: Any) -> None:
        self._pool.submit(worker, self._number, task, self._number < self._skips)
        self._submitted.append((worker, self._number))
        self._number += 1

    def _next_batch(self) -> Any:
        if self._pool.epoch != self._epoch:
            raise RuntimeError("[DataLoader] a later iterator of this loader has taken its workers over")
        while self._submitted:
            worker, number = self._submitted[0]
            batch = self._received(worker, number)
            if batch is End:
                continue
            if self._passing:
                self._passing -= 1
                continue
            self.position += 1
            if isinstance(batch, Failure):
                self._pool.raise_failure(worker, batch)
            return batch
        self._close()
        return End

    def _received(self, worker: int, number: int) -> Any:
        """Waits for the batch that is next, and has another one fetched in its place."""
        try:
            batch = self._pool.receive(worker, number, self._timeout)
            self._submitted.popleft()
            if isinstance(batch, Stated):
                batch, self._states[worker] = batch
            if batch is End and worker in self._turns:
                self._turns.remove(worker)
            self._submit()
        except RuntimeError:
            raise  # the workers have ended, or one is late, which may be waited for again
        except BaseException:
            # An interrupt, which may have left part of a message unread.
            self.ended = True
            self._pool.shutdown()
            raise
        return batch
