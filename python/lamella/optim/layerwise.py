"""LAMB and LARS: steps in proportion to the norm of each tensor, for large batches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import lamella as lm

from .elementwise import Elementwise
from .optimizer import Group, check_betas, check_numbers
from .sgd import SGD


class LAMB(Elementwise):
    """Adam whose steps have, for each tensor, a length in proportion to the tensor's norm.

    With gradient ``g`` (negated where ``maximize``), parameter ``p`` and step number ``t`` from 1::

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        s = m / (1 - beta1 ** t) / (sqrt(v / (1 - beta2 ** t)) + eps) + weight_decay * p
        c = norm(p) / norm(s)                         (c = 1 where a norm is 0)
        p = p - lr * c * s

    Source: You et al. 2020, "Large batch optimization for deep learning: training BERT in 76 minutes", algorithm 2.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the learning rate.
        betas: how much of the two running means remains at each step, each in ``[0, 1)``.
        eps: keeps the division finite.
        weight_decay: the factor of the decay, which the length of the step includes.
        maximize: climbs instead.
    """

    needs_whole = True
    formula = "adam_step"
    state_names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("LAMB", group, "lr", "eps", "weight_decay")
        check_betas("LAMB", group["betas"])

    def unused(self, group: Group) -> tuple[str, ...]:
        """Returns the name of the maximum."""
        return ("max_exp_avg_sq",)

    def numbers(self, counts: dict[str, float], group: Group) -> tuple[float, ...]:
        """Returns the numbers of a step of Adam with a learning rate of 1."""
        step, (beta1, beta2) = counts["step"], group["betas"]
        root = math.sqrt(1.0 - beta2**step)
        return (1.0 / (1.0 - beta1**step), beta1, 1.0 - beta1, beta2, 1.0 - beta2, root, group["eps"], 0.0)

    def move(
        self,
        parameters: list[lm.Tensor],
        gradients: list[lm.Tensor],
        states: list[dict[str, Any]],
        numbers: Sequence[float],
        group: Group,
    ) -> None:
        """Moves tensors by a step of Adam, in one kernel from zeros, that is scaled for each tensor."""
        steps = [lm.zeros_like(parameter.detach()) for parameter in parameters]
        decay = group["weight_decay"]
        super().move(steps, gradients, states, numbers, {**group, "weight_decay": 0.0})
        for parameter, step in zip(parameters, steps, strict=True):
            if decay:
                step.sub_(parameter * decay)
            size, length = _norm(parameter), _norm(step)
            parameter.add_(step * (_where_positive(size, length, size / length) * group["lr"]))


class LARS(SGD):
    """Stochastic gradient descent whose steps have, for each tensor, a length in proportion to the tensor's norm.

    With gradient ``g`` (negated where ``maximize``), parameter ``p`` and velocity ``v``::

        c = trust_coefficient * norm(p) / (norm(g) + weight_decay * norm(p) + eps)      (c = 1 where a norm is 0)
        v = momentum * v + c * (g + weight_decay * p)
        p = p - lr * v

    and, with dampening or ``nesterov``, as in :class:`SGD`.

    Source: You, Gitman & Ginsburg 2017, "Large batch training of convolutional networks", algorithm 1; the velocity
    here is theirs divided by the learning rate.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the learning rate.
        momentum: how much of the velocity remains at each step.
        dampening: how much of a new gradient is kept out of the velocity.
        weight_decay: the factor of the L2 penalty.
        nesterov: looks ahead along the velocity; needs a momentum and no dampening.
        trust_coefficient: the length of a step, relative to the tensor's norm.
        eps: keeps the division finite.
        maximize: climbs instead.
    """

    needs_whole = True

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-1,
        momentum: float = 0.9,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        trust_coefficient: float = 1e-3,
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "trust_coefficient": trust_coefficient,
            "eps": eps,
            "maximize": maximize,
        }
        Elementwise.__init__(self, params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        super().check(group)
        check_numbers("LARS", group, "trust_coefficient", "eps")

    def move(
        self,
        parameters: list[lm.Tensor],
        gradients: list[lm.Tensor],
        states: list[dict[str, Any]],
        numbers: Sequence[float],
        group: Group,
    ) -> None:
        """Moves tensors by a step of SGD along gradients that are scaled for each tensor."""
        scaled = []
        decay = group["weight_decay"]
        for parameter, given in zip(parameters, gradients, strict=True):
            size, slope = _norm(parameter), _norm(given)
            trust = size * group["trust_coefficient"] / (slope + size * decay + group["eps"])
            trust = _where_positive(size, slope, trust)
            gradient = -given if group["maximize"] else given
            scaled.append((gradient + parameter * decay if decay else gradient) * trust)
        super().move(parameters, scaled, states, numbers, {**group, "weight_decay": 0.0, "maximize": False})


def _norm(x: lm.Tensor) -> lm.Tensor:
    """Returns the root of the sum of squares, of no axes."""
    return lm.linalg.vector_norm(x)


def _where_positive(a: lm.Tensor, b: lm.Tensor, ratio: lm.Tensor) -> lm.Tensor:
    """Returns ``ratio`` if both norms are above 0, else 1."""
    return lm.where((a > 0) & (b > 0), ratio, lm.ones_like(ratio))
