"""Learning rates that change with time. Call ``step()`` once per epoch, after the optimizer's."""

from __future__ import annotations

import math
from typing import Any

from .optimizer import Optimizer


class LRScheduler:
    """Base of schedules: a subclass defines :meth:`rate`, the learning rate of an epoch given the first one.

    Attributes:
        epoch: how often :meth:`step` was called.
        base_lrs: the learning rates that the optimizer's groups had at the start.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"[{type(self).__name__}] expected an Optimizer, not {type(optimizer).__name__}")
        self.optimizer = optimizer
        self.epoch = 0
        self.base_lrs: list[float] = [group["lr"] for group in optimizer.param_groups]

    def rate(self, base: float, epoch: int) -> float:
        """Returns the learning rate in ``epoch`` of a group that began with ``base``."""
        raise NotImplementedError(f"[{type(self).__name__}] the schedule defines no rate")

    def step(self) -> None:
        """Begins the next epoch."""
        self.epoch += 1
        self._set()

    def get_last_lr(self) -> list[float]:
        """Returns the learning rates now, one per group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Returns the epoch and the first rates."""
        return {"epoch": self.epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where a saved schedule was."""
        if len(state["base_lrs"]) != len(self.optimizer.param_groups):
            raise ValueError(f"[{type(self).__name__}] the state is of another number of parameter groups")
        self.epoch, self.base_lrs = state["epoch"], list(state["base_lrs"])
        self._set()

    def _set(self) -> None:
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = self.rate(base, self.epoch)


class StepLR(LRScheduler):
    """Multiplies the rate by ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        if step_size < 1:
            raise ValueError(f"[StepLR] step_size is at least 1, not {step_size}")
        super().__init__(optimizer)
        self.step_size = step_size
        self.gamma = gamma

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``base * gamma ** (epoch // step_size)``."""
        return base * self.gamma ** (epoch // self.step_size)


class CosineAnnealingLR(LRScheduler):
    """Lets the rate fall along half a cosine to ``eta_min`` in ``t_max`` epochs, and keeps it there.

    Source: Loshchilov & Hutter 2017, "SGDR: stochastic gradient descent with warm restarts", equation 5, without
    restarts.
    """

    def __init__(self, optimizer: Optimizer, t_max: int, eta_min: float = 0.0) -> None:
        if t_max < 1:
            raise ValueError(f"[CosineAnnealingLR] t_max is at least 1, not {t_max}")
        super().__init__(optimizer)
        self.t_max = t_max
        self.eta_min = eta_min

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``eta_min + (base - eta_min) * (1 + cos(pi * epoch / t_max)) / 2``."""
        fraction = min(epoch / self.t_max, 1.0)
        return self.eta_min + (base - self.eta_min) * (1.0 + math.cos(math.pi * fraction)) / 2.0
