"""Adagrad."""

from __future__ import annotations

from collections.abc import Iterable

import lamella as lm

from .elementwise import Elementwise
from .optimizer import Group, check_numbers


class Adagrad(Elementwise):
    """Steps divided by the root of the sum of all squared gradients.

    With gradient ``g`` (negated where ``maximize``), parameter ``p`` and step number ``t`` from 1::

        g = g + weight_decay * p
        s = s + g * g                                 (s = initial_accumulator_value before the first step)
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    Source: Duchi, Hazan & Singer 2011, "Adaptive subgradient methods for online learning and stochastic optimization",
    figure 1, for diagonal matrices.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the learning rate.
        lr_decay: how much slower each step is than the one before.
        weight_decay: the factor of the L2 penalty.
        initial_accumulator_value: the sum of squares before the first step.
        eps: keeps the division finite.
        maximize: climbs instead.
    """

    formula = "adagrad_step"
    state_names = ("sum",)

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "eps": eps,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("Adagrad", group, "lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")

    def first(self, name: str, group: Group) -> float:
        """Returns the sum before the first step."""
        return float(group["initial_accumulator_value"])

    def numbers(self, counts: dict[str, float], group: Group) -> tuple[float, ...]:
        """Returns the numbers of the formula above."""
        return (group["lr"] / (1.0 + (counts["step"] - 1.0) * group["lr_decay"]), group["eps"])
