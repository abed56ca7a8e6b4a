"""Schedules that raise the rate and lower it again, with the momentum the other way round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..optimizer import Optimizer, check_number
from .cosine import annealed
from .scheduler import LRScheduler, check_count


class _Cycle(LRScheduler):
    """A schedule that may set the momentum, too: the option ``momentum``, or the first of ``betas``."""

    cycle_momentum = False

    def momenta(self, epoch: int) -> list[float]:
        """Returns the momentum of each group in an epoch."""
        raise NotImplementedError(f"[{type(self).__name__}] the schedule defines no momenta")

    def options(self, epoch: int, bases: Sequence[float] | None = None) -> list[dict[str, Any]]:
        """Returns the rate of each group, and its momentum."""
        found = super().options(epoch, bases)
        if self.cycle_momentum:
            groups = self.optimizer.param_groups
            for group, options, momentum in zip(groups, found, self.momenta(epoch), strict=True):
                if "betas" in group:
                    options["betas"] = (momentum, *group["betas"][1:])
                else:
                    options["momentum"] = momentum
        return found

    def _take_momenta(self, cycle: bool, base: Any, largest: Any) -> None:
        name = type(self).__name__
        self.base_momenta = self._per_group("base_momentum", base)
        self.max_momenta = self._per_group("max_momentum", largest)
        for option, values in (("base_momentum", self.base_momenta), ("max_momentum", self.max_momenta)):
            for value in values:
                check_number(name, option, value, below=1.0)
        if cycle and not all("betas" in g or "momentum" in g for g in self.optimizer.param_groups):
            kind = type(self.optimizer).__name__
            raise ValueError(f"[{name}] {kind} has neither momentum nor betas: pass cycle_momentum=False")
        self.cycle_momentum = cycle


class CyclicLR(_Cycle):
    """Lets the rate go from ``base_lr`` to ``max_lr`` and back, again and again.

    Source: Smith 2017, "Cyclical learning rates for training neural networks", sections 3 and 3.1.

    Args:
        optimizer: its groups get the rates.
        base_lr: the smallest rate, or one for each group.
        max_lr: the largest rate, or one for each group.
        step_size_up: how many epochs the rate grows.
        step_size_down: how many epochs it falls; as many by default.
        mode: ``"triangular"``; ``"triangular2"``, where each cycle is half as high as the one before; or
            ``"exp_range"``, where the height falls as ``gamma ** epoch``.
        gamma: the base of that power.
        scale_fn: the factor of the height, in place of a mode.
        scale_mode: ``"cycle"`` if ``scale_fn`` takes the number of the cycle, from 1; ``"iterations"`` for the epoch.
        cycle_momentum: lets the momentum fall from ``max_momentum`` to ``base_momentum`` while the rate grows.
        base_momentum: the smallest momentum, or one for each group.
        max_momentum: the largest momentum, or one for each group.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[int], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
    ) -> None:
        self.step_size_up = check_count("CyclicLR", "step_size_up", step_size_up)
        down = step_size_up if step_size_down is None else step_size_down
        self.step_size_down = check_count("CyclicLR", "step_size_down", down)
        if mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(f"[CyclicLR] mode is 'triangular', 'triangular2' or 'exp_range', not {mode!r}")
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(f"[CyclicLR] scale_mode is 'cycle' or 'iterations', not {scale_mode!r}")
        super().__init__(optimizer)
        self.mode = mode
        self.gamma = gamma
        self.scale_fn = scale_fn
        self.scale_mode = scale_mode
        self.base_lrs = self._per_group("base_lr", base_lr)
        self.max_lrs = self._per_group("max_lr", max_lr)
        for option, values in (("base_lr", self.base_lrs), ("max_lr", self.max_lrs)):
            for value in values:
                check_number("CyclicLR", option, value)
        self._take_momenta(cycle_momentum, base_momentum, max_momentum)
        self.begin()

    def height(self, epoch: int) -> float:
        """Returns where an epoch is between the smallest rate, 0, and the largest, 1."""
        cycle, within = divmod(epoch, self.step_size_up + self.step_size_down)
        if within <= self.step_size_up:
            part = within / self.step_size_up
        else:
            part = 1.0 - (within - self.step_size_up) / self.step_size_down
        if self.scale_fn is not None:
            return part * self.scale_fn(cycle + 1 if self.scale_mode == "cycle" else epoch)
        if self.mode == "exp_range":
            return float(part * self.gamma**epoch)
        return part * 0.5**cycle if self.mode == "triangular2" else part

    def rates(self, epoch: int, bases: Sequence[float]) -> list[float]:
        """Returns ``base_lr + (max_lr - base_lr) * height(epoch)`` for each group."""
        height = self.height(epoch)
        return [low + (high - low) * height for low, high in zip(bases, self.max_lrs, strict=True)]

    def momenta(self, epoch: int) -> list[float]:
        """Returns ``max_momentum - (max_momentum - base_momentum) * height(epoch)`` for each group."""
        height = self.height(epoch)
        return [high - (high - low) * height for low, high in zip(self.base_momenta, self.max_momenta, strict=True)]


