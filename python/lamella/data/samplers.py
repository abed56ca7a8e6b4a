"""Samplers: in which order the samples of a dataset are visited, and which belong to one batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

import lamella as lm

from ._fetch import Indices, keeps

T = TypeVar("T")
_SEEDS = 2**63 - 1


def draw_seed(generator: lm.random.Generator | None) -> int:
    """Returns a seed drawn from a generator, the CPU's default one if None."""
    device = "cpu" if generator is None else generator.device
    return int(lm.randint(0, _SEEDS, (), dtype="int64", device=device, generator=generator).item())


class Sampler(Generic[T]):
    """Base of samplers. A subclass defines ``__iter__``, and ``__len__`` if it knows its length.

    One that has ``state_dict`` and ``load_state_dict`` is saved with the loader's state, and is asked for an iterator
    of the same epoch afterwards.
    """

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"[{type(self).__name__}] the sampler defines no __iter__")


class _Ordered(Sampler[int]):
    """Sampler whose order is known as a whole."""

    def _order(self) -> Indices:
        raise NotImplementedError(f"[{type(self).__name__}] the sampler defines no order")

    def __iter__(self) -> Iterator[int]:
        order = self._order()
        return iter(order.tolist() if isinstance(order, np.ndarray) else order)


class SequentialSampler(_Ordered):
    """Samples 0, 1, 2, ... of ``data_source``."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __len__(self) -> int:
        return len(self.data_source)

    def _order(self) -> Indices:
        return range(len(self.data_source))


class _Pieces(Sequence[int]):
    """Numbers below ``size``, drawn with replacement piece by piece, as all may be more than memory holds."""

    _LENGTH = 1 << 16

    def __init__(self, size: int, count: int, generator: lm.random.Generator) -> None:
        self._size, self._count = size, count
        self._seed = draw_seed(generator)
        self._last: tuple[int, np.ndarray] = (-1, np.empty(0, np.int64))

    def __len__(self) -> int:
        return self._count

    def _piece(self, number: int) -> np.ndarray:
        if self._last[0] != number:
            generator = lm.random.Generator("cpu", (self._seed + number) % _SEEDS)
            length = min(self._LENGTH, self._count - number * self._LENGTH)
            drawn = lm.randint(0, self._size, (length,), dtype="int64", device="cpu", generator=generator)
            self._last = number, drawn.numpy()
        return self._last[1]

    def __getitem__(self, at: Any) -> Any:
        if not isinstance(at, slice):
            number = range(self._count)[at]
            return int(self._piece(number // self._LENGTH)[number % self._LENGTH])
        begin, end, _ = at.indices(self._count)
        first = begin // self._LENGTH
        pieces = [self._piece(i) for i in range(first, -(-end // self._LENGTH))]
        return np.concatenate([np.empty(0, np.int64), *pieces])[begin - first * self._LENGTH :][: max(0, end - begin)]

    def __iter__(self) -> Iterator[int]:
        for begin in range(0, self._count, self._LENGTH):
            yield from self[begin : begin + self._LENGTH].tolist()


class _Seeded(_Ordered):
    """Sampler that draws one seed for each epoch, from which its order is made, so that an epoch can come again."""

    def __init__(self, generator: lm.random.Generator | None) -> None:
        self.generator = generator
        self._seed: int | None = None
        self._again = False

    def _order(self) -> Indices:
        if not self._again or self._seed is None:
            self._seed = draw_seed(self.generator)
        self._again = False
        return self._drawn(lm.random.Generator("cpu", self._seed))

    def _drawn(self, generator: lm.random.Generator) -> Indices:
        raise NotImplementedError(f"[{type(self).__name__}] the sampler defines no order")

    def state_dict(self) -> dict[str, Any]:
        """Returns the seed of the epoch that was begun last, None before the first."""
        return {"seed": self._seed}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next epoch the one that a state is of."""
        if not isinstance(state, Mapping) or not isinstance(state.get("seed"), (int, type(None))):
            raise ValueError(f"[{type(self).__name__}] the state is a mapping with a 'seed'")
        self._seed = state.get("seed")
        self._again = self._seed is not None


