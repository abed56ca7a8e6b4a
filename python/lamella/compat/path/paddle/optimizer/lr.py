"""Paddle's schedules of the learning rate: an optimizer that is given one reads its rate at every step."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.optim import lr as native


class LRScheduler:
    """Base of schedules: a subclass defines :meth:`get_lr`, the rate of the epoch ``last_epoch``.

    Args:
        learning_rate: the rate that the schedule begins with.
        last_epoch: the epoch before the first one.
        verbose: True prints every rate.

    Attributes:
        base_lr: the rate that the schedule began with.
        last_epoch: the number of the epoch, from 0.
        last_lr: the rate now.
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        if not isinstance(learning_rate, (int, float)):
            raise TypeError(f"[{type(self).__name__}] learning_rate is a number, not {type(learning_rate).__name__}")
        if learning_rate < 0:
            raise ValueError(f"[{type(self).__name__}] learning_rate is at least 0, not {learning_rate}")
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self.step()

    def __call__(self) -> float:
        """Returns the rate now."""
        return self.last_lr

    def step(self, epoch: int | None = None) -> None:
        """Begins the next epoch, or that of a number."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        jump = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self.last_lr = float(self.get_lr() if jump is None else jump())
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def get_lr(self) -> float:
        """Returns the rate of the epoch ``last_epoch``."""
        raise NotImplementedError(f"[{type(self).__name__}] the schedule defines no get_lr")

    def state_keys(self) -> None:
        """Sets ``keys``, the names of the attributes that are the state; subclasses may name others."""
        self.keys = ["last_epoch", "last_lr"]

    def state_dict(self) -> dict[str, Any]:
        """Returns the attributes that :meth:`state_keys` names, with tensors as numbers."""
        self.state_keys()
        values = {key: self.__dict__[key] for key in self.keys if key in self.__dict__}
        return {key: float(value) if isinstance(value, lm.Tensor) else value for key, value in values.items()}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where a saved schedule was.

        Raises:
            RuntimeError: the state lacks one of the attributes that :meth:`state_keys` names.
        """
        self.state_keys()
        if missing := [key for key in self.keys if key not in state_dict]:
            raise RuntimeError(
                f"[{type(self).__name__}] the state has no {', '.join(missing)}: it is of another schedule"
            )
        self.__dict__.update({key: state_dict[key] for key in self.keys})

    set_dict = set_state_dict


class _Native(LRScheduler):
    """A schedule whose rates are those of one of Lamella's.

    Args:
        make: makes that one, of an optimizer without tensors.
    """

    def __init__(
        self, make: Callable[[Any], native.LRScheduler], learning_rate: float, last_epoch: int, verbose: bool
    ) -> None:
        self._native = make(lm.optim.Optimizer([{"params": []}], {"lr": learning_rate}))
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        return self._native.rates(self.last_epoch, [self.base_lr])[0]


