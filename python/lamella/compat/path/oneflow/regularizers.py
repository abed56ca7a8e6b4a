"""Terms that are added to the gradients of variables."""

from __future__ import annotations

from typing import NamedTuple

import lamella as lm
from lamella.compat.front import close_module

__getattr__ = close_module(__name__)


class Regularizer(NamedTuple):
    """Factors of the absolute value and of half the square of a variable in the loss."""

    l1: float
    l2: float

    def added(self, variable: lm.Tensor, gradient: lm.Tensor) -> lm.Tensor:
        """Returns the gradient with the term's own added."""
        if self.l1:
            gradient = gradient + self.l1 * lm.sign(variable)
        return gradient + self.l2 * variable if self.l2 else gradient


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> Regularizer:
    """Returns the term whose gradient is ``l1 * sign(w) + l2 * w``."""
    return Regularizer(l1, l2)


def l1(l: float = 0.01) -> Regularizer:  # noqa: E741 (the dialect's name)
    """Returns the term whose gradient is ``l * sign(w)``."""
    return Regularizer(l, 0.0)


def l2(l: float = 0.01) -> Regularizer:  # noqa: E741
    """Returns the term whose gradient is ``l * w``."""
    return Regularizer(0.0, l)
