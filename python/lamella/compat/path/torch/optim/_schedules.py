"""Adds to schedules as PyTorch's have it: states with all settings, a last epoch, and rates of a program's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from lamella import optim
from lamella.optim import LRScheduler as Native
from lamella.optim import ReduceLROnPlateau

from ..nn._module import TensorType
from . import _rates

#: PyTorch's names of attributes, by the native ones.
_NAMES = {
    "t_max": "T_max",
    "t_0": "T_0",
    "t_mult": "T_mult",
    "base_momenta": "base_momentums",
    "max_momenta": "max_momentums",
}
#: Attributes that hold schedules, or that a state has under names of its own.
_APART = frozenset({"optimizer", "epoch", "base_lrs", "schedulers", "lr_lambdas", "milestones", "scale_fn"})


def _is_plain(value: Any) -> bool:
    """True for what a state may hold: numbers, texts, None, and lists and dicts of these."""
    if isinstance(value, Mapping):
        return all(_is_plain(each) for pair in value.items() for each in pair)
    if isinstance(value, (list, tuple)):
        return all(_is_plain(each) for each in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _settings(self: Native) -> dict[str, Any]:
    """Returns what a schedule was told and what it counted, under PyTorch's names."""
    found = {
        _NAMES.get(name, name): value
        for name, value in vars(self).items()
        if name not in _APART and not name.startswith("_") and _is_plain(value)
    }
    if isinstance(self, optim.CosineAnnealingWarmRestarts):
        found["T_cur"], found["T_i"] = self._place(max(self.epoch, 0))
    if isinstance(self, optim.CyclicLR):
        length = float(self.step_size_up + self.step_size_down)
        found.update(total_size=length, step_ratio=self.step_size_up / length)
        found["_scale_fn_custom"] = None if self.scale_fn is None else _remembered(self.scale_fn)
    if isinstance(self, optim.SequentialLR):
        found["_milestones"] = list(self.milestones)
    if isinstance(self, optim.MultiStepLR):
        found["milestones"] = Counter(self.milestones)
    if isinstance(self, optim.LambdaLR):
        found["lr_lambdas"] = [_remembered(function) for function in self.lr_lambdas]
    return found


def _remembered(function: Callable[..., Any]) -> dict[str, Any] | None:
    """Returns the attributes of a callable object, None for a function."""
    own = getattr(function, "__dict__", None)
    return dict(own) if own is not None and not isinstance(function, type(_remembered)) else None


def _restore(self: Native, state: Mapping[str, Any]) -> None:
    """Takes over the settings of a state, as far as the schedule has them."""
    own = vars(self)
    for name, theirs in _NAMES.items():
        if name in own and theirs in state:
            own[name] = state[theirs]
    own.update((name, state[name]) for name in _settings(self) if name in own and name in state and name not in _APART)
    if isinstance(self, optim.CyclicLR) and {"total_size", "step_ratio"} <= set(state):
        self.step_size_up = round(state["total_size"] * state["step_ratio"])
        self.step_size_down = round(state["total_size"]) - self.step_size_up
        if self.scale_fn is not None and state.get("_scale_fn_custom") is not None:
            self.scale_fn.__dict__.update(state["_scale_fn_custom"])
    if isinstance(self, optim.SequentialLR) and "_milestones" in state:
        self.milestones = list(state["_milestones"])
    if isinstance(self, optim.MultiStepLR) and "milestones" in state:
        self.milestones = sorted(Counter(state["milestones"]).elements())
    if isinstance(self, optim.LambdaLR):
        for function, remembered in zip(self.lr_lambdas, state.get("lr_lambdas", ()), strict=False):
            if remembered is not None:
                function.__dict__.update(remembered)


