"""Schedules that are made of others."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, check_count


def _check_part(name: str, what: str, schedule: Any, optimizer: Optimizer) -> None:
    """Raises unless a schedule can be a part of another one of ``optimizer``."""
    if not isinstance(schedule, LRScheduler) or isinstance(schedule, ReduceLROnPlateau):
        raise TypeError(f"[{name}] {what} is a function of the epoch alone, not {type(schedule).__name__}")
    if schedule.optimizer is not optimizer:
        raise ValueError(f"[{name}] {what} is of another optimizer")


class _Composition(LRScheduler):
    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler]) -> None:
        super().__init__(optimizer)
        name = type(self).__name__
        self.schedulers = list(schedulers)
        if not self.schedulers:
            raise ValueError(f"[{name}] there are no schedules")
        for index, schedule in enumerate(self.schedulers):
            _check_part(name, f"schedule {index}", schedule, optimizer)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state, and those of the schedules."""
        return {**super().state_dict(), "schedulers": [schedule.state_dict() for schedule in self.schedulers]}

    def _check_state(self, state: Any) -> None:
        super()._check_state(state)
        if len(state["schedulers"]) != len(self.schedulers):
            raise ValueError(f"[{type(self).__name__}] the state is of another number of schedules")
        for schedule, saved in zip(self.schedulers, state["schedulers"], strict=True):
            schedule._check_state(saved)

    def _load(self, state: dict[str, Any]) -> None:
        super()._load(state)
        for schedule, saved in zip(self.schedulers, state["schedulers"], strict=True):
            schedule._load(saved)


class SequentialLR(_Composition):
    """Follows one schedule after the other: each begins its own epoch 0 at a milestone.

    Args:
        optimizer: the optimizer of all schedules.
        schedulers: one more than milestones.
        milestones: the epochs at which the next schedule begins, in order.
    """

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int]) -> None:
        super().__init__(optimizer, schedulers)
        self.milestones = [check_count("SequentialLR", "a milestone", epoch) for epoch in milestones]
        if len(self.milestones) + 1 != len(self.schedulers):
            raise ValueError(
                f"[SequentialLR] {len(self.schedulers)} schedules are parted by {len(self.schedulers) - 1} milestones, "
                f"not {len(self.milestones)}"
            )
        if self.milestones != sorted(self.milestones):
            raise ValueError(f"[SequentialLR] milestones are in order, not {self.milestones}")
        self.begin()

    def options(self, epoch: int, bases: Sequence[float] | None = None) -> list[dict[str, Any]]:
        """Returns the options of the schedule whose turn it is."""
        number = bisect.bisect_right(self.milestones, epoch)
        return self.schedulers[number].options(epoch - [0, *self.milestones][number], bases)


class ChainedScheduler(_Composition):
    """Follows several schedules at once: each begins, in every epoch, with the rate of the one before.

    Args:
        schedulers: schedules of one optimizer.
        optimizer: that optimizer, by default the first schedule's.
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        listed = list(schedulers)
        if optimizer is None:
            if not listed:
                raise ValueError("[ChainedScheduler] there are no schedules")
            optimizer = getattr(listed[0], "optimizer", None)
        super().__init__(optimizer, listed)  # type: ignore[arg-type]  # the base refuses what is no optimizer
        self.begin()

    def options(self, epoch: int, bases: Sequence[float] | None = None) -> list[dict[str, Any]]:
        """Returns the options of the last schedule, and what the others set beside."""
        found: list[dict[str, Any]] = [{} for _ in self.base_lrs]
        for schedule in self.schedulers:
            for options, more in zip(found, schedule.options(epoch, bases), strict=True):
                options.update(more)
            bases = [options["lr"] for options in found]
        return found


class LinearWarmupLR(LRScheduler):
    """Lets the rate grow in a straight line at first, then follows another schedule, which begins its own epoch 0.

    Args:
        optimizer: its groups get the rates.
        warmup_epochs: how many epochs the rate grows.
        start_lr: the first rate.
        end_lr: the rate that it grows to; by default that of the group.
        after: the schedule that follows; None keeps ``end_lr``.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        warmup_epochs: int,
        start_lr: float = 0.0,
        end_lr: float | None = None,
        after: LRScheduler | None = None,
    ) -> None:
        check_count("LinearWarmupLR", "warmup_epochs", warmup_epochs)
        super().__init__(optimizer)
        if after is not None:
            _check_part("LinearWarmupLR", "after", after, optimizer)
        self.warmup_epochs = warmup_epochs
        self.start_lr = start_lr
        self.end_lr = end_lr
        self.after = after
        self.begin()

    def options(self, epoch: int, bases: Sequence[float] | None = None) -> list[dict[str, Any]]:
        """Returns the options of the warm-up, or those of the schedule that follows."""
        if self.after is None or epoch < self.warmup_epochs:
            return super().options(epoch, bases)
        return self.after.options(epoch - self.warmup_epochs, bases)

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``start_lr + (end_lr - start_lr) * min(epoch / warmup_epochs, 1)``."""
        end = base if self.end_lr is None else self.end_lr
        return self.start_lr + (end - self.start_lr) * min(epoch / self.warmup_epochs, 1.0)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state, and that of the schedule that follows."""
        after = {} if self.after is None else {"after": self.after.state_dict()}
        return {**super().state_dict(), **after}

    def _check_state(self, state: Any) -> None:
        super()._check_state(state)
        if self.after is not None:
            self.after._check_state(state["after"])

    def _load(self, state: dict[str, Any]) -> None:
        super()._load(state)
        if self.after is not None:
            self.after._load(state["after"])
