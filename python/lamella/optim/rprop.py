"""Rprop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import lamella as lm

from .elementwise import Elementwise
from .optimizer import Group, check_number, check_numbers


class Rprop(Elementwise):
    """Steps by the gradient's sign, of sizes that grow while it stays and shrink where it turns.

    With gradient ``g`` (negated where ``maximize``), the one before it ``h`` and parameter ``p``::

        d = d * etas[1]  where g * h > 0,  d * etas[0]  where g * h < 0,  else d       (d = lr before the first step)
        d = min(max(d, step_sizes[0]), step_sizes[1])
        g = 0  where g * h < 0
        p = p - sign(g) * d

    It is for gradients of all data at once: those of batches turn by chance.

    Sources: Riedmiller & Braun 1993, "A direct adaptive method for faster backpropagation learning: the RPROP
    algorithm"; Igel & Huesken 2000, "Improving the Rprop learning algorithm", iRprop-: where a sign turns, there is
    no step and no return.

    Args:
        params: tensors or groups, see :class:`Optimizer`.
        lr: the size of the first steps.
        etas: what sizes are multiplied by where the sign turns, below 1, and where it stays, above 1.
        step_sizes: the smallest and the largest size.
        maximize: climbs instead.
    """

    formula = "rprop_step"
    state_names = ("prev", "step_size")

    def __init__(
        self,
        params: Iterable[lm.Tensor] | Iterable[Group],
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("Rprop", group, "lr")
        for option in ("etas", "step_sizes"):
            if not isinstance(group[option], (tuple, list)) or len(group[option]) != 2:
                raise TypeError(f"[Rprop] {option} are two numbers, not {group[option]!r}")
            for index, value in enumerate(group[option]):
                check_number("Rprop", f"{option}[{index}]", value)
        fall, rise = group["etas"]
        if not 0 < fall < 1 < rise:
            raise ValueError(f"[Rprop] etas are below and above 1, not {group['etas']!r}")
        if group["step_sizes"][0] > group["step_sizes"][1]:
            raise ValueError(f"[Rprop] step_sizes are the smallest and the largest, not {group['step_sizes']!r}")

    def move(
        self,
        parameters: list[lm.Tensor],
        gradients: list[lm.Tensor],
        states: list[dict[str, Any]],
        numbers: Sequence[float],
        group: Group,
    ) -> None:
        """Moves tensors by the formula, which has no penalty: the ``weight_decay`` of a group changes nothing."""
        super().move(parameters, gradients, states, numbers, {**group, "weight_decay": 0.0})

    def first(self, name: str, group: Group) -> float:
        """Returns the size of the first steps."""
        return float(group["lr"]) if name == "step_size" else 0.0

    def numbers(self, counts: dict[str, float], group: Group) -> tuple[float, ...]:
        """Returns the numbers of the formula above."""
        return (*group["etas"], *group["step_sizes"])
