"""RAdam."""

from __future__ import annotations

import math
from collections.abc import Iterable

import lamella as lm

from .elementwise import Elementwise
from .optimizer import Group, check_betas, check_numbers


class RAdam(Elementwise):
    """Rectified Adam: divides by the running mean of squares once that mean is known well enough.

    With gradient ``g`` (negated where ``maximize``), parameter ``p`` and step number ``t`` from 1::

        g = g + weight_decay * p                      (p = p - lr * weight_decay * p  where decoupled)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        R = 2 / (1 - beta2) - 1
        r = R - 2 * t * beta2 ** t / (1 - beta2 ** t)
        c = sqrt((r - 4) * (r - 2) * R / ((R - 4) * (R - 2) * r))
        s = c * sqrt(1 - beta2 ** t) / (sqrt(v) + eps)  if r > 5  else  1
        p = p - lr / (1 - beta1 ** t) * m * s

    Source: Liu et al. 2020, "On the variance of the adaptive learning rate and beyond", algorithm 2; the bound is 5
    and not 4, as in the authors' program and in PyTorch.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the learning rate.
        betas: how much of the two running means remains at each step, each in ``[0, 1)``.
        eps: keeps the division finite.
        weight_decay: the factor of the L2 penalty or, where decoupled, of the decay.
        decoupled: decays the weights themselves and not through the gradient.
        maximize: climbs instead.
    """

    formula = "radam_step"
    state_names = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled: bool = False,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "decoupled": decoupled,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("RAdam", group, "lr", "eps", "weight_decay")
        check_betas("RAdam", group["betas"])

    def numbers(self, counts: dict[str, float], group: Group) -> tuple[float, ...]:
        """Returns the numbers of the formula above."""
        step, (beta1, beta2) = counts["step"], group["betas"]
        remaining = beta2**step
        most = 2.0 / (1.0 - beta2) - 1.0
        length = most - 2.0 * step * remaining / (1.0 - remaining)
        is_rectified = length > 5.0
        rate = group["lr"] / (1.0 - beta1**step)
        if is_rectified:
            rate *= math.sqrt((length - 4.0) * (length - 2.0) * most / ((most - 4.0) * (most - 2.0) * length))
        root = math.sqrt(1.0 - remaining)
        return (rate, beta1, 1.0 - beta1, beta2, 1.0 - beta2, root, group["eps"], float(is_rectified))
