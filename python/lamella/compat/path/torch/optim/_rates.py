"""Rates of schedules that follow what an optimizer's groups have now, as PyTorch's do.

Natively, a rate is a function of the epoch and of the first rate. PyTorch's schedules multiply the present rate by the
ratio of two epochs, so that several of one optimizer act together and a rate that a program sets is gone on from.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from lamella import Tensor, optim
from lamella.optim import LRScheduler as Native
from lamella.optim.lr.cosine import annealed
from lamella.optim.swa_utils import SWALR

from .._warnings import is_called_by_program, warn

#: Schedules whose rate is a floor plus a function of the epoch times what the first rate has above it: the floors.
_FLOORS: dict[type, str | None] = {
    optim.StepLR: None,
    optim.MultiStepLR: None,
    optim.ExponentialLR: None,
    optim.ConstantLR: None,
    optim.LinearLR: None,
    optim.PolynomialLR: "end_lr",
    optim.CosineAnnealingLR: "eta_min",
}

#: Schedules that, where they go on behind an epoch, take the present rates for those of the next one.
_BEGINS_WITH_THE_PRESENT = (
    optim.ExponentialLR,
    optim.LinearLR,
    optim.PolynomialLR,
    optim.CosineAnnealingLR,
    optim.MultiplicativeLR,
)

#: Schedules whose first rates are those of epoch 0, also where a part of a sequence comes to it by a step.
_BEGINS_AT_EPOCH_0 = (optim.StepLR, optim.MultiStepLR, optim.ConstantLR, optim.LinearLR)

_take_groups: Any = Native._take_groups


def _number(value: Any) -> float:
    return float(value.item()) if isinstance(value, Tensor) else float(value)


def _annealed(self: SWALR, epoch: int, now: list[float]) -> list[float]:
    """Returns the rates on the way to those of averages, from those that lead to the present ones."""
    if epoch == 0:
        return now
    before, after = (min((epoch + k) / self.anneal_epochs, 1.0) if self.anneal_epochs else 1.0 + k for k in (-1, 0))
    if self.anneal_strategy == "cos":
        before, after = (1.0 - annealed(1.0, 0.0, part) for part in (before, after))
    found = []
    for rate, end in zip(now, self.swa_lrs, strict=True):
        start = end if before >= 1.0 else (rate - before * end) / (1.0 - before)
        found.append(end * after + start * (1.0 - after))
    return found


def _followed(self: Native) -> list[float] | None:
    """Returns the rates of this epoch that follow the present ones; None for a schedule that has its own rates."""
    epoch, now = self.epoch, [_number(rate) for rate in present(self)]
    first = "_is_initial" in self.__dict__
    if isinstance(self, optim.MultiplicativeLR):
        if first:
            return now
        return [rate * function(epoch) for rate, function in zip(now, self.lr_lambdas, strict=True)]
    if isinstance(self, SWALR):
        return _annealed(self, epoch, now)
    names = [name for kind, name in _FLOORS.items() if isinstance(self, kind)]
    if not names:
        return None
    floor = 0.0 if names[0] is None else float(getattr(self, names[0]))
    factor = self.rate(floor + 1.0, epoch) - floor
    if epoch == 0 and isinstance(self, optim.ConstantLR):
        factor = self.factor  # also where it lasts for no epoch: then nothing takes it back
    if epoch == 0 and (first or isinstance(self, _BEGINS_AT_EPOCH_0)):
        return [rate if factor == 1.0 else floor + (rate - floor) * factor for rate in now]
    before = self.rate(floor + 1.0, epoch - 1) - floor
    found = []
    for rate, base in zip(now, self.base_lrs, strict=True):
        if rate == self.rate(base, epoch - 1):  # nobody else has set it
            found.append(self.rate(base, epoch))
        elif abs(before) < 1e-12:  # at the floor, from which no ratio leads away
            found.append(rate + (base - floor) * factor)
        else:
            found.append(floor + (rate - floor) * (factor / before))
    return found


def present(self: Native) -> list[Any]:
    """Returns the rates that the groups have now."""
    return [group["lr"] for group in self.optimizer.param_groups]


def note(self: Native) -> None:
    """Notes the present rates as those that the schedule has set last."""
    self.__dict__["_last_rates"] = [
        rate.detach().clone() if isinstance(rate, Tensor) else rate for rate in present(self)
    ]


def take_groups(self: Native) -> None:
    """Begins with the groups that are new, and notes the rates of a schedule that is made."""
    made = "_last_rates" not in self.__dict__
    if made and any("initial_lr" not in group for group in self.optimizer.param_groups):
        _first.add(self)
    _take_groups(self)
    if made:
        note(self)
        if type(self.optimizer).step is optim.Optimizer.step:
            awaited.add(self.optimizer)


#: Schedules being made of which an optimizer's group had none before.
_first: weakref.WeakSet[Native] = weakref.WeakSet()


def check_behind(self: Native, last_epoch: int | None) -> None:
    """Refuses to go on behind an epoch of which the groups do not tell the rates that they began with.

    Raises:
        KeyError: a group has no ``initial_lr``.
    """
    if self in _first and last_epoch not in (-1, None):
        for group in self.optimizer.param_groups:
            del group["initial_lr"]
        raise KeyError(
            f"[{type(self).__name__}] last_epoch={last_epoch} goes on behind an epoch, and a group of the optimizer "
            "has no 'initial_lr', the rate that it began with: set it, or load the optimizer's state"
        )
    _first.discard(self)


def get_last_lr(self: Native) -> list[Any]:
    """Returns the rates that the schedule has set last, one per group."""
    return list(self.__dict__["_last_rates"])


def put(self: Native, rates: list[Any]) -> None:
    """Gives each group its rate, in the memory of the present one if that is a tensor."""
    for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(_number(rate))
        else:
            group["lr"] = rate
    note(self)


def get_lr(self: Native) -> list[float]:
    """Returns the rates of this epoch; within a step of a schedule, those that follow the present ones."""
    found = _followed(self) if self.__dict__.get("_within_step") else None
    return [options["lr"] for options in self.options(self.epoch)] if found is None else found


def begin(self: Native) -> None:
    """Sets the options of this epoch, unless a schedule is made that goes on behind an epoch."""
    if self.__dict__.get("_goes_on"):
        self._take_groups()
    elif self.epoch == 0 and _is_made_by_ratios(self):
        with initial(self):
            follow(self)
    else:
        _set_options(self)


@contextlib.contextmanager
def initial(self: Native) -> Iterator[None]:
    """Marks a step as the one with which a schedule begins, for a block."""
    self.__dict__["_is_initial"] = True
    try:
        yield
    finally:
        del self.__dict__["_is_initial"]


def begin_by_step(self: Native) -> None:
    """Begins with a step, as the first schedule of a sequence does."""
    with initial(self):
        self.step()


def _is_made_by_ratios(self: Native) -> bool:
    return any(isinstance(self, kind) for kind in (*_FLOORS, optim.MultiplicativeLR, SWALR))


def _set_options(self: Native) -> None:
    """Sets the options of this epoch, without regard to the present rates."""
    self._take_groups()
    options = self.options(self.epoch)
    for group, each in zip(self.optimizer.param_groups, options, strict=True):
        group.update((name, value) for name, value in each.items() if name != "lr")
    put(self, [each["lr"] for each in options])


def follow(self: Native) -> None:
    """Sets the rates of this epoch as get_lr() has them, which programs may define."""
    asks: Callable[..., Any] = type(self).get_lr  # type: ignore[attr-defined]
    if asks is get_lr and not _is_made_by_ratios(self):
        _set_options(self)
        return
    self._take_groups()
    self.__dict__["_within_step"] = True
    try:
        rates = asks(self)
    finally:
        del self.__dict__["_within_step"]
    put(self, rates)


#: Optimizers with a schedule that have not stepped since the first one was made.
awaited: weakref.WeakSet[optim.Optimizer] = weakref.WeakSet()


def step(self: Native, epoch: float | None = None) -> None:
    """Begins the next epoch, or the one that is named, whose rates do not depend on the present ones."""
    if is_called_by_program() and not isinstance(self, optim.CosineAnnealingWarmRestarts):  # it is told parts of epochs
        if epoch is not None:
            warn("[step] epoch is an older argument: call step() once an epoch")
        if self.epoch == 0 and self.optimizer in awaited:
            awaited.discard(self.optimizer)
            warn("[step] a schedule steps before its optimizer, and skips the first rate: call optimizer.step() first")
    self.epoch = self.epoch + 1 if epoch is None else epoch  # type: ignore[assignment]  # a part, in warm restarts
    asks: Callable[..., Any] = type(self).get_lr  # type: ignore[attr-defined]
    if epoch is None or asks is not get_lr or isinstance(self, optim.MultiplicativeLR):
        follow(self)
    else:
        _set_options(self)


def go_on_after(self: Native, last_epoch: int | None) -> None:
    """Goes on behind an epoch; -1 or None begins anew."""
    self.__dict__.pop("_goes_on", None)
    check_behind(self, last_epoch)
    if last_epoch in (-1, None):
        return
    self.epoch = int(last_epoch)  # type: ignore[arg-type]
    asks: Callable[..., Any] = type(self).get_lr  # type: ignore[attr-defined]
    if isinstance(self, _BEGINS_WITH_THE_PRESENT) and asks is get_lr:
        self.epoch += 1
        self._take_groups()
        put(self, [group["lr"] for group in self.optimizer.param_groups])
    else:
        self.step()
