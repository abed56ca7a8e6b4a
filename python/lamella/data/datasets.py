"""Datasets: samples by number, or as a stream, and datasets made of others."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

import lamella as lm

from ._fetch import Indices, given_of, listed, samples_of, take, whole_batch

T = TypeVar("T")


class Dataset(Generic[T]):
    """Base of datasets whose samples have numbers. A subclass defines ``__getitem__`` and ``__len__``.

    A loader asks for whole batches where it can. ``__getitems__(numbers)``, if a subclass defines it, returns the list
    of samples; ``__getbatch__(numbers)`` returns the batch itself, already collated, or NotImplemented. The numbers are
    a range, an array of int64, or a list. A class that replaces ``__getitem__`` leaves those of its bases behind.
    """

    def __getitem__(self, index: int) -> T:
        raise NotImplementedError(f"[{type(self).__name__}] the dataset defines no __getitem__")

    def __add__(self, other: Dataset[T]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Generic[T]):
    """Base of datasets that are streams. A subclass defines ``__iter__``, and ``__len__`` if it knows its length.

    In a loader with workers each has a copy of the dataset and iterates it: :func:`get_worker_info` says which part of
    the stream is this worker's. If the class has ``state_dict()`` and ``load_state_dict(state)``, which makes the next
    iterator go on, a loader that is taken up in the middle of an epoch need not go through the samples again.
    """

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"[{type(self).__name__}] the dataset defines no __iter__")

    def __add__(self, other: IterableDataset[T]) -> ChainDataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Samples that are rows: sample ``i`` is ``(tensors[0][i], tensors[1][i], ...)``.

    Args:
        tensors: tensors, arrays or memory maps with first axes of one length. A batch is gathered by one take of each,
            and of a memory map no more is read than that.

    Raises:
        TypeError: for something else.
        ValueError: there are none, one has no axes, or their first axes differ.
    """

    def __init__(self, *tensors: Any) -> None:
        if not tensors:
            raise ValueError("[TensorDataset] expected at least one tensor")
        for place, tensor in enumerate(tensors):
            if not isinstance(tensor, (lm.Tensor, np.ndarray)):
                raise TypeError(
                    f"[TensorDataset] tensors[{place}] is {type(tensor).__name__}: expected a tensor or an array"
                )
            if tensor.ndim == 0:
                raise ValueError(f"[TensorDataset] tensors[{place}] has no axes, so that there are no samples")
            if len(tensor) != len(tensors[0]):
                raise ValueError(
                    f"[TensorDataset] tensors[0] has {len(tensors[0])} rows, tensors[{place}] has {len(tensor)}"
                )
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __getbatch__(self, indices: Indices) -> Any:
        return tuple(take(tensor, indices) for tensor in self.tensors)


class Subset(Dataset[Any]):
    """Part of a dataset: sample ``i`` is ``dataset[indices[i]]``; of a list, what the dataset has for one."""

    def __init__(self, dataset: Any, indices: Sequence[int] | np.ndarray) -> None:
        self.dataset = dataset
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int | list[int]) -> Any:
        return self.dataset[[self._place(each) for each in index] if isinstance(index, list) else self._place(index)]

    def __getitems__(self, indices: Indices) -> Any:
        return given_of(self.dataset, [self._place(index) for index in listed(indices)])

    def _place(self, index: int) -> int:
        """Returns the dataset's own index, an int where the indices are an array."""
        place: Any = self.indices[index]
        return place.item() if isinstance(place, np.generic) else place

    def __getbatch__(self, indices: Indices) -> Any:
        if isinstance(self.indices, range) and isinstance(indices, range):
            return whole_batch(self.dataset, self.indices[indices.start : indices.stop : indices.step])
        if not isinstance(self.indices, np.ndarray):
            return whole_batch(self.dataset, [self.indices[index] for index in listed(indices)])
        return whole_batch(self.dataset, self.indices[np.asarray(indices, np.int64)])


class ConcatDataset(Dataset[Any]):
    """Datasets one after the other.

    Raises:
        ValueError: there are none.
        TypeError: one of them is a stream: see :class:`ChainDataset`.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("[ConcatDataset] expected at least one dataset")
        for place, dataset in enumerate(self.datasets):
            if isinstance(dataset, IterableDataset):
                raise TypeError(f"[ConcatDataset] datasets[{place}] is a stream: use ChainDataset")
        #: Numbers of samples up to the end of each dataset.
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        place, number = self._find(index)
        return self.datasets[place][number]

    def __getitems__(self, indices: Indices) -> list[Any]:
        asked: dict[int, tuple[list[int], list[int]]] = {}
        numbers = listed(indices)
        for row, index in enumerate(numbers):
            place, number = self._find(index)
            rows, within = asked.setdefault(place, ([], []))
            rows.append(row)
            within.append(number)
        samples: list[Any] = [None] * len(numbers)
        for place, (rows, within) in asked.items():
            for row, sample in zip(rows, samples_of(self.datasets[place], within), strict=True):
                samples[row] = sample
        return samples

    def _find(self, index: int) -> tuple[int, int]:
        """Returns which dataset has a sample, and under which number."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"[ConcatDataset] index {index} is out of range for {len(self)} samples")
        index %= len(self)
        place = bisect.bisect_right(self.cumulative_sizes, index)
        return place, index - (self.cumulative_sizes[place - 1] if place else 0)


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


