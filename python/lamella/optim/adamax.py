"""Adamax."""

from __future__ import annotations

from collections.abc import Iterable

import lamella as lm

from .elementwise import Elementwise
from .optimizer import Group, check_betas, check_numbers


class Adamax(Elementwise):
    """Adamax: Adam with the largest gradient in place of the root of the mean of squares.

    With gradient ``g`` (negated where ``maximize``), parameter ``p`` and step number ``t`` from 1::

        g = g + weight_decay * p
        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, abs(g) + eps)
        p = p - lr / (1 - beta1 ** t) * m / u

    Source: Kingma & Ba 2015, "Adam: a method for stochastic optimization", algorithm 2.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the learning rate.
        betas: how much of the mean and of the largest gradient remains at each step, each in ``[0, 1)``.
        eps: keeps the division finite.
        weight_decay: the factor of the L2 penalty.
        maximize: climbs instead.
    """

    formula = "adamax_step"
    state_names = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("Adamax", group, "lr", "eps", "weight_decay")
        check_betas("Adamax", group["betas"])

    def numbers(self, counts: dict[str, float], group: Group) -> tuple[float, ...]:
        """Returns the numbers of the formula above."""
        beta1, beta2 = group["betas"]
        return (group["lr"] / (1.0 - beta1 ** counts["step"]), beta1, 1.0 - beta1, beta2, group["eps"])
