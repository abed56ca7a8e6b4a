"""Options that schedules write into an optimizer's groups beside the rate, and rates at the ends of schedules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lamella import optim
from lamella.optim.lr import cycles

from ._rates import _number

_take_groups: Any = optim.LRScheduler._take_groups


def _noting(take: Callable[[Any], None]) -> Callable[[Any], None]:
    """Returns the method that begins with groups, and notes first which of them have been begun with before."""

    def _take_groups(self: Any) -> None:
        self.__dict__.setdefault("_begun", ["initial_lr" in group for group in self.optimizer.param_groups])
        take(self)

    return _take_groups


def _with_options(take: Callable[..., None]) -> Callable[..., None]:
    """Returns the method that reads momenta, and tells the groups between which numbers the schedule goes."""

    @functools.wraps(take)
    def _take_momenta(self: Any, cycle: bool, base: Any, largest: Any) -> None:
        take(self, cycle, base, largest)
        begun = self.__dict__.pop("_begun")
        if self.__dict__.get("_goes_on"):
            return
        for i, group in enumerate(self.optimizer.param_groups):
            first = self.base_lrs[i]
            if isinstance(self, optim.OneCycleLR):
                group.update(initial_lr=first, max_lr=self.max_lrs[i], min_lr=first / self.final_div_factor)
            elif not begun[i]:
                group["initial_lr"] = first
            if cycle:
                group.update(max_momentum=self.max_momenta[i], base_momentum=self.base_momenta[i])

    return _take_momenta


def _checked(rates: Callable[..., list[float]]) -> Callable[..., list[float]]:
    """Returns the rates of a schedule that ends, which refuses epochs behind its end."""

    @functools.wraps(rates)
    def in_time(self: Any, epoch: int, bases: Any) -> list[float]:
        if epoch > self.total_steps:
            raise ValueError(f"[OneCycleLR] tried step {epoch} of {self.total_steps} in all")
        return rates(self, epoch, bases)

    return in_time


def _first_rates(self: Any) -> None:
    """Begins with the groups that are new, whose options a schedule that watches a metric leaves alone."""
    self.base_lrs += [_number(group["lr"]) for group in self.optimizer.param_groups[len(self.base_lrs) :]]


def _constant(self: Any, base: float, epoch: int) -> float:
    """Returns the rate of an epoch: after no epochs at all, the factor is never taken back."""
    return base * self.factor if epoch < self.total_iters or self.total_iters == 0 else base


def _told_to_groups(self: Any, option: str, value: Any) -> list[Any]:
    """Returns one value for each group, each of which keeps its own as an option."""
    values: list[Any] = optim.LRScheduler._per_group(self, option, value)
    for group, each in zip(self.optimizer.param_groups, values, strict=True):
        group[option] = each
    return values


_cycle: Any = cycles._Cycle
_cycle._take_groups = _noting(_take_groups)
_cycle._take_momenta = _with_options(_cycle._take_momenta)
_one: Any = optim.OneCycleLR
_one.rates = _checked(_one.rates)
_one._passed = lambda self, epoch, start, end: (epoch - start) / (end - start) if end > start else 1.0
_plateau: Any = optim.ReduceLROnPlateau
_plateau._take_groups = _first_rates
_averages: Any = optim.swa_utils.SWALR
_averages._per_group = _told_to_groups
_constants: Any = optim.ConstantLR
_constants.rate = _constant
