"""Schedules along a cosine."""

from __future__ import annotations

import math

from ..optimizer import Optimizer
from .scheduler import LRScheduler, check_count


def annealed(start: float, end: float, part: float) -> float:
    """Returns the number at ``part`` of the way from ``start`` to ``end`` along half a cosine."""
    return end + (start - end) * (1.0 + math.cos(math.pi * part)) / 2.0


class CosineAnnealingLR(LRScheduler):
    """Lets the rate fall along half a cosine to ``eta_min`` in ``t_max`` epochs, and keeps it there.

    Source: Loshchilov & Hutter 2017, "SGDR: stochastic gradient descent with warm restarts", equation 5, without
    restarts.

    Args:
        optimizer: its groups get the rates.
        t_max: how many epochs the rate falls.
        eta_min: the rate that it falls to.
    """

    def __init__(self, optimizer: Optimizer, t_max: int, eta_min: float = 0.0) -> None:
        check_count("CosineAnnealingLR", "t_max", t_max)
        super().__init__(optimizer)
        self.t_max = t_max
        self.eta_min = eta_min

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``eta_min + (base - eta_min) * (1 + cos(pi * epoch / t_max)) / 2``."""
        return annealed(base, self.eta_min, min(epoch / self.t_max, 1.0))


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lets the rate fall along half a cosine to ``eta_min``, again and again, in spans that grow.

    Source: Loshchilov & Hutter 2017, "SGDR: stochastic gradient descent with warm restarts", equation 5.

    Args:
        optimizer: its groups get the rates.
        t_0: how many epochs the first span has.
        t_mult: how many times as long each span is as the one before.
        eta_min: the rate that each span falls to.
    """

    def __init__(self, optimizer: Optimizer, t_0: int, t_mult: int = 1, eta_min: float = 0.0) -> None:
        check_count("CosineAnnealingWarmRestarts", "t_0", t_0)
        check_count("CosineAnnealingWarmRestarts", "t_mult", t_mult)
        super().__init__(optimizer)
        self.t_0 = t_0
        self.t_mult = t_mult
        self.eta_min = eta_min
        self.begin()

    def _place(self, epoch: int) -> tuple[int, int]:
        """Returns the epoch within its span, from 0, and the length of the span."""
        length = self.t_0
        if self.t_mult == 1:
            epoch %= length
        while epoch >= length:
            epoch -= length
            length *= self.t_mult
        return epoch, length

    def rate(self, base: float, epoch: int) -> float:
        """Returns ``eta_min + (base - eta_min) * (1 + cos(pi * n / length)) / 2`` in epoch ``n`` of a span."""
        n, length = self._place(epoch)
        return annealed(base, self.eta_min, n / length)
