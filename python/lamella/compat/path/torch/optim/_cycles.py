"""Options that schedules write into an optimizer's groups beside the rate, and rates at the ends of schedules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lamella import optim
from lamella.optim.lr import cycles

from .._warnings import warn
from ._rates import _number, note, step

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
            if isinstance(self, optim.CyclicLR):
                self.__dict__.setdefault("_first", []).append(group["initial_lr"])
            if cycle:
                group.update(max_momentum=self.max_momenta[i], base_momentum=self.base_momenta[i])

    return _take_momenta


def _beginning_at_first_rates(rates: Callable[..., list[float]]) -> Callable[..., list[float]]:
    """Returns the rates of cycles, which rise from the first rates of the groups while a schedule is made."""

    @functools.wraps(rates)
    def risen(self: Any, epoch: int, bases: Any) -> list[float]:
        return rates(self, epoch, self.__dict__.pop("_first", bases))

    return risen


def _noting_rates(step: Callable[..., None]) -> Callable[..., None]:
    """Returns the step of a schedule by a metric, which notes the rates that it leaves, and may name its epoch."""

    @functools.wraps(step)
    def noted(self: Any, metrics: Any, epoch: int | None = None) -> None:
        step(self, metrics)
        if epoch is not None:
            warn("[step] a schedule counts its epochs by itself: leave epoch out")
            self.epoch = epoch
        note(self)

    return noted


def _checked(rates: Callable[..., list[float]]) -> Callable[..., list[float]]:
    """Returns the rates of a schedule between the numbers that the groups hold; epochs behind its end are refused."""

    @functools.wraps(rates)
    def in_time(self: Any, epoch: int, bases: Any) -> list[float]:
        if epoch > self.total_steps:
            raise ValueError(f"[OneCycleLR] tried step {epoch} of {self.total_steps} in all")
        groups = self.optimizer.param_groups
        if not all({"initial_lr", "max_lr", "min_lr"} <= set(group) for group in groups):
            return rates(self, epoch, bases)
        return [self._at(epoch, group["initial_lr"], group["max_lr"], group["min_lr"]) for group in groups]

    return in_time


def _momenta_of_groups(momenta: Callable[..., list[float]]) -> Callable[..., list[float]]:
    """Returns the momenta of an epoch between the numbers that the groups hold."""

    @functools.wraps(momenta)
    def between(self: Any, epoch: int) -> list[float]:
        groups = self.optimizer.param_groups
        if not all({"base_momentum", "max_momentum"} <= set(group) for group in groups):
            return momenta(self, epoch)
        pairs = [(group["base_momentum"], group["max_momentum"]) for group in groups]
        return [self._at(epoch, high, low, high) for low, high in pairs]

    return between


def _first_rates(self: Any) -> None:
    """Begins with the groups that are new, whose options a schedule that watches a metric leaves alone."""
    self.base_lrs += [_number(group["lr"]) for group in self.optimizer.param_groups[len(self.base_lrs) :]]
    note(self)


def _told_to_groups(self: Any, option: str, value: Any) -> list[Any]:
    """Returns one value for each group, each of which keeps its own as an option."""
    values: list[Any] = optim.LRScheduler._per_group(self, option, value)
    for group, each in zip(self.optimizer.param_groups, values, strict=True):
        group[option] = each
    return values


_cycle: Any = cycles._Cycle
_cycle._take_groups = _noting(_take_groups)
_cycle._take_momenta = _with_options(_cycle._take_momenta)
_cyclic: Any = optim.CyclicLR
_cyclic.rates = _beginning_at_first_rates(_cyclic.rates)
_one: Any = optim.OneCycleLR
_one.rates = _checked(_one.rates)
_one.momenta = _momenta_of_groups(_one.momenta)
_one._passed = lambda self, epoch, start, end: (epoch - start) / (end - start) if end > start else 1.0
_plateau: Any = optim.ReduceLROnPlateau
_plateau._take_groups = _first_rates
_plateau.step = _noting_rates(_plateau.step)
_averages: Any = optim.swa_utils.SWALR
_averages._per_group = _told_to_groups
_averages.step = step
