"""RMSprop."""

from __future__ import annotations

import math
from collections.abc import Iterable

import lamella as lm

from .elementwise import Elementwise
from .optimizer import Group, check_number, check_numbers


class RMSprop(Elementwise):
    """Steps divided by the root of a running mean of the squared gradient.

    With gradient ``g`` (negated where ``maximize``) and parameter ``p``::

        g = g + weight_decay * p
        v = alpha * v + (1 - alpha) * g * g
        m = alpha * m + (1 - alpha) * g
        w = max(v - m * m, 0)  if centered  else  v
        s = g / (sqrt(w) + eps)
        b = momentum * b + s  if momentum  else  s
        p = p - lr * b

    Sources: Hinton 2012, "Neural networks for machine learning", lecture 6e; Graves 2013, "Generating sequences with
    recurrent neural networks", equations 38 to 45 (centered).

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the learning rate.
        alpha: how much of the running means remains at each step, from 0 to 1.
        eps: keeps the division finite.
        weight_decay: the factor of the L2 penalty.
        momentum: how much of the velocity remains at each step.
        centered: divides by the root of the variance.
        maximize: climbs instead.
    """

    formula = "rmsprop_step"
    state_names = ("square_avg", "grad_avg", "momentum_buffer")

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("RMSprop", group, "lr", "eps", "weight_decay", "momentum")
        check_number("RMSprop", "alpha", group["alpha"], below=math.nextafter(1.0, 2.0))

    def unused(self, group: Group) -> tuple[str, ...]:
        """Returns the names of the mean, unless centered, and of the velocity, without momentum."""
        return (*(() if group["centered"] else ("grad_avg",)), *(() if group["momentum"] else ("momentum_buffer",)))

    def numbers(self, counts: dict[str, float], group: Group) -> tuple[float, ...]:
        """Returns the numbers of the formula above."""
        alpha, momentum = group["alpha"], group["momentum"]
        flags = (float(group["centered"]), float(momentum != 0))
        return (group["lr"], alpha, 1.0 - alpha, group["eps"], momentum, *flags)
