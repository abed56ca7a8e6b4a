"""Division, which OneFlow does in the operands' dtype."""

from __future__ import annotations

from typing import Any

import lamella as lm

__all__ = ["quotient"]


def quotient(x: Any, y: Any) -> Any:
    """Returns ``x / y``; of integers an integer, toward zero as C++ divides."""
    if not all(isinstance(each, lm.Tensor) and lm.isdtype(each.dtype, "integral") for each in (x, y)):
        return lm.divide(x, y)
    below = lm.floor_divide(x, y)
    is_above = lm.logical_and(lm.not_equal(below * y, x), lm.not_equal(lm.less(x, 0), lm.less(y, 0)))
    return lm.astype(below + lm.astype(is_above, below.dtype), x.dtype)
