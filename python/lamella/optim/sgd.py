"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lamella as lm

from . import _steps
from .elementwise import Elementwise
from .optimizer import Group, check_number


class SGD(Elementwise):
    """Stochastic gradient descent with momentum.

    With gradient ``g`` (negated where ``maximize``), parameter ``p`` and velocity ``v``::

        g = g + weight_decay * p
        v = momentum * v + (1 - dampening) * g        (v = g in the first step)
        g = g + momentum * v  if nesterov  else  v
        p = p - lr * g

    Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep learning"; the
    velocity here is theirs divided by the learning rate, as in PyTorch, so that a new rate acts at once.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the learning rate.
        momentum: how much of the velocity remains at each step.
        dampening: how much of a new gradient is kept out of the velocity.
        weight_decay: the factor of the L2 penalty.
        nesterov: looks ahead along the velocity; needs a momentum and no dampening.
        maximize: climbs instead.
    """

    formula = "sgd_step"
    state_names = ("momentum_buffer",)

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        name = type(self).__name__
        for option in ("lr", "momentum", "weight_decay"):
            check_number(name, option, group[option])
        check_number(name, "dampening", group["dampening"], low=float("-inf"))
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError(f"[{name}] nesterov needs a momentum above 0 and a dampening of 0")

    def unused(self, group: Group) -> tuple[str, ...]:
        """Returns the name of the velocity where there is no momentum."""
        return () if group["momentum"] else self.state_names

    def update_group(
        self, parameters: list[lm.Tensor], gradients: list[lm.Tensor], states: list[dict[str, Any]], group: Group
    ) -> None:
        """Moves the tensors by the formula above."""
        momentum = group["momentum"]
        if momentum == 0:
            numbers = (group["lr"], 0.0, 1.0, 0.0, 0.0, 0.0)
            if type(self).move is not Elementwise.move:
                self.move(parameters, gradients, states, numbers, group)
                return
            decay = group["weight_decay"]
            _steps.step(self._formula, parameters, gradients, (None,), numbers, decay, 1.0, group["maximize"])
            return
        fresh = ["momentum_buffer" not in state for state in states]
        for first in set(fresh):
            rows = (parameters, gradients, states)
            if fresh.count(first) < len(fresh):
                chosen = [i for i, is_fresh in enumerate(fresh) if is_fresh == first]
                rows = [parameters[i] for i in chosen], [gradients[i] for i in chosen], [states[i] for i in chosen]
            self.move(*rows, self._numbers(group, first), group)

    @staticmethod
    def _numbers(group: Group, first: bool) -> tuple[float, ...]:
        momentum = group["momentum"]
        kept = (0.0, 1.0) if first else (momentum, 1.0 - group["dampening"])
        return (group["lr"], *kept, momentum, 1.0, float(group["nesterov"]))
