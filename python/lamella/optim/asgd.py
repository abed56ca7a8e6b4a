"""ASGD."""

from __future__ import annotations

import math
from collections.abc import Iterable

import lamella as lm

from .elementwise import Elementwise
from .optimizer import Group, check_number, check_numbers


class ASGD(Elementwise):
    """Averaged stochastic gradient descent: the average of the weights is in the state, as ``"ax"``.

    With gradient ``g`` (negated where ``maximize``), parameter ``p`` and step number ``t`` from 1::

        g = g + weight_decay * p
        e = lr / (1 + lambd * lr * (t - 1)) ** alpha
        p = (1 - lambd * e) * p - e * g
        a = a + (p - a) / max(1, t - 1 - t0)

    Sources: Polyak & Juditsky 1992, "Acceleration of stochastic approximation by averaging"; the rates are those of
    Bottou 2010, "Large-scale machine learning with stochastic gradient descent", section 5, as in PyTorch.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the learning rate.
        lambd: the factor of the decay of weights that goes with the rates.
        alpha: the power by which the rate falls.
        t0: the step at which averaging begins; before it, the average is the weights.
        weight_decay: the factor of the L2 penalty.
        maximize: climbs instead.
    """

    formula = "asgd_step"
    state_names = ("ax",)

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("ASGD", group, "lr", "lambd", "weight_decay", "t0")
        check_number("ASGD", "alpha", group["alpha"], low=-math.inf)

    def numbers(self, counts: dict[str, float], group: Group) -> tuple[float, ...]:
        """Returns the numbers of the formula above."""
        passed, lr = counts["step"] - 1.0, group["lr"]
        rate = lr / (1.0 + group["lambd"] * lr * passed) ** group["alpha"]
        return (rate, 1.0 - group["lambd"] * rate, 1.0 / max(1.0, passed - group["t0"]))
