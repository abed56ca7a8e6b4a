"""Steps of schedules that are made of others: each of them counts its own epochs and follows the present rates."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable
from typing import Any

from lamella import optim
from lamella.optim.lr import compositions

from . import _rates


def _step_each(self: Any, epoch: float | None = None) -> None:
    """Has each schedule begin its next epoch: one that goes by ratios follows the rate that the one before has set."""
    given = () if epoch is None else (epoch,)
    for schedule in self.schedulers:
        schedule.step(*given)
    self.epoch = self.epoch + 1 if epoch is None else epoch
    _rates.note(self)


def _step_in_turn(self: Any, epoch: float | None = None) -> None:
    """Has the schedule whose turn it is begin its next epoch, or epoch 0 at a milestone."""
    self.epoch = self.epoch + 1 if epoch is None else epoch
    number = bisect.bisect_right(self.milestones, self.epoch)
    start, schedule = [0, *self.milestones][number], self.schedulers[number]
    if epoch is not None or (number and start == self.epoch):
        schedule.step(self.epoch - start)
    else:
        schedule.step()
    _rates.note(self)


def _begin_sequence(self: Any) -> None:
    """Takes back the steps of all schedules, and has the first one begin from the first rates of the groups."""
    self._take_groups()
    if self.__dict__.get("_goes_on"):
        return
    _rates.put(self, [group["initial_lr"] for group in self.optimizer.param_groups])
    self.recursive_undo()
    self.schedulers[bisect.bisect_right(self.milestones, 0)]._initial_step()
    _rates.note(self)


def _recursive_undo(self: Any, sched: Any = None) -> None:
    """Takes back the steps with which schedules that are made of no others began."""
    schedule = self if sched is None else sched
    for part in getattr(schedule, "schedulers", ()):
        self.recursive_undo(part)
    if not hasattr(schedule, "schedulers"):
        schedule.epoch -= 1


def _go_on_after(self: Any, last_epoch: int | None) -> None:
    """Counts from an epoch on; schedules count for themselves."""
    if last_epoch is not None:
        self.epoch = last_epoch + 1


def _with_parts(state_dict: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """Returns the method that gives a state, in which the states of parts go by PyTorch's name."""

    @functools.wraps(state_dict)
    def named(self: Any) -> dict[str, Any]:
        state = state_dict(self)
        state["_schedulers"] = state.pop("schedulers")
        return state

    return named


def _parts(name: str) -> property:
    return property(
        lambda self: getattr(self, name), lambda self, value: setattr(self, name, value), doc=f"See {name}."
    )


_composition: Any = compositions._Composition
_composition.state_dict = _with_parts(_composition.state_dict)
_chained: Any = optim.ChainedScheduler
_chained.step = _step_each
_chained.begin = optim.LRScheduler._take_groups  # the schedules have set the first rates
_chained._schedulers = _parts("schedulers")
_sequential: Any = optim.SequentialLR
_sequential.step = _step_in_turn
_sequential.begin = _begin_sequence
_sequential.recursive_undo = _recursive_undo
_sequential._begin_after = _go_on_after
_sequential._schedulers = _parts("schedulers")
_sequential._milestones = _parts("milestones")
