"""Adadelta."""

from __future__ import annotations

import math
from collections.abc import Iterable

import lamella as lm

from .elementwise import Elementwise
from .optimizer import Group, check_number, check_numbers


class Adadelta(Elementwise):
    """Steps as large as the recent ones, in units of the recent gradients.

    With gradient ``g`` (negated where ``maximize``) and parameter ``p``::

        g = g + weight_decay * p
        v = rho * v + (1 - rho) * g * g
        d = sqrt(u + eps) / sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d * d
        p = p - lr * d

    Source: Zeiler 2012, "ADADELTA: an adaptive learning rate method", algorithm 1.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: a factor of each step.
        rho: how much of the running means remains at each step, from 0 to 1.
        eps: keeps the division finite.
        weight_decay: the factor of the L2 penalty.
        maximize: climbs instead.
    """

    formula = "adadelta_step"
    state_names = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("Adadelta", group, "lr", "eps", "weight_decay")
        check_number("Adadelta", "rho", group["rho"], below=math.nextafter(1.0, 2.0))

    def numbers(self, counts: dict[str, float], group: Group) -> tuple[float, ...]:
        """Returns the numbers of the formula above."""
        return (group["lr"], group["rho"], 1.0 - group["rho"], group["eps"])
