"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lamella as lm

from .optimizer import Group, Optimizer, check_number


class Adam(Optimizer):
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
        for option in ("lr", "eps", "weight_decay"):
            check_number("Adam", option, group[option])
        if not isinstance(group["betas"], (tuple, list)) or len(group["betas"]) != 2:
            raise TypeError(f"[Adam] betas are two numbers, not {group['betas']!r}")
        for index, beta in enumerate(group["betas"]):
            check_number("Adam", f"betas[{index}]", beta, below=1.0)

    def update_group(
        self, parameters: list[lm.Tensor], gradients: list[lm.Tensor], states: list[dict[str, Any]], group: Group
    ) -> None:
        """Moves the tensors by the formula above."""
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
        by_step: dict[int, list[int]] = {}
        for i, (parameter, state) in enumerate(zip(parameters, states, strict=True)):
            if not state:
                state.update({"step": 0, **{name: lm.zeros_like(parameter.detach()) for name in names}})
            by_step.setdefault(state["step"] + 1, []).append(i)
        beta1, beta2 = group["betas"]
        for step, chosen in by_step.items():
            lm._C._adam_step(
                [parameters[i] for i in chosen],
                [gradients[i] for i in chosen],
                [states[i]["exp_avg"] for i in chosen],
                [states[i]["exp_avg_sq"] for i in chosen],
                [states[i]["max_exp_avg_sq"] for i in chosen] if group["amsgrad"] else [],
                step,
                group["lr"],
                beta1,
                beta2,
                group["eps"],
                group["weight_decay"],
                group["decoupled"],
                group["maximize"],
            )
            for i in chosen:
                states[i]["step"] = step


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
