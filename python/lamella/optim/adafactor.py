"""Adafactor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lamella as lm

from .optimizer import Group, Optimizer, check_number, check_numbers


class Adafactor(Optimizer):
    """Adaptive steps that remember of a matrix one number for each row and each column.

    With gradient ``g`` (negated where ``maximize``), parameter ``p``, step number ``t`` from 1 and
    ``rms(x) = sqrt(mean(x * x))``::

        b = t ** beta2_decay
        a = max(eps[1], rms(p)) * min(lr, 1 / sqrt(t))
        p = p - lr * weight_decay * p
        r = (1 - b) * r + b * mean(g * g, axis=-1)
        c = (1 - b) * c + b * mean(g * g, axis=-2)
        v = r * c / max(mean(r, axis=-2), eps[0])     (v = (1 - b) * v + b * g * g  where p has fewer than two axes)
        u = g / sqrt(max(v, eps[0] ** 2))
        p = p - a / max(1, rms(u) / d) * u

    Source: Shazeer & Stern 2018, "Adafactor: adaptive learning rates with sublinear memory cost", algorithms 4 and 5;
    ``eps[0]`` bounds where theirs is added, as in PyTorch.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the largest learning rate, relative to the size of a parameter.
        beta2_decay: the power, at most 0, by which a new gradient counts less in the means.
        eps: the smallest mean of squares, by default the epsilon of the parameter's dtype, and the smallest size.
        d: the largest ``rms`` of a step before the rate.
        weight_decay: the factor of the decay of the weights themselves.
        maximize: climbs instead.
    """

    needs_whole = True

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("Adafactor", group, "lr", "weight_decay")
        check_number("Adafactor", "d", group["d"], open_low=True)
        check_number("Adafactor", "beta2_decay", group["beta2_decay"], low=float("-inf"))
        if group["beta2_decay"] > 0:
            raise ValueError(f"[Adafactor] beta2_decay is at most 0, not {group['beta2_decay']}")
        for index, parameter in enumerate(group["params"]):
            if not lm.isdtype(parameter.dtype, "real floating"):
                kind = parameter.dtype.name
                raise ValueError(f"[Adafactor] parameter {index} is of dtype {kind}, not a real floating one")
        if not isinstance(group["eps"], (tuple, list)) or len(group["eps"]) != 2:
            raise TypeError(f"[Adafactor] eps are a number or None, and a number, not {group['eps']!r}")
        for index, eps in enumerate(group["eps"]):
            if eps is not None or index == 1:
                check_number("Adafactor", f"eps[{index}]", eps)

    def state_shape(self, key: str, parameter: lm.Tensor) -> tuple[int, ...]:
        """Returns the shape of ``row_var``, of ``col_var`` or of ``variance``."""
        shape = tuple(parameter.shape)
        if key == "row_var":
            return (*shape[:-1], 1)
        return (*shape[:-2], 1, *shape[-1:]) if key == "col_var" else shape

    def update(self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], group: Group) -> None:
        """Moves one tensor by the formula above."""
        if parameter.size == 0:
            return
        step = state.get("step", 0) + 1
        low, smallest = group["eps"]
        if low is None:
            low = float(lm.finfo(parameter.dtype).eps)
        if group["maximize"]:
            gradient = -gradient
        new = float(step ** group["beta2_decay"])
        rate = lm.maximum(_rms(parameter), smallest) * min(group["lr"], step**-0.5)
        variance = self._variance(parameter, gradient, state, new, low)
        change = gradient * lm.rsqrt(lm.maximum(variance, low * low))
        change = change * (rate / lm.maximum(_rms(change) / group["d"], 1.0))
        if group["weight_decay"]:
            parameter.mul_(1.0 - group["lr"] * group["weight_decay"])
        parameter.sub_(change)
        state["step"] = step

    def _variance(
        self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], new: float, low: float
    ) -> lm.Tensor:
        """Returns the estimate of the gradient's square, with the new gradient as a part ``new`` of its means."""
        square = gradient * gradient
        if parameter.ndim < 2:
            return self._mean(state, "variance", square, parameter, new)
        rows = self._mean(state, "row_var", lm.mean(square, axis=-1, keepdims=True), parameter, new)
        columns = self._mean(state, "col_var", lm.mean(square, axis=-2, keepdims=True), parameter, new)
        return rows * columns / lm.maximum(lm.mean(rows, axis=-2, keepdims=True), low)

    def _mean(self, state: dict[str, Any], key: str, value: lm.Tensor, parameter: lm.Tensor, new: float) -> lm.Tensor:
        """Moves a running mean towards a value and returns it."""
        if key not in state:
            state[key] = lm.zeros_like(value, dtype=parameter.dtype)
        mean: lm.Tensor = state[key]
        return mean.add_((value - mean) * new)


def _rms(x: lm.Tensor) -> lm.Tensor:
    """Returns the root of the mean of squares, of no axes."""
    return lm.sqrt(lm.mean(x * x))
