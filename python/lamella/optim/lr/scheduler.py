"""Base of schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import lamella as lm

from ..optimizer import Optimizer


class LRScheduler:
    """Base of schedules: a subclass defines :meth:`rate`, the learning rate of an epoch given the first one.

    Each group keeps its first rate as ``group["initial_lr"]``, so that several schedules of one optimizer begin alike.
    A subclass whose rate in epoch 0 is another than the first calls :meth:`begin` at the end of its constructor.

    Args:
        optimizer: its groups get the rates.

    Attributes:
        epoch: how often :meth:`step` was called.
        base_lrs: the learning rates that the optimizer's groups had at the start.

    Raises:
        TypeError: ``optimizer`` is none.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"[{type(self).__name__}] expected an Optimizer, not {type(optimizer).__name__}")
        self.optimizer = optimizer
        self.epoch = 0
        self.base_lrs: list[float] = []
        self._take_groups()

    def rate(self, base: float, epoch: int) -> float:
        """Returns the learning rate in ``epoch`` of a group that began with ``base``."""
        raise NotImplementedError(f"[{type(self).__name__}] the schedule defines no rate")

    def rates(self, epoch: int, bases: Sequence[float]) -> list[float]:
        """Returns the learning rates in ``epoch`` of groups that began with ``bases``."""
        return [self.rate(base, epoch) for base in bases]

    def options(self, epoch: int, bases: Sequence[float] | None = None) -> list[dict[str, Any]]:
        """Returns the options of each group in ``epoch``: the learning rate, and what else the schedule sets.

        Args:
            epoch: counted from 0.
            bases: the rates that groups began with, by default ``base_lrs``.
        """
        return [{"lr": rate} for rate in self.rates(epoch, self.base_lrs if bases is None else bases)]

    def begin(self) -> None:
        """Sets the options of this epoch."""
        self._take_groups()
        for group, options in zip(self.optimizer.param_groups, self.options(self.epoch), strict=True):
            group.update(options)

    def step(self) -> None:
        """Begins the next epoch."""
        self.epoch += 1
        self.begin()

    def get_last_lr(self) -> list[float]:
        """Returns the learning rates now, one per group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Returns the epoch and the first rates: all that a schedule made with the same arguments needs to go on."""
        return {"epoch": self.epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where a saved schedule was; everything is checked before anything changes.

        Raises:
            ValueError: the state is of another schedule, or of another number of groups.
        """
        self._check_state(state)
        self._load(state)
        self.begin()

    def _take_groups(self) -> None:
        """Begins with the groups that are new."""
        for group in self.optimizer.param_groups[len(self.base_lrs) :]:
            rate = group["lr"]  # a tensor may be written into later
            group.setdefault("initial_lr", rate.item() if isinstance(rate, lm.Tensor) else rate)
            self.base_lrs.append(group["initial_lr"])

    def _check_state(self, state: Any) -> None:
        name = type(self).__name__
        missing = [key for key in self.state_dict() if not isinstance(state, Mapping) or key not in state]
        if missing:
            raise ValueError(f"[{name}] the state is a mapping that holds {', '.join(map(repr, missing))}")
        if len(state["base_lrs"]) != len(self.optimizer.param_groups):
            raise ValueError(f"[{name}] the state is of another number of parameter groups")

    def _load(self, state: dict[str, Any]) -> None:
        self.epoch, self.base_lrs = state["epoch"], list(state["base_lrs"])

    def _per_group(self, option: str, value: Any) -> list[Any]:
        """Returns one value for each group, from one for all or a list.

        Raises:
            ValueError: a list has another length.
        """
        count = len(self.optimizer.param_groups)
        if not isinstance(value, (list, tuple)):
            return [value] * count
        if len(value) != count:
            raise ValueError(f"[{type(self).__name__}] {option} has {len(value)} values for {count} parameter groups")
        return list(value)


def check_count(name: str, option: str, value: Any, low: int = 1) -> int:
    """Returns an int of at least ``low``.

    Raises:
        TypeError: it is no int.
        ValueError: it is below ``low``.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"[{name}] {option} is an int, not {type(value).__name__}")
    if value < low:
        raise ValueError(f"[{name}] {option} is at least {low}, not {value}")
    return value
