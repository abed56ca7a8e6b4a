"""A sampler for several processes, each of which takes its part of a data set."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any

import lamella as lm
from lamella.compat.front import close_module

_data: Any = importlib.import_module("lamella.data")


class DistributedSampler(_data.Sampler):  # type: ignore[misc]
    """The places of a data set that belong to process ``rank`` of ``num_replicas``: every so many-th of an order.

    Args:
        dataset: the data set.
        num_replicas: how many processes there are; by default those of the group.
        rank: which of them this is.
        shuffle: draws the order anew for each epoch, the same in all processes.
        seed: of that order.
        drop_last: leaves out the places that do not fill a round; otherwise the first ones fill it.

    Raises:
        ValueError: ``rank`` is none of ``num_replicas``.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        from ... import distributed as group

        self.dataset = dataset
        self.num_replicas = group.get_world_size() if num_replicas is None else num_replicas
        self.rank = group.get_rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"[DistributedSampler] rank {self.rank} is none of {self.num_replicas} processes")
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.epoch = 0

    def _count(self) -> int:
        whole = len(self.dataset) / self.num_replicas
        return math.floor(whole) if self.drop_last else math.ceil(whole)

    def __len__(self) -> int:
        return self._count()

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        order: list[int] = list(range(count))
        if self.shuffle:
            generator = lm.Generator("cpu", self.seed + self.epoch)
            order = [int(each) for each in lm.randperm(count, generator=generator).numpy()]
        total = self._count() * self.num_replicas
        order = (order * math.ceil(total / max(count, 1)))[:total]
        return iter(order[self.rank :: self.num_replicas])

    def set_epoch(self, epoch: int) -> None:
        """Tells the epoch, which the order depends on."""
        self.epoch = epoch


__getattr__ = close_module(__name__)
