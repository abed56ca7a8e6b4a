"""Paddle's penalties of weights."""

from __future__ import annotations

import lamella as lm
from lamella.compat.front import close_module


class L2Decay:
    """Adds ``coeff`` times the weight to its gradient: an optimizer's ``weight_decay``, or a parameter's own."""

    def __init__(self, coeff: float = 0.0) -> None:
        self.coeff = float(coeff)

    def __str__(self) -> str:
        return f"L2Decay, coeff={self.coeff:f}"

    def __call__(self, parameter: lm.Tensor) -> lm.Tensor:
        """Returns what is added to the gradient."""
        return self.coeff * parameter


class L1Decay:
    """Adds ``coeff`` times the sign of the weight to its gradient: a parameter's own penalty."""

    def __init__(self, coeff: float = 0.0) -> None:
        self.coeff = float(coeff)

    def __str__(self) -> str:
        return f"L1Decay, coeff={self.coeff:f}"

    def __call__(self, parameter: lm.Tensor) -> lm.Tensor:
        """Returns what is added to the gradient."""
        return self.coeff * lm.sign(parameter)


__getattr__ = close_module(__name__)