class RandomSampler(_Seeded):
    """Samples in random order.

    Args:
        data_source: has ``__len__``.
        replacement: draws each sample from all of them, so that one may come twice. Otherwise one order after the other
            is used up.
        num_samples: number of samples in an epoch; all of them if None.
        generator: draws a seed for each epoch; the default generator if None.

    Raises:
        ValueError: ``num_samples`` is no positive int, or there is nothing to draw them from.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: lm.random.Generator | None = None,
    ) -> None:
        super().__init__(generator)
        if not isinstance(replacement, bool):
            raise TypeError(f"[RandomSampler] replacement: expected a bool, got {type(replacement).__name__}")
        if num_samples is not None and (type(num_samples) is not int or num_samples <= 0):
            raise ValueError(f"[RandomSampler] num_samples is a positive int, not {num_samples!r}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples

    @property
    def num_samples(self) -> int:
        """Number of samples in an epoch."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __len__(self) -> int:
        return self.num_samples

    def _drawn(self, generator: lm.random.Generator) -> Indices:
        size, count = len(self.data_source), self.num_samples
        if count and not size:
            raise ValueError(f"[RandomSampler] cannot draw {count} samples from an empty dataset")
        if not count:
            return np.empty(0, np.int64)
        if self.replacement:
            return _Pieces(size, count, generator)
        orders = [lm.randperm(size, device="cpu", generator=generator).numpy() for _ in range(-(-count // size))]
        return (orders[0] if len(orders) == 1 else np.concatenate(orders))[:count]


class SubsetRandomSampler(_Seeded):
    """The samples with these numbers, in random order."""

    def __init__(self, indices: Sequence[int], generator: lm.random.Generator | None = None) -> None:
        super().__init__(generator)
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def _drawn(self, generator: lm.random.Generator) -> np.ndarray:
        order = lm.randperm(len(self.indices), device="cpu", generator=generator).numpy()
        return np.asarray(self.indices, np.int64)[order]


class WeightedRandomSampler(_Seeded):
    """Samples drawn with probabilities in proportion to weights.

    With replacement by inversion of the cumulative weights; without it by the least of exponential variables with the
    weights as rates, which gives the order of drawing one after the other (Efraimidis and Spirakis 2006, "Weighted
    random sampling with a reservoir").

    Args:
        weights: one for each sample, at least 0.
        num_samples: number of samples in an epoch.
        replacement: whether a sample may come twice.
        generator: draws a seed for each epoch; the default generator if None.

    Raises:
        ValueError: weights are negative or not finite, all are zero, or fewer of them are positive than are to be drawn
            without replacement; ``num_samples`` is no positive int.
    """

    def __init__(
        self,
        weights: Any,
        num_samples: int,
        replacement: bool = True,
        generator: lm.random.Generator | None = None,
    ) -> None:
        super().__init__(generator)
        if type(num_samples) is not int or num_samples <= 0:
            raise ValueError(f"[WeightedRandomSampler] num_samples is a positive int, not {num_samples!r}")
        values = np.asarray(weights, np.float64)
        if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any() or not values.any():
            raise ValueError("[WeightedRandomSampler] weights are one axis of finite numbers of at least 0, not all 0")
        if not replacement and num_samples > np.count_nonzero(values):
            raise ValueError(
                f"[WeightedRandomSampler] cannot draw {num_samples} samples without replacement: "
                f"{np.count_nonzero(values)} have a weight"
            )
        self.weights = values
        self.num_samples = num_samples
        self.replacement = replacement

    def __len__(self) -> int:
        return self.num_samples

    def _drawn(self, generator: lm.random.Generator) -> np.ndarray:
        count = self.num_samples if self.replacement else len(self.weights)
        uniform = lm.rand((count,), dtype="float64", device="cpu", generator=generator).numpy()
        if self.replacement:
            sums = np.cumsum(self.weights)
            drawn = np.searchsorted(sums, uniform * sums[-1], side="right")
            # Rounding may reach the sum itself, behind which there is no sample.
            return np.minimum(drawn, np.flatnonzero(self.weights)[-1])
        with np.errstate(divide="ignore"):
            arrivals = -np.log1p(-uniform) / self.weights
        arrivals[self.weights == 0] = np.inf
        return np.argsort(arrivals, kind="stable")[: self.num_samples]


class BatchSampler(Sampler[list[int]]):
    """The numbers that another sampler gives, in lists of ``batch_size``.

    Args:
        sampler: gives numbers of samples.
        batch_size: length of a list.
        drop_last: leaves a last list out that is shorter.

    Raises:
        ValueError: ``batch_size`` is not positive.
        TypeError: ``batch_size`` is no int, or ``drop_last`` no bool.
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool = False) -> None:
        check_batch_size("BatchSampler", batch_size)
        if not isinstance(drop_last, bool):
            raise TypeError(f"[BatchSampler] drop_last: expected a bool, got {type(drop_last).__name__}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def _batches(self) -> Iterator[Indices]:
        """Returns parts of the whole order, which is drawn now, without an object for each number."""
        order = self.sampler._order()  # type: ignore[attr-defined]
        count = len(order) - (len(order) % self.batch_size if self.drop_last else 0)
        return (order[begin : begin + self.batch_size] for begin in range(0, count, self.batch_size))


def batches_of(sampler: Any) -> Iterator[Any]:
    """Returns the batches of a batch sampler: ranges and arrays of numbers of Lamella's own, else its lists."""
    if type(sampler) is BatchSampler and keeps(type(sampler.sampler), "_order", "__iter__"):
        return sampler._batches()
    return iter(sampler)


def check_batch_size(name: str, batch_size: Any) -> None:
    """Raises TypeError unless ``batch_size`` is an int, and ValueError unless it is positive."""
    if type(batch_size) is not int:
        raise TypeError(f"[{name}] batch_size is an int, not {batch_size!r}")
    if batch_size <= 0:
        raise ValueError(f"[{name}] batch_size is a positive int, not {batch_size!r}")
