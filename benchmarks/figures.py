"""Medians, quartiles and ratios."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Spread(NamedTuple):
    """The middle half of some figures."""

    lower: float
    median: float
    upper: float


def spread(figures: Sequence[float]) -> Spread:
    """Quartiles, interpolated between the figures (so one figure is its own quartiles)."""
    if not figures:
        raise ValueError("spread of no figures")
    if len(figures) == 1:
        return Spread(figures[0], figures[0], figures[0])
    return Spread(*statistics.quantiles(figures, n=4, method="inclusive"))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Round by round, so that what slows a whole round down, slows both."""
    return [a / b for a, b in zip(ours, theirs, strict=True)]
