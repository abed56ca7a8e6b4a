"""Fetching: from the numbers of samples to a batch, at once where the dataset can, and one by one elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import lamella as lm

from . import collate
from .collate import default_collate, tensor_of

#: Numbers of samples: a range where they are consecutive, an array of int64, or a list.
Indices = range | np.ndarray | Sequence[Any]


class End:
    """Stands for the batch after the last of a stream."""


def keeps(kind: type, shortcut: str, method: str) -> bool:
    """True if ``shortcut`` is what ``kind`` defines last: a subclass that replaces ``method`` has left it behind."""
    for each in kind.__mro__:
        if shortcut in vars(each):
            return True
        if method in vars(each):
            return False
    return False


def listed(indices: Indices) -> list[Any]:
    """Returns the numbers of samples as a list of ints."""
    return indices.tolist() if isinstance(indices, np.ndarray) else list(indices)


def take(array: Any, indices: Indices) -> Any:
    """Returns the rows of a tensor or an array as one new tensor; consecutive rows are copied as one block."""
    block = array[indices.start : indices.stop] if isinstance(indices, range) and indices.step == 1 else None
    if isinstance(array, lm.Tensor):
        if block is not None:
            return block.clone()
        numbers = lm.from_numpy(np.asarray(indices, np.int64))
        return lm.index_select(array, 0, numbers, out=collate.tensor_to_fill(len(indices), array[0]))
    if array.dtype.kind not in collate.NUMBERS:
        return tensor_of(np.array(block) if block is not None else np.asarray(array)[np.asarray(indices)])
    batch = collate.allocate(
        (len(indices), *array.shape[1:]), array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    )
    if block is not None:
        np.copyto(batch, block)
    else:
        _gather(np.asarray(array), np.asarray(indices, np.int64), batch)
    return lm.from_numpy(batch)


def _gather(array: np.ndarray, indices: np.ndarray, batch: np.ndarray) -> None:
    """Copies rows. numpy goes through a buffer where it checks the numbers itself, so that is done before."""
    size = len(array)
    if len(indices) and not (-size <= indices.min() and indices.max() < size):
        raise IndexError(f"[DataLoader] a number of a sample is out of range for {size} samples")
    if array.dtype == batch.dtype:
        np.take(array, indices, axis=0, out=batch, mode="wrap")
    else:
        batch[...] = array[indices]


def whole_batch(dataset: Any, indices: Indices) -> Any:
    """Returns a collated batch by one indexed take, or NotImplemented where the dataset gives single samples only."""
    if isinstance(dataset, (np.ndarray, lm.Tensor)):
        return take(dataset, indices)
    if keeps(type(dataset), "__getbatch__", "__getitem__"):
        return dataset.__getbatch__(indices)
    return NotImplemented


def given_of(dataset: Any, indices: Indices) -> Any:
    """Returns what ``__getitems__`` of the dataset gives for the numbers, or a list of its samples, one by one."""
    numbers = listed(indices)
    if keeps(type(dataset), "__getitems__", "__getitem__"):
        return dataset.__getitems__(numbers)
    return [dataset[number] for number in numbers]


def samples_of(dataset: Any, indices: Indices) -> list[Any]:
    """Returns the samples, by one call where the dataset has ``__getitems__``."""
    samples = given_of(dataset, indices)
    if len(samples) != len(indices):
        raise ValueError(
            f"[DataLoader] {type(dataset).__name__}.__getitems__ gave {len(samples)} samples for {len(indices)}"
        )
    return list(samples)


class MapFetcher:
    """Batches of a dataset with ``__getitem__``.

    Args:
        dataset: what has the samples.
        collate: makes a batch of a list of samples, or, without batching, what is given of a sample.
        batched: True if a task is the numbers of a batch, False if it is the number of one sample.
    """

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], batched: bool) -> None:
        self._dataset = dataset
        self._collate = collate
        self._batched = batched
        self._whole = batched and collate is default_collate
        # A collate of the program's own may know a dataset whose __getitems__ gives something else than a list.
        self._samples = samples_of if collate is default_collate else given_of

    def __call__(self, task: Any) -> Any:
        if not self._batched:
            return self._collate(self._dataset[task])
        if self._whole:
            batch = whole_batch(self._dataset, task)
            if batch is not NotImplemented:
                return batch
            self._whole = False
        return self._collate(self._samples(self._dataset, task))

    def skip(self, task: Any) -> Any:
        """Passes over a batch; there is nothing to do, as samples are found by their numbers."""


class StreamFetcher:
    """Batches of an iterable dataset: a task is the number of samples, None for a single one without batching.

    Args:
        dataset: the stream.
        collate: makes a batch of a list of samples, or, without batching, what is given of a sample.
        drop_last: leaves a last batch out that is shorter.
        state: what :meth:`state_dict` gave where the stream is to go on; None begins it.
    """

    def __init__(
        self, dataset: Any, collate: Callable[[Any], Any], drop_last: bool, state: Mapping[str, Any] | None = None
    ) -> None:
        if state is not None:
            dataset.load_state_dict(state["dataset"])
        self._dataset = dataset
        self._ended = bool(state and state["ended"])
        self._samples: Iterator[Any] = iter(() if self._ended else dataset)
        self._collate = collate
        self._drop_last = drop_last

    def state_dict(self) -> dict[str, Any]:
        """Returns where the stream is; one that has ended may have put itself back to its beginning."""
        return {"dataset": self._dataset.state_dict(), "ended": self._ended}

    def __call__(self, task: int | None) -> Any:
        samples = self.skip(task)
        return samples if samples is End else self._collate(samples if task is not None else samples[0])

    def skip(self, task: int | None) -> Any:
        """Takes the next samples and returns them as they are, :class:`End` after the last."""
        count = 1 if task is None else task
        samples = list(itertools.islice(self._samples, count))
        self._ended = len(samples) < count
        return samples if samples and (len(samples) == count or not self._drop_last) else End
