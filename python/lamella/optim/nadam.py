"""NAdam."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import lamella as lm

from .elementwise import Elementwise
from .optimizer import Group, check_betas, check_numbers


class NAdam(Elementwise):
    """Adam with Nesterov momentum, which looks one step ahead along the running mean.

    With gradient ``g`` (negated where ``maximize``), parameter ``p``, step number ``t`` from 1 and
    ``mu(t) = beta1 * (1 - 0.96 ** (t * momentum_decay) / 2)``::

        g = g + weight_decay * p                      (p = p - lr * weight_decay * p  where decoupled)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        P = mu(1) * ... * mu(t)
        s = (1 - mu(t)) / (1 - P) * g + mu(t + 1) / (1 - P * mu(t + 1)) * m
        p = p - lr * s / (sqrt(v) / sqrt(1 - beta2 ** t) + eps)

    Source: Dozat 2016, "Incorporating Nesterov momentum into Adam", algorithm 8, with the schedule of its section 4.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the learning rate.
        betas: how much of the two running means remains at each step, each in ``[0, 1)``.
        eps: keeps the division finite.
        weight_decay: the factor of the L2 penalty or, where decoupled, of the decay.
        momentum_decay: how fast the momentum grows to ``beta1``.
        decoupled: decays the weights themselves and not through the gradient.
        maximize: climbs instead.
    """

    formula = "nadam_step"
    state_names = ("exp_avg", "exp_avg_sq")
    counters = ("step", "mu_product")

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled: bool = False,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled": decoupled,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("NAdam", group, "lr", "eps", "weight_decay", "momentum_decay")
        check_betas("NAdam", group["betas"])

    def counted(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        """Returns the number of this step, and the product of the momenta of all steps."""
        counts = super().counted(state, group)
        counts["mu_product"] = state.get("mu_product", 1.0) * _momentum(counts["step"], group)
        return counts

    def numbers(self, counts: dict[str, float], group: Group) -> tuple[float, ...]:
        """Returns the numbers of the formula above."""
        beta1, beta2 = group["betas"]
        momentum = _momentum(counts["step"], group)
        following = _momentum(counts["step"] + 1, group)
        product = counts["mu_product"]
        return (
            group["lr"] * (1.0 - momentum) / (1.0 - product),
            group["lr"] * following / (1.0 - product * following),
            beta1,
            1.0 - beta1,
            beta2,
            1.0 - beta2,
            math.sqrt(1.0 - beta2 ** counts["step"]),
            group["eps"],
        )


def _momentum(step: float, group: Group) -> float:
    """Returns the momentum of a step, which grows from half of beta1 to beta1."""
    return float(group["betas"][0] * (1.0 - 0.5 * 0.96 ** (step * group["momentum_decay"])))
