"""Data sets, samplers and loaders."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from lamella.compat.names import Names, serve
from lamella.compat.tables.paddle import DATA as _TABLE
from lamella.static.program import paused

from . import _words
from ._functions import to_tensor

__getattr__ = serve(Names(__name__, [("lamella.data", _TABLE, _words.LOADING)]))
_native: Any = importlib.import_module("lamella.data")


class Sampler(_native.Sampler):  # type: ignore[misc]
    """Base of samplers, which keeps the data set; a subclass defines ``__iter__``, and ``__len__`` if it knows it."""

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source


class TensorDataset(_native.TensorDataset):  # type: ignore[misc]
    """Rows of tensors that are given in one list."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        super().__init__(*tensors)


class ComposeDataset(_native.Dataset):  # type: ignore[misc]
    """The fields of several data sets of one length, example by example."""

    def __init__(self, datasets: Sequence[Any]) -> None:
        self.datasets = list(datasets)
        for index, each in enumerate(self.datasets):
            if isinstance(each, _native.IterableDataset):
                raise ValueError(f"[ComposeDataset] datasets[{index}] is a stream, whose examples have no numbers")
        lengths = [len(each) for each in self.datasets]
        if len(set(lengths)) != 1:
            raise ValueError(f"[ComposeDataset] datasets are to have one length, got {lengths}")

    def __len__(self) -> int:
        return len(self.datasets[0])

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        fields: list[Any] = []
        for each in self.datasets:
            value = each[index]
            fields.extend(value if isinstance(value, (list, tuple)) else [value])
        return tuple(fields)


class ChainDataset(_native.ChainDataset):  # type: ignore[misc]
    """Streams one after the other."""

    def __init__(self, datasets: Sequence[Any]) -> None:
        datasets = list(datasets)
        for index, each in enumerate(datasets):
            # What has numbers alone may have no end where it is iterated.
            if not isinstance(each, _native.IterableDataset):
                raise ValueError(
                    f"[ChainDataset] datasets[{index}] is {type(each).__name__}, no IterableDataset: use ConcatDataset"
                )
        super().__init__(datasets)


class RandomSampler(Sampler):
    """Places in random order, drawn as in Paddle by numpy's own generator: ``np.random.seed`` decides on them.

    Args:
        data_source: has a length.
        replacement: True draws each place anew.
        num_samples: number of places, all by default.
        generator: an iterator of places in the place of numpy's generator.
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(data_source)
        if not isinstance(replacement, bool):
            raise TypeError(f"[RandomSampler] replacement is a bool, not {type(replacement).__name__}")
        if num_samples is not None and not (isinstance(num_samples, int) and num_samples > 0):
            raise ValueError(f"[RandomSampler] num_samples is a positive int or None, not {num_samples!r}")
        if num_samples is not None and not replacement and num_samples > len(data_source):
            raise ValueError(
                f"[RandomSampler] num_samples is {num_samples}, and there are {len(data_source)} examples: "
                "replacement=True draws some of them again"
            )
        self.replacement, self._count, self.generator = replacement, num_samples, generator

    @property
    def num_samples(self) -> int:
        """Number of places."""
        return len(self.data_source) if self._count is None else self._count

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        import numpy as np

        if self.generator is not None:
            return itertools.islice(self.generator, self.num_samples)
        size = len(self.data_source)
        drawn = np.random.choice(size, self.num_samples) if self.replacement else np.random.permutation(size)
        return iter(drawn[: self.num_samples].tolist())


class WeightedRandomSampler(Sampler):
    """Places drawn with probabilities in proportion to ``weights``, by numpy's own generator."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True) -> None:
        import numpy as np

        super().__init__()
        if not (isinstance(num_samples, int) and num_samples > 0):
            raise ValueError(f"[WeightedRandomSampler] num_samples is a positive int, not {num_samples!r}")
        self.weights = np.asarray(weights, "float64")
        if self.weights.ndim != 1 or not (self.weights >= 0).all() or not self.weights.sum() > 0:
            raise ValueError("[WeightedRandomSampler] weights is a list of numbers from 0 on, of which one is positive")
        if not replacement and num_samples > np.count_nonzero(self.weights):
            raise ValueError(
                f"[WeightedRandomSampler] num_samples is {num_samples}, and {np.count_nonzero(self.weights)} weights "
                "are positive: replacement=True draws some of them again"
            )
        self.num_samples, self.replacement = num_samples, replacement

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        import numpy as np

        chances = self.weights / self.weights.sum()
        return iter(np.random.choice(len(chances), self.num_samples, self.replacement, chances).tolist())