class StepDecay(_Native):
    """``base_lr * gamma ** (epoch // step_size)``."""

    def __init__(
        self,
        learning_rate: float,
        step_size: int,
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _check("StepDecay", gamma < 1, f"gamma is below 1, not {gamma}")
        super().__init__(
            lambda optimizer: native.StepLR(optimizer, step_size, gamma), learning_rate, last_epoch, verbose
        )


def _check(schedule: str, good: bool, words: str) -> None:
    """Raises ``ValueError`` where an argument of a schedule makes no sense."""
    if not good:
        raise ValueError(f"[{schedule}] {words}")


class MultiStepDecay(_Native):
    """``base_lr * gamma ** n`` after ``n`` of the milestones."""

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(milestones, (list, tuple)):
            raise TypeError(f"[MultiStepDecay] milestones are a list or tuple, not {type(milestones).__name__}")
        rising = all(first < second for first, second in itertools.pairwise(milestones))
        _check("MultiStepDecay", rising, f"each of the milestones is above the one before, not {milestones}")
        _check("MultiStepDecay", gamma < 1, f"gamma is below 1, not {gamma}")
        super().__init__(
            lambda optimizer: native.MultiStepLR(optimizer, milestones, gamma), learning_rate, last_epoch, verbose
        )


class ExponentialDecay(_Native):
    """``base_lr * gamma ** epoch``."""

    def __init__(
        self,
        learning_rate: float,
        gamma: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _check("ExponentialDecay", 0 < gamma < 1, f"gamma is between 0 and 1, not {gamma}")
        super().__init__(lambda optimizer: native.ExponentialLR(optimizer, gamma), learning_rate, last_epoch, verbose)


class NaturalExpDecay(_Native):
    """``base_lr * exp(-gamma * epoch)``."""

    def __init__(
        self,
        learning_rate: float,
        gamma: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _check("NaturalExpDecay", gamma > 0, f"gamma is above 0, not {gamma}")
        super().__init__(lambda optimizer: native.NaturalExpLR(optimizer, gamma), learning_rate, last_epoch, verbose)


class InverseTimeDecay(_Native):
    """``base_lr / (1 + gamma * epoch)``."""

    def __init__(
        self,
        learning_rate: float,
        gamma: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        super().__init__(lambda optimizer: native.InverseTimeLR(optimizer, gamma), learning_rate, last_epoch, verbose)


class LinearLR(LRScheduler):
    """``base_lr`` times a factor that goes from ``start_factor`` to ``end_factor`` in ``total_steps`` epochs.

    A rate follows from the one before, so that a schedule begun at another epoch starts from ``base_lr``.
    """

    def __init__(
        self,
        learning_rate: float,
        total_steps: int,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"[LinearLR] start_factor is above 0 and at most 1, not {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"[LinearLR] end_factor is from 0 to 1, not {end_factor}")
        if total_steps <= 0:
            raise ValueError(f"[LinearLR] total_steps is above 0, not {total_steps}")
        self.total_steps, self.start_factor, self.end_factor = total_steps, start_factor, end_factor
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        if self.last_epoch == 0:
            return self.base_lr * self.start_factor
        if self.last_epoch > self.total_steps:
            return self.last_lr
        rise = self.end_factor - self.start_factor
        return self.last_lr * (1 + rise / (self.total_steps * self.start_factor + (self.last_epoch - 1) * rise))


class PiecewiseDecay(_Native):
    """``values[n]`` after ``n`` of the boundaries."""

    def __init__(
        self,
        boundaries: Sequence[int],
        values: Sequence[float],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _check("PiecewiseDecay", len(boundaries) > 0, "there is at least one boundary")
        self.boundaries, self.values = boundaries, values
        super().__init__(lambda optimizer: native.PiecewiseLR(optimizer, boundaries, values), 0.1, last_epoch, verbose)


class CosineAnnealingDecay(LRScheduler):
    """``eta_min + (base_lr - eta_min) * (1 + cos(pi * epoch / T_max)) / 2`` (Loshchilov and Hutter, 2017).

    A rate follows from the one before, so that a schedule begun at another epoch starts from ``base_lr``; an epoch that
    is given has the rate of the formula.
    """

    def __init__(
        self,
        learning_rate: float,
        T_max: int,  # noqa: N803 (Paddle's name)
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(T_max, int):
            raise TypeError(f"[CosineAnnealingDecay] T_max is an integer, not {type(T_max).__name__}")
        _check("CosineAnnealingDecay", T_max > 0, f"T_max is above 0, not {T_max}")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(learning_rate, last_epoch, verbose)

    def _cosine(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> float:
        """Returns the rate that follows ``last_lr``."""
        if self.last_epoch == 0:
            return self.base_lr
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return self.last_lr + (self.base_lr - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
        ratio = self._cosine(self.last_epoch) / self._cosine(self.last_epoch - 1)
        return ratio * (self.last_lr - self.eta_min) + self.eta_min

    def _get_closed_form_lr(self) -> float:
        """Returns the rate of an epoch that was given."""
        return self.eta_min + (self.base_lr - self.eta_min) * self._cosine(self.last_epoch) / 2


class CosineAnnealingWarmRestarts(_Native):
    """Half a cosine from ``base_lr`` to ``eta_min``, again and again, in spans of ``T_0 * T_mult ** n`` epochs."""

    def __init__(
        self,
        learning_rate: float,
        T_0: int,  # noqa: N803 (Paddle's name)
        T_mult: int = 1,  # noqa: N803 (Paddle's name)
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            lambda optimizer: native.CosineAnnealingWarmRestarts(optimizer, T_0, T_mult, eta_min),
            learning_rate,
            last_epoch,
            verbose,
        )


class PolynomialDecay(_Native):
    """Falls from ``base_lr`` to ``end_lr`` in ``decay_steps`` epochs, as ``(1 - epoch / decay_steps) ** power``."""

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _check("PolynomialDecay", decay_steps > 0, f"decay_steps is above 0, not {decay_steps}")
        _check("PolynomialDecay", power > 0, f"power is above 0, not {power}")
        super().__init__(
            lambda optimizer: native.PolynomialLR(optimizer, decay_steps, power, end_lr, cycle),
            learning_rate,
            last_epoch,
            verbose,
        )


class NoamDecay(LRScheduler):
    """``base_lr * d_model ** -0.5 * min(epoch ** -0.5, epoch * warmup_steps ** -1.5)`` (Vaswani et al., 2017)."""

    def __init__(
        self,
        d_model: int,
        warmup_steps: int,
        learning_rate: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _check("NoamDecay", d_model > 0, f"d_model is above 0, not {d_model}")
        self.d_model, self.warmup_steps = d_model, warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        first = 1.0 if self.last_epoch == 0 else self.last_epoch**-0.5
        return float(self.base_lr * self.d_model**-0.5 * min(first, self.warmup_steps**-1.5 * self.last_epoch))


class LinearWarmup(LRScheduler):
    """Rises from ``start_lr`` to ``end_lr`` in ``warmup_steps`` epochs, and goes on with another schedule or rate."""

    def __init__(
        self,
        learning_rate: Any,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(learning_rate, (int, float, LRScheduler)):
            raise TypeError(
                f"[LinearWarmup] learning_rate is a number or a schedule, not {type(learning_rate).__name__}"
            )
        _check("LinearWarmup", warmup_steps > 0, f"warmup_steps is above 0, not {warmup_steps}")
        _check("LinearWarmup", end_lr > start_lr, f"end_lr is above start_lr, {start_lr}, not {end_lr}")
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps
        self.start_lr, self.end_lr = start_lr, end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        if self.last_epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate.last_lr
        return float(self.learning_rate)

    def state_dict(self) -> dict[str, Any]:
        """Returns epoch and rate, with those of the schedule that follows under ``"LinearWarmup_LR"``."""
        found = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            found["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return found

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where a saved schedule was."""
        super().set_state_dict(state_dict)
        if isinstance(self.learning_rate, LRScheduler) and "LinearWarmup_LR" in state_dict:
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])

    set_dict = set_state_dict


class LambdaDecay(_Native):
    """``base_lr * lr_lambda(epoch)``."""

    def __init__(
        self,
        learning_rate: float,
        lr_lambda: Callable[[int], float],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        super().__init__(lambda optimizer: native.LambdaLR(optimizer, lr_lambda), learning_rate, last_epoch, verbose)


class MultiplicativeDecay(_Native):
    """The rate of the epoch before times ``lr_lambda(epoch)``."""

    def __init__(
        self,
        learning_rate: float,
        lr_lambda: Callable[[int], float],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            lambda optimizer: native.MultiplicativeLR(optimizer, lr_lambda), learning_rate, last_epoch, verbose
        )


class OneCycleLR(_Native):
    """From ``max_learning_rate / divide_factor`` to the maximum, and down to ``end_learning_rate``."""

    def __init__(
        self,
        max_learning_rate: float,
        total_steps: int,
        divide_factor: float = 25.0,
        end_learning_rate: float = 0.0001,
        phase_pct: float = 0.3,
        anneal_strategy: str = "cos",
        three_phase: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if end_learning_rate < 0:
            raise ValueError(f"[OneCycleLR] end_learning_rate is at least 0, not {end_learning_rate}")
        first = max_learning_rate / divide_factor
        self.total_steps = total_steps
        begin = phase_pct * total_steps * (2 if three_phase else 1) - (2 if three_phase else 1)
        #: The last phase: its first step and rate, the number of its steps, its last rate, and its form.
        self._last = begin, first if three_phase else max_learning_rate, total_steps - 1 - begin
        self._end, self._anneal = end_learning_rate, anneal_strategy
        super().__init__(
            lambda optimizer: native.OneCycleLR(
                optimizer,
                max_learning_rate,
                total_steps,
                pct_start=phase_pct,
                anneal_strategy=anneal_strategy,
                cycle_momentum=False,
                div_factor=divide_factor,
                final_div_factor=first / end_learning_rate if end_learning_rate else sys.float_info.max,
                three_phase=three_phase,
            ),
            first,
            last_epoch,
            verbose,
        )

    def get_lr(self) -> float:
        """Returns the rate; one step behind the last one follows the form of the last phase.

        Raises:
            ValueError: the epoch is behind ``total_steps``.
        """
        if self.last_epoch < self.total_steps:
            return super().get_lr()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"[OneCycleLR] has {self.total_steps} steps (total_steps), none of number {self.last_epoch}"
            )
        begin, first, count = self._last
        share = (self.last_epoch - begin) / count
        if self._anneal == "linear":
            return first + (self._end - first) * share
        return self._end + (first - self._end) / 2 * (1 + math.cos(math.pi * share))


class CyclicLR(_Native):
    """From ``base_learning_rate`` to ``max_learning_rate`` and back, again and again."""

    def __init__(
        self,
        base_learning_rate: float,
        max_learning_rate: float,
        step_size_up: int,
        step_size_down: int | None = None,
        mode: str = "triangular",
        exp_gamma: float = 1.0,
        scale_fn: Callable[[int], float] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            lambda optimizer: native.CyclicLR(
                optimizer,
                base_learning_rate,
                max_learning_rate,
                step_size_up,
                step_size_down,
                mode,
                exp_gamma,
                scale_fn,
                scale_mode,
                cycle_momentum=False,
            ),
            base_learning_rate,
            last_epoch,
            verbose,
        )


class ReduceOnPlateau(LRScheduler):
    """Falls by ``factor`` where a metric has not improved for more than ``patience`` epochs.

    Args:
        learning_rate: the rate that the schedule begins with.
        mode: "min" if the metric is to fall, "max" if it is to grow.
        factor: what the rate is multiplied by, below 1.
        patience: number of epochs in a row that may pass without an improvement.
        threshold: what counts as an improvement on the best metric, see ``threshold_mode``.
        threshold_mode: "rel" if it is more than ``threshold * best``, "abs" if more than ``threshold``.
        cooldown: number of epochs after a fall in which no metric is looked at.
        min_lr: the smallest rate.
        epsilon: a change of the rate that is not larger is left out.
        verbose: True prints every change.

    Attributes:
        best: the best metric so far, or None.
        num_bad_epochs: number of epochs in a row that were not better.
        cooldown_counter: number of epochs in which no metric will be looked at.
    """

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        if not isinstance(learning_rate, (int, float)):
            raise TypeError(f"[ReduceOnPlateau] learning_rate is a number, not {type(learning_rate).__name__}")
        self.mode, self.threshold_mode = mode.lower(), threshold_mode.lower()
        if self.mode not in ("min", "max"):
            raise ValueError(f"[ReduceOnPlateau] mode is 'min' or 'max', not {mode!r}")
        if self.threshold_mode not in ("rel", "abs"):
            raise ValueError(f"[ReduceOnPlateau] threshold_mode is 'rel' or 'abs', not {threshold_mode!r}")
        if factor >= 1:
            raise ValueError(f"[ReduceOnPlateau] factor is below 1, not {factor}")
        self.factor, self.patience, self.threshold, self.cooldown = factor, patience, threshold, cooldown
        self.min_lr, self.epsilon, self.verbose = min_lr, epsilon, verbose
        self.best: float | None = None
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self.base_lr = self.last_lr = float(learning_rate)

    def state_keys(self) -> None:
        """Sets ``keys``, the names of the attributes that are the state."""
        self.keys = ["cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr"]

    def _is_better(self, current: float, best: float) -> bool:
        """True if a metric improves on the best one by more than the threshold."""
        margin = self.threshold * best if self.threshold_mode == "rel" else self.threshold
        return current < best - margin if self.mode == "min" else current > best + margin

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]  # asks for a metric
        """Begins the next epoch, or that of a number.

        Args:
            metrics: the metric of this one: a number, or a tensor of one element.
            epoch: the number.
        """
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        current = float(metrics)
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs <= self.patience:
            return
        self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        rate = max(self.last_lr * self.factor, self.min_lr)
        if self.last_lr - rate > self.epsilon:
            self.last_lr = rate
            if self.verbose:
                print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def get_lr(self) -> float:
        """Returns the rate."""
        return self.last_lr


__getattr__ = close_module(__name__)
