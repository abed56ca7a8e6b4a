"""Paddle's penalties of weights."""

from __future__ import annotations

from lamella.compat.front import close_module


class L2Decay:
    """Adds ``coeff`` times the weight to its gradient; an optimizer's ``weight_decay``."""

    def __init__(self, coeff: float = 0.0) -> None:
        self.coeff = float(coeff)


__getattr__ = close_module(__name__)
