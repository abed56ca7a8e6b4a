"""Adds to schedules as PyTorch's have it: a last epoch, steps to an epoch, and rates of a program's own."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from lamella.optim import LRScheduler as Native
from lamella.optim import ReduceLROnPlateau

from ..nn._module import TensorType

_native_step: Any = Native.step


def _begin_after(self: Native, last_epoch: int | None) -> None:
    """Goes on behind an epoch; -1 or None begins anew."""
    if last_epoch not in (-1, None):
        self.epoch = int(last_epoch) + 1  # type: ignore[arg-type]
        self.begin()


def _step(self: Native, epoch: float | None = None) -> None:
    """Begins the next epoch, or the one that is named."""
    if epoch is None:
        _native_step(self)
        return
    self.epoch = epoch  # type: ignore[assignment]  # a part of an epoch, in warm restarts
    self.begin()


def _get_lr(self: Native) -> list[float]:
    """Returns the rates of this epoch."""
    return [options["lr"] for options in self.options(self.epoch)]


def _named(state: Mapping[str, Any], schedule: Native) -> dict[str, Any]:
    """Returns a state that was saved here or by PyTorch under the names of both."""
    made = {"base_lrs": list(schedule.base_lrs), **state}
    for one, other in (("last_epoch", "epoch"), ("_last_lr", "lrs"), ("_schedulers", "schedulers")):
        if one in made or other in made:
            made[one] = made[other] = made[other] if other in made else made[one]
    made.setdefault("_last_lr", [])
    made.setdefault("_step_count", int(made.get("epoch", 0)) + 1)
    if "schedulers" in made:
        parts: Any = schedule
        made["schedulers"] = [
            _named(each, part) for each, part in zip(made["schedulers"], parts.schedulers, strict=True)
        ]
    return made


def _load_state_dict(native: Any) -> Any:
    def load_state_dict(self: Native, state_dict: Mapping[str, Any]) -> None:
        """Goes on where a schedule was that was saved here or by PyTorch."""
        native(self, _named(state_dict, self))
        self.__dict__.update({name: state_dict[name] for name in _own_attributes(self) if name in state_dict})

    return load_state_dict


def _own_attributes(self: Native) -> dict[str, Any]:
    """Returns numbers and texts that the class of a program keeps beside what a schedule of Lamella's knows of."""
    if type(self).__module__.startswith(("lamella.", "torch.")):
        return {}
    bases = [each for each in type(self).__mro__ if each.__module__.startswith(("lamella.", "torch."))]
    known = {name for each in bases for name in inspect.signature(each).parameters}
    own = {name: value for name, value in vars(self).items() if name not in {"optimizer", "epoch", *known}}
    return {name: value for name, value in own.items() if isinstance(value, (bool, int, float, str))}


def _state_dict(native: Any) -> Any:
    """Returns state_dict() that also has the epoch under PyTorch's names, so that a schedule goes on there, too."""

    def state_dict(self: Native) -> dict[str, Any]:
        """Returns all that a schedule made with the same arguments needs to go on."""
        state: dict[str, Any] = native(self)
        return {
            **_own_attributes(self),
            **state,
            "last_epoch": self.epoch,
            "_step_count": int(self.epoch) + 1,
            "_last_lr": self.get_last_lr(),
        }

    return state_dict


class LRScheduler(Native, metaclass=TensorType):
    """Base of schedules of programs, which define ``get_lr()``; all schedules are instances.

    Args:
        optimizer: its groups get the rates.
        last_epoch: the epoch behind which the schedule begins, -1 for a new one.
        verbose: not used.

    Attributes:
        last_epoch: the epoch, from 0.
        base_lrs: the rates that the groups began with.
    """

    native = Native

    def __init__(self, optimizer: Any, last_epoch: int = -1, verbose: Any = None) -> None:
        super().__init__(optimizer)
        self.epoch = last_epoch
        self.step()  # as subclasses define it, which count with this call

    def get_lr(self) -> list[float]:
        """Returns the rates of the epoch ``last_epoch``, one per group."""
        raise NotImplementedError(f"[{type(self).__name__}] the schedule defines no get_lr()")

    def rates(self, epoch: int, bases: Any) -> list[float]:
        """Returns the rates of an epoch."""
        before, self.epoch = self.epoch, epoch
        try:
            return list(self.get_lr())
        finally:
            self.epoch = before

    def state_dict(self) -> dict[str, Any]:
        """Returns all attributes but the optimizer and functions."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer" and not callable(v)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where a schedule was; the rates are those of the optimizer."""
        state = dict(state_dict)
        if "last_epoch" in state:
            state["epoch"] = state.pop("last_epoch")
        self.__dict__.update({k: v for k, v in state.items() if not k.startswith("_")})


def _set_epoch(self: Native, value: int) -> None:
    self.epoch = value


native: Any = Native
native._begin_after = _begin_after
native.step = _step
native.get_lr = _get_lr
native.load_state_dict = _load_state_dict(Native.load_state_dict)
plateau: Any = ReduceLROnPlateau
plateau.load_state_dict = _load_state_dict(ReduceLROnPlateau.load_state_dict)
native.state_dict = _state_dict(Native.state_dict)
native.last_epoch = property(lambda self: self.epoch, _set_epoch, doc="The epoch, from 0.")
native._last_lr = property(Native.get_last_lr, doc="The rates now, one per group.")
native._step_count = property(lambda self: int(self.epoch) + 1, doc="Number of steps, with that of the constructor.")