class BatchSampler(_native.BatchSampler):  # type: ignore[misc]
    """Batches of places in a data set, or of those that a sampler gives."""

    def __init__(
        self,
        dataset: Any = None,
        sampler: Any = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        if (dataset is None) == (sampler is None):
            raise ValueError("[BatchSampler] takes a dataset or a sampler")
        if sampler is None:
            sampler = RandomSampler(dataset) if shuffle else _native.SequentialSampler(dataset)
        super().__init__(sampler, batch_size, drop_last)


class DistributedBatchSampler(BatchSampler):
    """Batches of the part of a data set that belongs to one process, of which there is one here by default.

    Args:
        dataset: has a length.
        batch_size: number of examples in a batch.
        num_replicas: number of processes.
        rank: of this one.
        shuffle: takes the examples in an order that :meth:`set_epoch` changes.
        drop_last: leaves out a smaller last batch.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        drop_last: bool = False,
    ) -> None:
        self.nranks, self.local_rank = num_replicas or 1, rank or 0
        self.dataset, self.shuffle, self.epoch = dataset, shuffle, 0
        self.num_samples = math.ceil(len(dataset) / self.nranks)
        self.total_size = self.num_samples * self.nranks
        super().__init__(sampler=range(self.num_samples), batch_size=batch_size, drop_last=drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        """Yields batches: those of all processes take turns, and share what is left of them in parts of one size."""
        places = [place % len(self.dataset) for place in range(self.total_size)]
        if self.shuffle:
            import numpy as np

            np.random.RandomState(self.epoch).shuffle(places)
            self.epoch += 1
        whole = self.total_size - self.total_size % (self.batch_size * self.nranks)
        share = (self.total_size - whole) // self.nranks
        own = [place for number, place in enumerate(places[:whole]) if self._turn(number) == self.local_rank]
        own += places[whole + self.local_rank * share : whole + (self.local_rank + 1) * share]
        for start in range(0, len(own), self.batch_size):
            batch = own[start : start + self.batch_size]
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def _turn(self, number: int) -> int:
        """Returns the process whose batch has the place of a number."""
        return number // self.batch_size % self.nranks

    def set_epoch(self, epoch: int) -> None:
        """Has the next order be that of an epoch."""
        self.epoch = epoch


def _with_doubles(sample: Any) -> Any:
    """Returns a sample whose Python floats are numpy's, which keep their precision in a batch."""
    if type(sample) is float:
        import numpy as np

        return np.float64(sample)
    if type(sample) in (list, tuple):
        return type(sample)(_with_doubles(each) for each in sample)
    return {key: _with_doubles(each) for key, each in sample.items()} if type(sample) is dict else sample


def _with_tensors(batch: Any) -> Any:
    """Returns a batch with tensors in the place of numpy's arrays."""
    if type(batch) in (list, tuple):
        return type(batch)(_with_tensors(each) for each in batch)
    if type(batch) is dict:
        return {key: _with_tensors(each) for key, each in batch.items()}
    return to_tensor(batch) if type(batch).__name__ == "ndarray" and batch.dtype.kind in "biufc" else batch


def _with_lists(batch: Any) -> Any:
    """Returns a batch with lists in the place of tuples."""
    if type(batch) in (list, tuple):
        return [_with_lists(each) for each in batch]
    return {key: _with_lists(each) for key, each in batch.items()} if type(batch) is dict else batch


class _Collate:
    """Makes batches of samples as Paddle does: numbers in double precision, and tensors of what a program returns."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, samples: Any) -> Any:
        if self.function is None:
            return _with_lists(_native.default_collate([_with_doubles(each) for each in samples]))
        return _with_tensors(self.function(samples))


class DataLoader:
    """Batches of a data set, as lists of tensors."""

    def __init__(
        self,
        dataset: Any,
        feed_list: Any = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Any = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: float = 0,
        worker_init_fn: Any = None,
        persistent_workers: bool = False,
        reader_buffer_size: int = 2,
    ) -> None:
        # Whole batches of tensors are taken at once where nothing else makes them; single samples stay as they are.
        plain = collate_fn is None and (batch_size is None or isinstance(dataset, _native.TensorDataset))
        options: dict[str, Any] = {
            "collate_fn": None if plain else _Collate(collate_fn),
            "num_workers": num_workers,
        }
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or drop_last:
                raise ValueError(
                    "[DataLoader] batch_sampler makes the batches: leave out batch_size, shuffle and drop_last"
                )
            options["batch_sampler"] = batch_sampler
        else:
            options.update(batch_size=batch_size, drop_last=drop_last)
            options.update({"sampler": RandomSampler(dataset)} if shuffle else {"shuffle": False})
        if worker_init_fn is not None:
            options["worker_init_fn"] = worker_init_fn
        self.dataset = dataset
        self._loader = _native.DataLoader(dataset, **options)
        self.batch_sampler = batch_sampler or getattr(self._loader, "batch_sampler", None)

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        with paused():  # what reads examples is no part of a program that is recorded
            batches = iter(self._loader)
        while True:
            with paused():
                batch = next(batches, None)
            if batch is None:
                return
            yield list(batch) if isinstance(batch, tuple) else batch

    def __call__(self) -> Iterator[Any]:
        """Returns an iterator of batches, as older programs ask for it."""
        return iter(self)
