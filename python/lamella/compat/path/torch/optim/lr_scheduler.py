"""Learning rates that change with time."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.optim import LRScheduler, StepLR  # noqa: F401

_LRScheduler = LRScheduler


class CosineAnnealingLR(lm.optim.CosineAnnealingLR):
    """Half a cosine down to ``eta_min`` in ``T_max`` epochs."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0) -> None:  # noqa: N803 (PyTorch's name)
        super().__init__(optimizer, T_max, eta_min)


__getattr__ = close_module(__name__)
