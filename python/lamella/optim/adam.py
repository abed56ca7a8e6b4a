"""Adam and AdamW."""

from __future__ import annotations

import math
from collections.abc import Iterable

import lamella as lm

from .elementwise import Elementwise
from .optimizer import Group, check_betas, check_numbers


class Adam(Elementwise):
    """Adam: steps scaled by running means of the gradient and of its square.

    With gradient ``g`` (negated where ``maximize``), parameter ``p`` and step number ``t`` from 1::

        g = g + weight_decay * p                      (p = p - lr * weight_decay * p  where decoupled)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        w = max(w, v)  if amsgrad  else  v
        p = p - lr / (1 - beta1 ** t) * m / (sqrt(w) / sqrt(1 - beta2 ** t) + eps)

    Sources: Kingma & Ba 2015, "Adam: a method for stochastic optimization", algorithm 1; Reddi et al. 2018, "On the
    convergence of Adam and beyond" (amsgrad: the maximum is taken before the bias correction, as in PyTorch);
    Loshchilov & Hutter 2019, "Decoupled weight decay regularization", algorithm 2 (decoupled).

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the learning rate.
        betas: how much of the two running means remains at each step, each in ``[0, 1)``.
        eps: keeps the division finite.
        weight_decay: the factor of the L2 penalty or, where decoupled, of the decay.
        amsgrad: divides by the largest running mean of squares so far.
        decoupled: decays the weights themselves and not through the gradient (AdamW).
        maximize: climbs instead.
    """

    formula = "adam_step"
    state_names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        decoupled: bool = False,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "decoupled": decoupled,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        name = type(self).__name__
        check_numbers(name, group, "lr", "eps", "weight_decay")
        check_betas(name, group["betas"])

    def unused(self, group: Group) -> tuple[str, ...]:
        """Returns the name of the maximum without ``amsgrad``."""
        return () if group["amsgrad"] else ("max_exp_avg_sq",)

    def numbers(self, counts: dict[str, float], group: Group) -> tuple[float, ...]:
        """Returns the numbers of the formula above."""
        step, (beta1, beta2) = counts["step"], group["betas"]
        rate = group["lr"] / (1.0 - beta1**step)
        root = math.sqrt(1.0 - beta2**step)
        return (rate, beta1, 1.0 - beta1, beta2, 1.0 - beta2, root, group["eps"], float(group["amsgrad"]))


class AdamW(Adam):
    """Adam with decoupled weight decay, 0.01 by default; arguments as in :class:`Adam`."""

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, decoupled=True, maximize=maximize)
