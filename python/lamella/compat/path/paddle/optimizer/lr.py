"""Paddle's schedules of the learning rate: an optimizer that is given one reads its rate at every step."""

from __future__ import annotations

import math
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
        self.last_lr = float(self.get_lr())
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def get_lr(self) -> float:
        """Returns the rate of the epoch ``last_epoch``."""
        raise NotImplementedError(f"[{type(self).__name__}] the schedule defines no get_lr")

    def state_dict(self) -> dict[str, Any]:
        """Returns epoch and rate."""
        return {"last_epoch": self.last_epoch, "last_lr": self.last_lr}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where a saved schedule was."""
        self.last_epoch, self.last_lr = state_dict["last_epoch"], state_dict["last_lr"]

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
        super().__init__(
            lambda optimizer: native.StepLR(optimizer, step_size, gamma), learning_rate, last_epoch, verbose
        )


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


class LinearLR(_Native):
    """``base_lr`` times a factor that goes from ``start_factor`` to ``end_factor`` in ``total_steps`` epochs."""

    def __init__(
        self,
        learning_rate: float,
        total_steps: int,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            lambda optimizer: native.LinearLR(optimizer, start_factor, end_factor, total_steps),
            learning_rate,
            last_epoch,
            verbose,
        )


class PiecewiseDecay(_Native):
    """``values[n]`` after ``n`` of the boundaries."""

    def __init__(
        self,
        boundaries: Sequence[int],
        values: Sequence[float],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            lambda optimizer: native.PiecewiseLR(optimizer, boundaries, values), values[0], last_epoch, verbose
        )


class CosineAnnealingDecay(LRScheduler):
    """``eta_min + (base_lr - eta_min) * (1 + cos(pi * epoch / T_max)) / 2`` (Loshchilov and Hutter, 2017)."""

    def __init__(
        self,
        learning_rate: float,
        T_max: int,  # noqa: N803 (Paddle's name)
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2


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
        self.after, self.warmup_steps, self.start_lr, self.end_lr = learning_rate, warmup_steps, start_lr, end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        if self.last_epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps + self.start_lr
        if isinstance(self.after, LRScheduler):
            self.after.step(self.last_epoch - self.warmup_steps)
            return self.after.last_lr
        return float(self.after)

    def state_dict(self) -> dict[str, Any]:
        """Returns epoch and rate, with those of the schedule that follows under ``"LinearWarmup_LR"``."""
        found = super().state_dict()
        if isinstance(self.after, LRScheduler):
            found["LinearWarmup_LR"] = self.after.state_dict()
        return found

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where a saved schedule was."""
        super().set_state_dict(state_dict)
        if isinstance(self.after, LRScheduler) and "LinearWarmup_LR" in state_dict:
            self.after.set_state_dict(state_dict["LinearWarmup_LR"])

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
        if end_learning_rate <= 0:
            raise ValueError(f"[OneCycleLR] end_learning_rate is above 0, not {end_learning_rate}")
        first = max_learning_rate / divide_factor
        super().__init__(
            lambda optimizer: native.OneCycleLR(
                optimizer,
                max_learning_rate,
                total_steps,
                pct_start=phase_pct,
                anneal_strategy=anneal_strategy,
                cycle_momentum=False,
                div_factor=divide_factor,
                final_div_factor=first / end_learning_rate,
                three_phase=three_phase,
            ),
            first,
            last_epoch,
            verbose,
        )


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
    """Falls by ``factor`` where a metric has stopped improving; see :class:`lamella.optim.lr.ReduceLROnPlateau`."""

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
        optimizer = lm.optim.Optimizer([{"params": []}], {"lr": learning_rate})
        options = (mode, factor, patience, threshold, threshold_mode, cooldown, min_lr, epsilon)
        self._native = native.ReduceLROnPlateau(optimizer, *options)
        super().__init__(learning_rate, -1, verbose)

    def step(self, metrics: Any = None, epoch: int | None = None) -> None:  # type: ignore[override]  # asks for a metric
        """Begins the next epoch, or that of a number.

        Args:
            metrics: the metric of this one: a number, or a tensor of one element.
            epoch: the number.
        """
        if metrics is not None and self._native.cooldown_counter > 0:
            # Paddle looks at no metric meanwhile.
            self._native.cooldown_counter -= 1
            self._native.epoch += 1
        elif metrics is not None:
            self._native.step(metrics)
        super().step(epoch)

    def get_lr(self) -> float:
        """Returns the rate."""
        return self._native.get_last_lr()[0]

    def state_dict(self) -> dict[str, Any]:
        """Returns epoch, rate and what was seen of the metric."""
        return {**super().state_dict(), "metric": self._native.state_dict()}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where a saved schedule was."""
        super().set_state_dict(state_dict)
        self._native.load_state_dict(state_dict["metric"])

    set_dict = set_state_dict


__getattr__ = close_module(__name__)
