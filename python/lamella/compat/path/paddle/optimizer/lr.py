"""Paddle's schedules of the learning rate: an optimizer that is given one reads its rate at every step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from lamella.compat.front import close_module


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


class StepDecay(LRScheduler):
    """``base_lr * gamma ** (epoch // step_size)``."""

    def __init__(
        self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        return self.base_lr * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepDecay(LRScheduler):
    """``base_lr * gamma ** n`` after ``n`` of the milestones."""

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.milestones, self.gamma = list(milestones), gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        return self.base_lr * self.gamma ** sum(self.last_epoch >= m for m in self.milestones)


class ExponentialDecay(LRScheduler):
    """``base_lr * gamma ** epoch``."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        return self.base_lr * self.gamma**self.last_epoch


class NaturalExpDecay(ExponentialDecay):
    """``base_lr * exp(-gamma * epoch)``."""

    def get_lr(self) -> float:
        """Returns the rate."""
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(ExponentialDecay):
    """``base_lr / (1 + gamma * epoch)``."""

    def get_lr(self) -> float:
        """Returns the rate."""
        return self.base_lr / (1.0 + self.gamma * self.last_epoch)


class PiecewiseDecay(LRScheduler):
    """``values[n]`` after ``n`` of the boundaries."""

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if len(values) != len(boundaries) + 1:
            raise ValueError(f"[PiecewiseDecay] {len(boundaries)} boundaries part {len(values)} values")
        self.boundaries, self.values = list(boundaries), list(values)
        super().__init__(values[0], last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        return self.values[sum(self.last_epoch >= b for b in self.boundaries)]


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


class PolynomialDecay(LRScheduler):
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
        self.decay_steps, self.end_lr, self.power, self.cycle = decay_steps, end_lr, power, cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        steps, epoch = self.decay_steps, self.last_epoch
        if self.cycle:
            steps *= max(math.ceil(epoch / steps), 1)
        else:
            epoch = min(epoch, steps)
        return (self.base_lr - self.end_lr) * (1 - epoch / steps) ** self.power + self.end_lr


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


class LambdaDecay(LRScheduler):
    """``base_lr * lr_lambda(epoch)``."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """Returns the rate."""
        return self.base_lr * self.lr_lambda(self.last_epoch)


__getattr__ = close_module(__name__)
