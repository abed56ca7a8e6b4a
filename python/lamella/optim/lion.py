"""Lion."""

from __future__ import annotations

from collections.abc import Iterable

import lamella as lm

from .elementwise import Elementwise
from .optimizer import Group, check_betas, check_numbers


class Lion(Elementwise):
    """Steps by the sign of the momentum: one tensor of state, and steps of the same size for all elements.

    With gradient ``g`` (negated where ``maximize``) and parameter ``p``::

        p = p - lr * weight_decay * p
        p = p - lr * sign(beta1 * m + (1 - beta1) * g)
        m = beta2 * m + (1 - beta2) * g

    Source: Chen et al. 2023, "Symbolic discovery of optimization algorithms", algorithm 2.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the learning rate: three to ten times smaller than that of Adam.
        betas: how much of the mean counts in a step, and how much of it remains, each in ``[0, 1)``.
        weight_decay: the factor of the decay of the weights themselves.
        maximize: climbs instead.
    """

    formula = "lion_step"
    state_names = ("exp_avg",)
    is_decoupled = True

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("Lion", group, "lr", "weight_decay")
        check_betas("Lion", group["betas"])

    def numbers(self, counts: dict[str, float], group: Group) -> tuple[float, ...]:
        """Returns the numbers of the formula above."""
        beta1, beta2 = group["betas"]
        return (group["lr"], beta1, 1.0 - beta1, beta2, 1.0 - beta2)
