"""Steps of optimizers on global tensors: element by element, on every process's parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamella._C import Tensor, _optimizer_step
from lamella.optim._steps import register_step

from .global_tensor import GlobalTensor
from .redistribute import redistribute


def _parts(tensors: Sequence[Tensor], like: Sequence[Any]) -> list[Tensor]:
    """Returns this process's parts of tensors, as those that they belong to are cut."""
    found = []
    for x, whole in zip(tensors, like, strict=True):
        if not isinstance(x, GlobalTensor):
            raise RuntimeError("[optim] a global tensor's gradient or state is not global: make the optimizer anew")
        found.append(redistribute(x._local, x.shape, whole._placement, x._sbp, whole._sbp))
    return found


def step(
    formula: int,
    parameters: Sequence[Any],
    gradients: Sequence[Tensor],
    states: Sequence[Sequence[Tensor] | None],
    *rest: Any,
) -> None:
    """Moves global tensors by a formula: each process its own parts."""
    slots = [slot if slot is None else _parts(slot, parameters) for slot in states]
    own = [x._local for x in parameters]
    _optimizer_step(formula, own, _parts(gradients, parameters), slots, *rest)


register_step(GlobalTensor, step)
