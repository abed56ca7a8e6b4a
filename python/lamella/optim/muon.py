"""Muon, and the orthogonalization that it is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import lamella as lm

from .optimizer import Group, Optimizer, check_number, check_numbers

_RATES = ("original", "match_rms_adamw")


def orthogonalize(
    matrix: lm.Tensor,
    coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
    steps: int = 5,
    eps: float = 1e-7,
) -> lm.Tensor:
    """Returns a matrix with the singular vectors of ``matrix`` and singular values near 1, by products alone.

    Each step of this Newton-Schulz iteration maps every singular value ``s`` to ``a * s + b * s ** 3 + c * s ** 5``.
    The default coefficients bring small values up fast and leave all between about 0.7 and 1.2; values that are tiny
    beside the largest stay smaller. ``(1.875, -1.25, 0.375)`` converge to 1.

    Sources: Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks"; Bernstein & Newhouse 2024,
    "Old optimizer, new norm: an anthology".

    Args:
        matrix: shape ``[..., m, n]``, floating or complex.
        coefficients: ``a``, ``b`` and ``c``.
        steps: how many steps.
        eps: the least norm that the matrix is divided by first.

    Raises:
        ValueError: ``matrix`` has fewer than two axes.
    """
    if matrix.ndim < 2:
        raise ValueError(f"[orthogonalize] a matrix has at least two axes, got shape {list(matrix.shape)}")
    a, b, c = coefficients
    is_tall = matrix.shape[-2] > matrix.shape[-1]
    x = matrix.mH if is_tall else matrix
    x = x / lm.maximum(lm.linalg.vector_norm(x, axis=(-2, -1), keepdims=True), eps)
    for _ in range(steps):
        gram = x @ x.mH
        x = x * a + (gram * b + gram @ gram * c) @ x
    return x.mH if is_tall else x


class Muon(Optimizer):
    """Momentum whose matrices are orthogonalized, for the weights of hidden layers.

    With gradient ``g`` (negated where ``maximize``) and parameter ``p``, a matrix of ``m`` rows and ``n`` columns::

        v = momentum * v + (1 - momentum) * g
        u = momentum * v + (1 - momentum) * g  if nesterov  else  v
        p = p - lr * weight_decay * p
        p = p - lr * c * orthogonalize(u)

    where ``c`` is ``sqrt(max(1, m / n))``, or ``0.2 * sqrt(max(m, n))`` with the rates of AdamW. Biases, embeddings and
    the last layer are left to another optimizer, AdamW say.

    Sources: Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks"; Liu et al. 2025, "Muon is
    scalable for LLM training" (weight decay, and the rates of AdamW).

    Args:
        params: matrices or groups of them, see :class:`Optimizer`.
        lr: the learning rate.
        weight_decay: the factor of the decay of the weights themselves.
        momentum: how much of the velocity remains at each step, in ``[0, 1)``.
        nesterov: looks ahead along the velocity.
        ns_coefficients: the polynomial of :func:`orthogonalize`.
        eps: the least norm that a matrix is divided by.
        ns_steps: how many steps :func:`orthogonalize` makes.
        adjust_lr_fn: ``"original"`` or ``"match_rms_adamw"``, the rule of ``c``; None is the first.
        maximize: climbs instead.

    Raises:
        ValueError: a parameter is no matrix.
    """

    needs_whole = True

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense, and on tensors that are no matrices."""
        check_numbers("Muon", group, "lr", "weight_decay", "eps")
        check_number("Muon", "momentum", group["momentum"], below=1.0)
        coefficients, steps, rule = group["ns_coefficients"], group["ns_steps"], group["adjust_lr_fn"]
        if not isinstance(coefficients, (tuple, list)) or len(coefficients) != 3:
            raise TypeError(f"[Muon] ns_coefficients are three numbers, not {coefficients!r}")
        for index, value in enumerate(coefficients):
            check_number("Muon", f"ns_coefficients[{index}]", value, low=-math.inf)
        if isinstance(steps, bool) or not isinstance(steps, int):
            raise TypeError(f"[Muon] ns_steps is an int, not {type(steps).__name__}")
        if not 0 < steps < 100:
            raise ValueError(f"[Muon] ns_steps is from 1 to 99, not {steps}")
        if rule is not None and rule not in _RATES:
            raise ValueError(f"[Muon] adjust_lr_fn is None, {' or '.join(map(repr, _RATES))}, not {rule!r}")
        for index, parameter in enumerate(group["params"]):
            if parameter.ndim != 2:
                raise ValueError(
                    f"[Muon] parameter {index} has shape {list(parameter.shape)}: Muon moves matrices, give others to "
                    "another optimizer"
                )

    def update(self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], group: Group) -> None:
        """Moves one matrix by the formula above."""
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = lm.zeros_like(parameter.detach())
        momentum = group["momentum"]
        gradient = gradient * (momentum - 1.0 if group["maximize"] else 1.0 - momentum)
        velocity = state["momentum_buffer"].mul_(momentum).add_(gradient)
        ahead = velocity * momentum + gradient if group["nesterov"] else velocity
        change = orthogonalize(ahead, group["ns_coefficients"], group["ns_steps"], group["eps"])
        if group["weight_decay"]:
            parameter.mul_(1.0 - group["lr"] * group["weight_decay"])
        rows, columns = parameter.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            factor = 0.2 * math.sqrt(max(rows, columns))
        else:
            factor = math.sqrt(max(1.0, rows / max(columns, 1)))
        parameter.sub_(change * (group["lr"] * factor))
