"""DataLoader: batches of a dataset, in order or shuffled, fetched here or by processes."""

from __future__ import annotations

import itertools
import multiprocessing
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

import lamella as lm

from ._epochs import Epoch, ParallelEpoch, SerialEpoch
from ._pool import Pool
from ._worker import Settings
from .collate import default_collate, default_convert
from .datasets import IterableDataset, as_dataset
from .samplers import BatchSampler, RandomSampler, SequentialSampler, batches_of, check_batch_size, draw_seed

_KEPT = ("position", "seed", "sampler", "stream", "generator", "num_workers")


class DataLoader:
    """Gives the batches of a dataset, epoch by epoch.

    Batches come in the order of the sampler, whatever the number of workers. Each epoch draws its seeds from
    ``generator``, and a worker seeds the random numbers of Lamella, ``random`` and ``numpy.random`` anew for each
    batch, by the batch's number: the same seed gives the same batches for any number of workers but 0, where samples
    draw from this process's generators. An exception in a worker is raised here, as it was, with the worker's
    traceback.

    :meth:`state_dict` tells where an epoch stands; after :meth:`load_state_dict` the next iterator gives the batches
    that would have come.

    Args:
        dataset: anything with ``__len__`` and ``__getitem__``: a :class:`Dataset`, a list, an array, a memory map, a
            tensor; a dict of those, whose samples are dicts; a ``pyarrow.Table``; or an :class:`IterableDataset`.
        batch_size: number of samples in a batch; None gives the samples themselves, their arrays as tensors.
        shuffle: visits the samples in a new random order each epoch.
        sampler: gives the numbers of the samples instead.
        batch_sampler: gives lists of numbers, one for each batch, in place of the four other arguments.
        num_workers: number of processes that fetch; 0 fetches in this one.
        collate_fn: makes a batch of a list of samples; :func:`default_collate` if None. Without it, tensors, arrays and
            all datasets with ``__getbatch__`` are asked for a whole batch at once.
        pin_memory: gives the tensors of batches in page-locked memory, from which ``x.to("cuda", non_blocking=True)``
            copies while the host goes on. Of no effect where there is no CUDA device.
        drop_last: leaves out a last batch that is shorter.
        timeout: seconds to wait for a batch of a worker; 0 waits for ever.
        worker_init_fn: called in each worker with its number, once it is seeded.
        multiprocessing_context: how workers are started: ``"fork"`` (if None), ``"forkserver"``, ``"spawn"``, or a
            context of ``multiprocessing``. All but fork need a dataset that can be pickled, and take about as long as
            importing the program.
        generator: draws the seeds of an epoch; the default generator if None.
        prefetch_factor: number of batches that each worker is told of in advance; 2 if None.
        persistent_workers: keeps the workers from one epoch to the next. Changes to the dataset do not reach them.

    Raises:
        TypeError: an argument has another type.
        ValueError: arguments exclude each other, or are out of range.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: lm.random.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
    ) -> None:
        self.dataset = as_dataset(dataset)
        self._stream = isinstance(self.dataset, IterableDataset) or not hasattr(type(self.dataset), "__getitem__")
        _check_flags(shuffle=shuffle or False, pin_memory=pin_memory, drop_last=drop_last, keep=persistent_workers)
        if type(num_workers) is not int or num_workers < 0:
            raise ValueError(f"[DataLoader] num_workers is an int of at least 0, not {num_workers!r}")
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout >= 0:
            raise ValueError(f"[DataLoader] timeout is a number of seconds of at least 0, not {timeout!r}")
        if prefetch_factor is not None and (type(prefetch_factor) is not int or prefetch_factor <= 0):
            raise ValueError(f"[DataLoader] prefetch_factor is a positive int, not {prefetch_factor!r}")
        if not num_workers:
            for name, given in {
                "timeout": timeout,
                "prefetch_factor": prefetch_factor,
                "persistent_workers": persistent_workers,
                "multiprocessing_context": multiprocessing_context,
            }.items():
                if given:
                    raise ValueError(f"[DataLoader] {name} is for workers: set num_workers")
        if self._stream and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("[DataLoader] the samples of an iterable dataset have no numbers: shuffle them in it")
        if sampler is not None and shuffle:
            raise ValueError("[DataLoader] sampler and shuffle exclude each other")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("[DataLoader] batch_sampler excludes batch_size, shuffle, sampler and drop_last")
            batch_size = None
        elif batch_size is None:
            if drop_last:
                raise ValueError("[DataLoader] drop_last needs a batch_size")
        else:
            check_batch_size("DataLoader", batch_size)
        if not self._stream and sampler is None and batch_sampler is None:
            sampler = RandomSampler(self.dataset, generator=generator) if shuffle else SequentialSampler(self.dataset)
        if batch_size is not None and not self._stream:
            batch_sampler = BatchSampler(sampler or (), batch_size, drop_last)
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)
        self.pin_memory = pin_memory
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.prefetch_factor = (prefetch_factor or 2) if num_workers else None
        self.persistent_workers = persistent_workers
        self._context()  # refuses a wrong one here
        self._pool: Pool | None = None
        self._current: weakref.ref[Epoch] | None = None
        self._loaded: dict[str, Any] | None = None

    def __len__(self) -> int:
        """Returns the number of batches.

        Raises:
            TypeError: the dataset or the sampler does not know its length.
        """
        if not self._stream:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]
        if not hasattr(type(self.dataset), "__len__"):
            raise TypeError(f"[DataLoader] {type(self.dataset).__name__} does not know its length")
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        """Begins an epoch, or goes on with the one that a state was of."""
        state, self._loaded = self._loaded, None
        if state and state["position"] is not None:
            seed, position, stream = state["seed"], state["position"], state["stream"]
            if (sampler := self._stateful()) is not None and state["sampler"] is not None:
                sampler.load_state_dict(state["sampler"])
        else:
            seed, position, stream = draw_seed(self.generator), 0, None
        settings = self._settings()
        tasks = self._tasks()
        epoch: Epoch
        if not self.num_workers:
            epoch = SerialEpoch(settings, tasks, seed, position, stream)
        else:
            pool = self._pool
            if pool is None or pool.closed:
                pool = Pool(settings, self._context())
                if self.persistent_workers:
                    self._pool = pool
                    weakref.finalize(self, pool.shutdown)
            epoch = ParallelEpoch(
                pool,
                settings,
                tasks,
                seed,
                position,
                stream,
                ahead=self.prefetch_factor or 2,
                timeout=self.timeout,
                owner=self if self.persistent_workers else None,
            )
        epoch.pins = self.pin_memory and lm.cuda.is_available()
        self._current = weakref.ref(epoch)
        return epoch

    def state_dict(self) -> dict[str, Any]:
        """Returns where the loader stands, as plain data: the number of batches given, and the seeds of the epoch.

        An epoch counts as long as its iterator lives, so call this within the loop. A loader without a generator of its
        own draws later epochs from the default one, whose state belongs to the program.
        """
        if self._loaded is not None:
            return dict(self._loaded)
        epoch = self._current() if self._current is not None else None
        running = epoch is not None and not epoch.ended
        sampler = self._stateful()
        return {
            "position": epoch.position if epoch and running else None,
            "seed": epoch.seed if epoch and running else None,
            "stream": epoch.stream_state() if epoch and running else None,
            "sampler": sampler.state_dict() if sampler is not None and running else None,
            "generator": None if self.generator is None else self.generator.get_state(),
            "num_workers": self.num_workers,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next iterator go on where a state was taken.

        Samples of an iterable dataset are gone through again up to there, unless it has ``state_dict`` and
        ``load_state_dict``, which makes its next iterator go on. Those of a sampler without ``state_dict`` are taken to
        come in the same order.

        Raises:
            ValueError: the state is of something else, or, of an iterable dataset, of another number of workers.
        """
        if not isinstance(state, Mapping) or set(state) != set(_KEPT):
            raise ValueError(f"[DataLoader] the state is a mapping that holds {', '.join(_KEPT)}")
        if (state["generator"] is None) != (self.generator is None):
            raise ValueError("[DataLoader] only one of the state and the loader has a generator of its own")
        if state["stream"] is not None and not (self._stream and has_state(self.dataset)):
            raise ValueError(
                "[DataLoader] the state is of an iterable dataset with a state of its own, unlike this one"
            )
        if self._stream and state["num_workers"] != self.num_workers:
            raise ValueError(
                f"[DataLoader] the state is of {state['num_workers']} workers, the loader has {self.num_workers}: "
                "samples of an iterable dataset come in another order"
            )
        if self.generator is not None:
            self.generator.set_state(tuple(state["generator"]))
        self._loaded = dict(state)

    def _tasks(self) -> Iterator[Any]:
        if self._stream:
            return itertools.repeat(self.batch_size)
        return batches_of(self.batch_sampler) if self.batch_sampler is not None else iter(self.sampler or ())

    def _stateful(self) -> Any:
        """Returns the sampler that has a state, the outermost first; None if there is none."""
        inner = getattr(self.batch_sampler, "sampler", None)
        for sampler in (self.batch_sampler, self.sampler, inner):
            if has_state(sampler):
                return sampler
        return None

    def _settings(self) -> Settings:
        batched = self.batch_size is not None or self.batch_sampler is not None
        return Settings(
            dataset=self.dataset,
            stream=self._stream,
            batched=batched,
            collate=self.collate_fn,
            drop_last=self.drop_last,
            init=self.worker_init_fn,
            num_workers=self.num_workers,
            resumable=self._stream and has_state(self.dataset),
        )

    def _context(self) -> Any:
        given = self.multiprocessing_context
        if given is None or isinstance(given, str):
            try:
                return multiprocessing.get_context(given or "fork")
            except ValueError as error:
                known = ", ".join(multiprocessing.get_all_start_methods())
                raise ValueError(f"[DataLoader] multiprocessing_context: '{given}' is none of {known}") from error
        if not hasattr(given, "Process"):
            raise TypeError(
                f"[DataLoader] multiprocessing_context: expected a name or a context, got {type(given).__name__}"
            )
        return given

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for copies and pickles, which go on where this loader stands, with workers of their own."""
        return {**self.__dict__, "_pool": None, "_current": None, "_loaded": self.state_dict()}

    def __copy__(self) -> Self:
        """Returns a loader of the same dataset that goes on where this one stands."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__getstate__())
        return made


def has_state(value: Any) -> bool:
    """True if an object can tell where it stands, and go on from there."""
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


def _check_flags(**flags: Any) -> None:
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"[DataLoader] {name}: expected a bool, got {type(flag).__name__}")
