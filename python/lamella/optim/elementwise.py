"""Base of the optimizers that move each element by itself, by a formula that has a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import lamella as lm
from lamella._C import _optimizer_formula

from . import _steps
from .optimizer import Group, Optimizer


class Elementwise(Optimizer):
    """Moves all tensors of a group at once by a formula of ``ops/optim/formulas.h``.

    Options that subclasses share: ``weight_decay``, the factor of the L2 penalty or, where ``decoupled``, of the decay
    of the weights themselves; ``maximize``, which climbs instead. The kernel applies both before the formula.
    """

    #: The formula's name.
    formula: ClassVar[str]
    #: Its number, by which steps call it.
    _formula: ClassVar[int]
    #: Names in the state of the tensors that the formula takes, in its order.
    state_names: ClassVar[tuple[str, ...]]
    #: Names in the state of the numbers that :meth:`counted` returns, the step's first.
    counters: ClassVar[tuple[str, ...]] = ("step",)
    #: True if groups have no option ``decoupled`` and the decay is.
    is_decoupled: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "formula" in vars(cls):
            cls._formula = _optimizer_formula(cls.formula)

    def unused(self, group: Group) -> Sequence[str]:
        """Returns the tensors of state that the formula does without under a group's options."""
        return ()

    def first(self, name: str, group: Group) -> float:
        """Returns the number that a tensor of state is filled with before the first step."""
        return 0.0

    def counted(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        """Returns the numbers that are remembered of a tensor as they are after this step: its step, from 1."""
        return {"step": state.get("step", 0) + 1}

    def numbers(self, counts: dict[str, float], group: Group) -> Sequence[float]:
        """Returns the formula's numbers in its order, for tensors whose numbers are ``counts``."""
        raise NotImplementedError(f"[{type(self).__name__}] the optimizer defines no numbers")

    def update_group(
        self, parameters: list[lm.Tensor], gradients: list[lm.Tensor], states: list[dict[str, Any]], group: Group
    ) -> None:
        """Moves the tensors by the formula; those that are at one step together."""
        if len(self.counters) == 1:
            at: list[Any] = [state.get("step", 0) for state in states]
        else:
            at = [tuple(state.get(name, 0) for name in self.counters) for state in states]
        if not at or at.count(at[0]) == len(at):
            self._advance(parameters, gradients, states, group)
            return
        for key in dict.fromkeys(at):
            chosen = [i for i, other in enumerate(at) if other == key]
            self._advance(
                [parameters[i] for i in chosen], [gradients[i] for i in chosen], [states[i] for i in chosen], group
            )

    def _advance(
        self, parameters: list[lm.Tensor], gradients: list[lm.Tensor], states: list[dict[str, Any]], group: Group
    ) -> None:
        """Moves tensors that are at one step."""
        if states:
            counts = self.counted(states[0], group)
            self.move(parameters, gradients, states, self.numbers(counts, group), group)
            for state in states:
                state.update(counts)

    def move(
        self,
        parameters: list[lm.Tensor],
        gradients: list[lm.Tensor],
        states: list[dict[str, Any]],
        numbers: Sequence[float],
        group: Group,
    ) -> None:
        """Moves tensors by the formula with these numbers; state that is not there yet is made."""
        unused = self.unused(group)
        slots: list[list[lm.Tensor] | None] = []
        for name in self.state_names:
            if name in unused:
                slots.append(None)
                continue
            try:
                slots.append([state[name] for state in states])
            except KeyError:
                for parameter, state in zip(parameters, states, strict=True):
                    if name not in state:
                        first: complex = self.first(name, group)
                        if lm.isdtype(parameter.dtype, "complex floating"):
                            first = complex(first, first)  # Their parts move each by itself.
                        state[name] = lm.full_like(parameter.detach(), first)
                slots.append([state[name] for state in states])
        decay = group.get("weight_decay", 0.0)
        decoupled = group.get("decoupled", self.is_decoupled)
        _steps.step(
            self._formula,
            parameters,
            gradients,
            slots,
            numbers,
            0.0 if decoupled else decay,
            1.0 - group["lr"] * decay if decoupled else 1.0,
            group["maximize"],
        )
