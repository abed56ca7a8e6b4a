"""Adam for tables of which a step sees a few rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import lamella as lm
from lamella.optim import Optimizer
from lamella.optim.optimizer import check_betas, check_numbers


class SparseAdam(Optimizer):
    """Adam that moves, and remembers, only rows with a gradient that is not 0.

    Gradients are dense here, so that a row with a gradient of zeros counts as one that was not looked up.

    Args:
        params: tensors or groups.
        lr: the learning rate.
        betas: how much of the running means of gradient and square remains at a step.
        eps: keeps the division finite.
        maximize: climbs instead.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def check(self, group: Any) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("SparseAdam", group, "lr", "eps")
        check_betas("SparseAdam", group["betas"])

    def update(self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], group: Any) -> None:
        """Moves the rows that have a gradient."""
        if not state:
            state |= {"step": 0, "exp_avg": lm.zeros_like(parameter), "exp_avg_sq": lm.zeros_like(parameter)}
        state["step"] += 1
        beta1, beta2 = group["betas"]
        g = -gradient if group["maximize"] else gradient
        axes = list(range(1, g.ndim))
        seen = g != 0 if not axes else lm.any(g != 0, axis=axes, keepdims=True)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.add_(lm.where(seen, (g - mean) * (1 - beta1), 0.0))
        square.add_(lm.where(seen, (g * g - square) * (1 - beta2), 0.0))
        rate = group["lr"] * math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        parameter.sub_(lm.where(seen, mean / (lm.sqrt(square) + group["eps"]) * rate, 0.0))
