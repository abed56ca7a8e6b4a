"""Steps of optimizers on global tensors: element by element, on every process's parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamella import _C
from lamella._C import Tensor
from lamella.optim import elementwise, sgd, swa_utils

from .global_tensor import GlobalTensor
from .redistribute import redistribute


def _parts(tensors: Sequence[Tensor], like: Sequence[Tensor]) -> list[Tensor]:
    """Returns this process's parts of tensors, as those that they belong to are cut."""
    found = []
    for x, whole in zip(tensors, like, strict=True):
        if not isinstance(whole, GlobalTensor):
            found.append(x)
        elif isinstance(x, GlobalTensor):
            found.append(redistribute(x._local, x.shape, whole._placement, x._sbp, whole._sbp))
        else:
            raise RuntimeError("[optim] a global tensor's gradient or state is not global: make the optimizer anew")
    return found


def _step(formula: Any, parameters: Any, gradients: Any, slots: Any, *rest: Any) -> Any:
    """Moves tensors by a formula; of global ones the parts, of which each process moves its own."""
    if any(isinstance(x, GlobalTensor) for x in parameters):
        slots = [slot if slot is None else _parts(slot, parameters) for slot in slots]
        gradients = _parts(gradients, parameters)
        parameters = _parts(parameters, parameters)
    return _C._optimizer_step(formula, parameters, gradients, slots, *rest)


def install() -> None:
    """Has the optimizers take global tensors: while this package is not imported, they call the kernel itself."""
    for module in (elementwise, sgd, swa_utils):
        module._optimizer_step = _step  # type: ignore[attr-defined]
