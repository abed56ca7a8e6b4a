"""Limits of dtypes."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm


class finfo:  # noqa: N801 (Paddle's name)
    """Limits of a floating-point dtype.

    Attributes:
        bits: bits of a number.
        eps: the step from 1 to the next number.
        min: the lowest number.
        max: the largest number.
        tiny: the smallest number above 0 with all its digits.
        smallest_normal: another name of ``tiny``.
        resolution: a power of 10 by which numbers can be told from each other.
        dtype: the dtype's name.
    """

    def __init__(self, dtype: Any) -> None:
        limits = lm.finfo(dtype)
        self.bits, self.eps, self.min, self.max = limits.bits, limits.eps, limits.min, limits.max
        self.tiny = self.smallest_normal = limits.smallest_normal
        self.resolution = 10.0 ** math.ceil(math.log10(limits.eps))
        self.dtype = limits.dtype.name

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"paddle.finfo({listed})"


class iinfo:  # noqa: N801 (Paddle's name)
    """Limits of an integer dtype: its ``bits``, ``min`` and ``max``, and the name of the ``dtype``."""

    def __init__(self, dtype: Any) -> None:
        limits = lm.iinfo(dtype)
        self.min, self.max, self.bits, self.dtype = limits.min, limits.max, limits.bits, limits.dtype.name

    def __repr__(self) -> str:
        return f"paddle.iinfo(min={self.min}, max={self.max}, bits={self.bits}, dtype={self.dtype})"