def _named(state: Mapping[str, Any], schedule: Native) -> dict[str, Any]:
    """Returns a state that was saved here or by PyTorch under the names of both."""
    made = {"base_lrs": list(schedule.base_lrs), **_settings(schedule), **state}
    for one, other in (("last_epoch", "epoch"), ("_last_lr", "lrs"), ("_schedulers", "schedulers")):
        if one in made or other in made:
            made[one] = made[other] = made[other] if other in made else made[one]
    if "epoch" not in made and made.get("schedulers"):  # of those that step together
        first = made["schedulers"][0]
        made["epoch"] = made["last_epoch"] = first.get("last_epoch", first.get("epoch"))
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
        """Goes on where a schedule was that was saved here or by PyTorch; the rates are those of the optimizer."""
        state = _named(state_dict, self)
        self.__dict__["_goes_on"] = True
        try:
            native(self, state)
        finally:
            del self.__dict__["_goes_on"]
        _restore(self, state)
        if state.get("_last_lr"):
            self.__dict__["_last_rates"] = list(state["_last_lr"])
        for part, each in zip(getattr(self, "schedulers", ()), state.get("schedulers", ()), strict=False):
            _restore(part, each)

    return load_state_dict


def _state_dict(native: Any) -> Any:
    """Returns state_dict() with all settings, and the epoch under PyTorch's names, so that it goes on there, too."""

    def state_dict(self: Native) -> dict[str, Any]:
        """Returns all that a schedule needs to go on, with what it was told."""
        state: dict[str, Any] = native(self)
        return {
            **_settings(self),
            **state,
            "last_epoch": self.epoch,
            "_step_count": int(self.epoch) + 1,
            "_last_lr": self.get_last_lr(),
        }

    return state_dict


#: What a schedule of a program counts, by the names of its attributes: PyTorch's names in a state.
_COUNTED = {"epoch": "last_epoch", "_last_rates": "_last_lr"}
#: Names in states of PyTorch that follow from others, or that only its own schedules use.
_DERIVED = frozenset({"_step_count", "_get_lr_called_within_step", "_is_initial"})
#: Attributes of a schedule of a program that its state leaves out, or has under other names.
_OWN = frozenset({"optimizer", "_is_initial", "_goes_on", *_COUNTED})


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
        _rates.check_behind(self, last_epoch)
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
        """Returns all attributes but the optimizer, with what all schedules count under PyTorch's names."""
        own = {name: value for name, value in self.__dict__.items() if name not in _OWN}
        return {**own, "last_epoch": self.epoch, "_step_count": int(self.epoch) + 1, "_last_lr": self.get_last_lr()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where a schedule was; the rates are those of the optimizer."""
        state = dict(state_dict)
        for name, theirs in _COUNTED.items():
            if theirs in state:
                self.__dict__[name] = state.pop(theirs)
        self.__dict__.update({name: value for name, value in state.items() if name not in _DERIVED})


def _set_epoch(self: Native, value: int) -> None:
    self.epoch = value


native: Any = Native
native._begin_after = _rates.go_on_after
native.step = _rates.step
native._initial_step = _rates.begin_by_step
native.begin = _rates.begin
native._take_groups = _rates.take_groups
native.get_lr = _rates.get_lr
native.load_state_dict = _load_state_dict(Native.load_state_dict)
plateau: Any = ReduceLROnPlateau
plateau.load_state_dict = _load_state_dict(ReduceLROnPlateau.load_state_dict)
native.state_dict = _state_dict(Native.state_dict)
native.last_epoch = property(lambda self: self.epoch, _set_epoch, doc="The epoch, from 0.")
native.get_last_lr = _rates.get_last_lr
native._last_lr = property(_rates.get_last_lr, doc="The rates that were set last, one per group.")
native._step_count = property(lambda self: int(self.epoch) + 1, doc="Number of steps, with that of the constructor.")


def _named_attribute(name: str) -> property:
    return property(
        lambda self: getattr(self, name), lambda self, value: setattr(self, name, value), doc=f"See ``{name}``."
    )


restarting: Any = optim.CosineAnnealingWarmRestarts
restarting.T_cur = property(lambda self: self._place(max(self.epoch, 0))[0], doc="Epochs since the last restart.")
restarting.T_i = property(lambda self: self._place(max(self.epoch, 0))[1], doc="Epochs between two restarts.")
for _kind in (optim.CosineAnnealingLR, optim.CosineAnnealingWarmRestarts):
    for _name in ("t_max",) if _kind is optim.CosineAnnealingLR else ("t_0", "t_mult"):
        setattr(_kind, _NAMES[_name], _named_attribute(_name))