class StackDataset(Dataset[Any]):
    """Datasets side by side: a sample is a tuple of theirs, or, of datasets given by name, a dict.

    Raises:
        ValueError: there are none, some have names and others none, or they differ in length.
    """

    def __init__(self, *datasets: Any, **named: Any) -> None:
        if bool(datasets) == bool(named):
            raise ValueError("[StackDataset] expected datasets, all with names or all without")
        self.datasets: tuple[Any, ...] | dict[str, Any] = datasets or named
        sizes = {name: len(dataset) for name, dataset in zip(self._keys(), self._values(), strict=True)}
        if len(set(sizes.values())) > 1:
            raise ValueError(
                "[StackDataset] the datasets differ in length: " + ", ".join(f"{k}: {n}" for k, n in sizes.items())
            )

    def __len__(self) -> int:
        return len(self._values()[0])

    def __getitem__(self, index: int) -> Any:
        return self._like([dataset[index] for dataset in self._values()])

    def __getitems__(self, indices: Indices) -> list[Any]:
        columns = [samples_of(dataset, indices) for dataset in self._values()]
        return [self._like(row) for row in zip(*columns, strict=True)]

    def __getbatch__(self, indices: Indices) -> Any:
        batches = []
        for dataset in self._values():
            batch = whole_batch(dataset, indices)
            if batch is NotImplemented:
                return NotImplemented
            batches.append(batch)
        return self._like(batches)

    def _keys(self) -> list[Any]:
        return list(self.datasets) if isinstance(self.datasets, dict) else list(range(len(self.datasets)))

    def _values(self) -> list[Any]:
        return list(self.datasets.values()) if isinstance(self.datasets, dict) else list(self.datasets)

    def _like(self, items: Sequence[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, items, strict=True))
        return tuple(items)


def random_split(
    dataset: Any, lengths: Sequence[int] | Sequence[float], generator: lm.random.Generator | None = None
) -> list[Subset]:
    """Deals the samples of a dataset out at random.

    Args:
        dataset: has ``__len__``.
        lengths: numbers of samples that add up to all of them, or fractions that add up to 1; what rounding down
            leaves over goes to the first parts, one each.
        generator: draws the order; the default generator if None.

    Raises:
        ValueError: the lengths do not add up, or one is negative.
    """
    size = len(dataset)
    if any(length < 0 for length in lengths):
        raise ValueError(f"[random_split] lengths are at least 0, got {list(lengths)}")
    if any(isinstance(length, float) for length in lengths):
        if not math.isclose(sum(lengths), 1.0, abs_tol=1e-6):
            raise ValueError(f"[random_split] fractions add up to 1, these to {sum(lengths)}")
        counts = [math.floor(size * fraction + 1e-9) for fraction in lengths]
        for place in range(size - sum(counts)):
            counts[place % len(counts)] += 1
    else:
        counts = [int(length) for length in lengths]
    if sum(counts) != size:
        raise ValueError(f"[random_split] lengths add up to {sum(counts)}, the dataset has {size} samples")
    device = "cpu" if generator is None else generator.device
    order = lm.randperm(size, device=device, generator=generator).numpy()
    ends = list(itertools.accumulate(counts))
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends, strict=True)]


def as_dataset(data: Any) -> Any:
    """Returns what a loader can fetch from: dicts of arrays and Arrow tables as datasets, all else as it is.

    Raises:
        TypeError: ``data`` has neither ``__getitem__`` and ``__len__`` nor ``__iter__``.
    """
    if isinstance(data, Mapping):
        if not data or not all(isinstance(key, str) for key in data):
            raise TypeError("[DataLoader] dataset: a dict holds arrays by their names, which are text")
        return StackDataset(**data)
    kind = type(data)
    if kind.__module__.split(".")[0] == "pyarrow":
        from .sources import ArrowDataset

        return ArrowDataset(data)
    if not (hasattr(kind, "__getitem__") or hasattr(kind, "__iter__")):
        raise TypeError(f"[DataLoader] dataset: {kind.__name__} has neither __getitem__ nor __iter__")
    return data
