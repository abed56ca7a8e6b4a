"""Steps of optimizers' formulas: the kernel, or what a kind of tensor brings in its place."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Protocol

from lamella._C import Tensor, _optimizer_step


class Step(Protocol):
    """Moves tensors by a formula of ``ops/optim/formulas.h``, in place and all at once."""

    def __call__(
        self,
        formula: int,
        parameters: Sequence[Tensor],
        gradients: Sequence[Tensor],
        states: Sequence[Sequence[Tensor] | None],
        numbers: Sequence[float],
        weight_decay: float,
        shrink: float,
        maximize: bool,
        /,
    ) -> None:
        """Moves the tensors.

        Args:
            formula: the formula's number.
            parameters: the tensors that move.
            gradients: one for each of them.
            states: for each tensor of state that the formula knows, a list with one for each parameter, or None.
            numbers: the formula's members.
            weight_decay: factor of the L2 penalty.
            shrink: factor of the parameters before the formula.
            maximize: True to climb.
        """


_own: dict[type, Step] = {}

#: What optimizers call, as ``_steps.step``: the kernel itself as long as no kind of tensor has a step of its own.
step: Step = _optimizer_step


def register_step(kind: type[Tensor], function: Step) -> None:
    """Has tensors of a type, and of types derived from it, moved by a function in place of the kernel.

    Where an optimizer moves tensors of several kinds, each function gets its own; it may call the kernel
    (``lamella._C._optimizer_step``) on other tensors.

    Args:
        kind: a subclass of ``Tensor``.
        function: takes the arguments of the kernel, as :class:`Step` says.

    Raises:
        TypeError: ``kind`` is not a subclass of ``Tensor``.
    """
    if not (isinstance(kind, type) and issubclass(kind, Tensor)) or kind is Tensor:
        raise TypeError(f"[register_step] kind is a subclass of Tensor, not {kind!r}")
    global step
    _own[kind] = function
    _step_of.cache_clear()
    step = _dispatched


@functools.cache
def _step_of(kind: type) -> Step:
    """Returns what moves tensors of a type: the nearest base's own step, or the kernel."""
    return next((_own[base] for base in kind.__mro__ if base in _own), _optimizer_step)


def _dispatched(
    formula: int,
    parameters: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[Sequence[Tensor] | None],
    numbers: Sequence[float],
    weight_decay: float,
    shrink: float,
    maximize: bool,
    /,
) -> None:
    rest = numbers, weight_decay, shrink, maximize
    # In the order of the parameters, the same on all processes where steps communicate.
    kinds: list[Any] = list(dict.fromkeys(map(type, parameters)))
    by_kind = {kind: _step_of(kind) for kind in kinds}
    found = list(dict.fromkeys(by_kind.values()))
    if len(found) < 2:
        (found or [_optimizer_step])[0](formula, parameters, gradients, states, *rest)
        return
    for function in found:
        at = [i for i, x in enumerate(parameters) if by_kind[type(x)] is function]
        slots = [slot if slot is None else [slot[i] for i in at] for slot in states]
        function(formula, [parameters[i] for i in at], [gradients[i] for i in at], slots, *rest)