class OneCycleLR(_Cycle):
    """Lets the rate grow from a small one to ``max_lr``, and fall to one that is much smaller.

    Source: Smith & Topin 2018, "Super-convergence: very fast training of neural networks using large learning rates".

    Args:
        optimizer: its groups get the rates.
        max_lr: the largest rate, or one for each group.
        total_steps: how many steps there are; call :meth:`step` after each of the optimizer's.
        epochs: with ``steps_per_epoch``, in place of ``total_steps``.
        steps_per_epoch: see ``epochs``.
        pct_start: the part of the steps in which the rate grows.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: lets the momentum fall from ``max_momentum`` to ``base_momentum`` while the rate grows.
        base_momentum: the smallest momentum, or one for each group.
        max_momentum: the largest momentum, or one for each group.
        div_factor: the first rate is ``max_lr / div_factor``.
        final_div_factor: the last rate is the first one divided by it.
        three_phase: falls to the first rate as fast as it grew, and to the last one after that.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("[OneCycleLR] needs total_steps, or epochs and steps_per_epoch")
            total_steps = check_count("OneCycleLR", "epochs", epochs)
            total_steps *= check_count("OneCycleLR", "steps_per_epoch", steps_per_epoch)
        self.total_steps = check_count("OneCycleLR", "total_steps", total_steps)
        check_number("OneCycleLR", "pct_start", pct_start, below=math.nextafter(1.0, 2.0))
        check_number("OneCycleLR", "div_factor", div_factor, open_low=True)
        check_number("OneCycleLR", "final_div_factor", final_div_factor, open_low=True)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"[OneCycleLR] anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}")
        super().__init__(optimizer)
        self.anneal_strategy = anneal_strategy
        self.max_lrs = self._per_group("max_lr", max_lr)
        for value in self.max_lrs:
            check_number("OneCycleLR", "max_lr", value)
        self.base_lrs = [rate / div_factor for rate in self.max_lrs]
        self.final_div_factor = final_div_factor
        self._take_momenta(cycle_momentum, base_momentum, max_momentum)
        #: The steps at which phases end.
        self.ends = [pct_start * total_steps - 1.0, total_steps - 1.0]
        if three_phase:
            self.ends.insert(1, 2.0 * self.ends[0])
        self.begin()

    def _at(self, epoch: int, low: float, high: float, last: float) -> float:
        """Returns the number in ``epoch`` of one that goes from ``low`` to ``high`` and to ``last``."""
        numbers = [low, high, last] if len(self.ends) == 2 else [low, high, low, last]
        start = 0.0
        for k, end in enumerate(self.ends):
            if epoch <= end or k == len(self.ends) - 1:
                part = self._passed(epoch, start, end)
                if self.anneal_strategy == "cos":
                    return annealed(numbers[k], numbers[k + 1], part)
                return numbers[k] + (numbers[k + 1] - numbers[k]) * part
            start = end
        raise AssertionError("there is a last phase")

    def _passed(self, epoch: int, start: float, end: float) -> float:
        """Returns the part of a phase that has passed, all of it after the end."""
        return min((epoch - start) / (end - start), 1.0) if end > start else 1.0

    def rates(self, epoch: int, bases: Sequence[float]) -> list[float]:
        """Returns the rate of each group; after the last step, the last one."""
        pairs = zip(bases, self.max_lrs, strict=True)
        return [self._at(epoch, low, high, low / self.final_div_factor) for low, high in pairs]

    def momenta(self, epoch: int) -> list[float]:
        """Returns the momentum of each group."""
        pairs = zip(self.base_momenta, self.max_momenta, strict=True)
        return [self._at(epoch, high, low, high) for low, high in pairs]
