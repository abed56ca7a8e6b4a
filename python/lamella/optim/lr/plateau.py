"""A schedule that watches a metric."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer, check_number
from .scheduler import LRScheduler, check_count


class ReduceLROnPlateau(LRScheduler):
    """Lowers the rate where a metric has stopped improving.

    Args:
        optimizer: its groups get the rates.
        mode: ``"min"`` if the metric is to fall, ``"max"`` if it is to grow.
        factor: what the rate is multiplied by, below 1.
        patience: how many epochs in a row may pass without an improvement before the rate is lowered.
        threshold: what counts as an improvement, see ``threshold_mode``.
        threshold_mode: ``"rel"`` if the metric has to be below ``best - threshold * abs(best)``, ``"abs"`` if below
            ``best - threshold``; with a plus where it is to grow.
        cooldown: how many epochs are not counted after the rate was lowered.
        min_lr: the smallest rate, or one for each group.
        eps: a change of the rate that is not larger is left out.

    Attributes:
        best: the best metric so far.
        num_bad_epochs: how many epochs in a row were not better.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"[ReduceLROnPlateau] mode is 'min' or 'max', not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"[ReduceLROnPlateau] threshold_mode is 'rel' or 'abs', not {threshold_mode!r}")
        check_number("ReduceLROnPlateau", "factor", factor, below=1.0)
        check_number("ReduceLROnPlateau", "threshold", threshold)
        check_number("ReduceLROnPlateau", "eps", eps)
        check_count("ReduceLROnPlateau", "patience", patience, 0)
        check_count("ReduceLROnPlateau", "cooldown", cooldown, 0)
        super().__init__(optimizer)
        self.min_lrs = self._per_group("min_lr", min_lr)
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.eps = eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = 0
        self.cooldown_counter = 0

    def step(self, metrics: Any) -> None:  # type: ignore[override]  # the one schedule that asks for a metric
        """Begins the next epoch.

        Args:
            metrics: the metric of this one: a number, or a tensor of one element.
        """
        current = float(metrics)
        self.epoch += 1
        if self.is_better(current):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for index, group in enumerate(self.optimizer.param_groups):
                low = self.min_lrs[index] if index < len(self.min_lrs) else min(self.min_lrs)
                rate = max(group["lr"] * self.factor, low)
                if group["lr"] - rate > self.eps:
                    group["lr"] = rate
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def is_better(self, metric: float) -> bool:
        """True if a metric improves on the best one by more than the threshold."""
        sign = 1.0 if self.mode == "min" else -1.0
        if math.isinf(self.best):
            return metric * sign < self.best * sign
        margin = self.threshold if self.threshold_mode == "abs" else self.threshold * abs(self.best)
        return metric * sign < self.best * sign - margin

    def state_dict(self) -> dict[str, Any]:
        """Returns what was seen of the metric, and the rates now."""
        seen = {name: getattr(self, name) for name in ("best", "num_bad_epochs", "cooldown_counter")}
        return {**super().state_dict(), **seen, "lrs": self.get_last_lr()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where a saved schedule was, with its rates.

        Raises:
            ValueError: the state is of another schedule, or of another number of groups.
        """
        self._check_state(state)
        self._load(state)
        for name in ("best", "num_bad_epochs", "cooldown_counter"):
            setattr(self, name, state[name])
        for group, rate in zip(self.optimizer.param_groups, state["lrs"], strict=True):
            group["lr"] = rate
