"""Bounds and examples of the sizes that only a run of a graph determines."""

from __future__ import annotations

import math
import operator
from typing import NamedTuple


class Known(NamedTuple):
    """The numbers that a size is between, both included, and one that it may be."""

    low: float = 0
    high: float = math.inf
    example: int | None = None

    def decides(self, name: str, other: Known) -> bool | None:
        """Returns whether a size compares so with another one, by the operator's name; None where runs may differ."""
        if self.high < other.low:
            return name in ("lt", "le", "ne")
        if self.low > other.high:
            return name in ("gt", "ge", "ne")
        if self.low == self.high == other.low == other.high:
            return name in ("le", "ge", "eq")
        if name in ("le", "gt") and self.high <= other.low:
            return name == "le"
        if name in ("ge", "lt") and self.low >= other.high:
            return name == "ge"
        return None


#: What is known of a number that a program computes.
ANY = Known(-math.inf)


def combined(name: str, a: Known, b: Known) -> Known:
    """Returns what is known of a sum, difference, product, quotient or remainder, by the operator's name."""
    example = None
    if a.example is not None and b.example is not None and (b.example or name not in ("floordiv", "mod")):
        example = getattr(operator, name)(a.example, b.example)
    low, high = -math.inf, math.inf
    if name == "add":
        low, high = a.low + b.low, a.high + b.high
    elif name == "sub":
        low, high = a.low - b.high, a.high - b.low
    elif name == "mul" and a.low >= 0 and b.low >= 0:
        low, high = a.low * b.low, a.high * b.high
    elif name == "floordiv" and a.low >= 0 and b.low >= 1:
        low, high = 0, a.high if math.isinf(a.high) else a.high // b.low
        if b.low == b.high:
            low = a.low // b.low
    elif name == "mod" and b.low >= 1:
        low, high = 0, b.high - 1
    # Infinity times 0 is no number.
    return Known(-math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high, example)
