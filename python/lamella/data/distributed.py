"""The share of a dataset that each of several processes visits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from typing import Any

import numpy as np

import lamella as lm

from .samplers import Sampler


class DistributedSampler(Sampler[int]):
    """The samples of one of several processes: every `num_replicas`-th of an order that is the same on all of them.

    All processes get equally many: the order goes on from its beginning until it can be shared out, or with `drop_last`
    ends before. Call :meth:`set_epoch` before each epoch, so that each has an order of its own.

    Args:
        dataset: Something with a length.
        num_replicas: Number of processes; by default that of the default process group.
        rank: The number of this process; by default its rank there.
        shuffle: True for a random order, False for 0, 1, 2, ...
        seed: The seed of the orders, the same on all processes.
        drop_last: True to leave samples out, rather than to give some twice.

    Raises:
        ValueError: `rank` is not from 0 to ``num_replicas - 1``.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from ..distributed import get_rank, get_world_size

            num_replicas = get_world_size() if num_replicas is None else num_replicas
            rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"[DistributedSampler] rank is from 0 to {num_replicas - 1}, not {rank}")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0

    def __len__(self) -> int:
        size = len(self.dataset)
        return size // self.num_replicas if self.drop_last else -(-size // self.num_replicas)

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        order = np.arange(size)
        if self.shuffle:
            # A fork for each epoch: seeds that follow one another would repeat the orders of the next seed's epochs.
            generator = lm.random.Generator("cpu", self.seed).split(self.epoch + 1)[self.epoch]
            order = lm.randperm(size, dtype="int64", device="cpu", generator=generator).numpy()
        total = len(self) * self.num_replicas
        return iter(np.resize(order, total)[self.rank :: self.num_replicas].tolist() if size else [])

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of the next iterators: that of an epoch, counted from 0.

        Raises:
            ValueError: The number is negative.
        """
        if epoch < 0:
            raise ValueError(f"[DistributedSampler] an epoch is at least 0, not {epoch}")
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """Returns the epoch and the seed, from which the order of an epoch is made; :class:`DataLoader` saves them."""
        return {"epoch": self.epoch, "seed": self.seed}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next iterators those of the epoch that a state is of.

        Raises:
            ValueError: It is no such state.
        """
        if not isinstance(state, Mapping) or not all(isinstance(state.get(key), int) for key in ("epoch", "seed")):
            raise ValueError("[DistributedSampler] the state is a mapping with the ints 'epoch' and 'seed'")
        self.seed = state["seed"]
        self.set_epoch(state["epoch"])
