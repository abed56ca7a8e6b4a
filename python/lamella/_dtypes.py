"""Limits of the numbers of a dtype, and dtypes for numpy."""

from __future__ import annotations

from typing import NamedTuple

from ._C import DType, Tensor, _float_limits, _integer_limits, bfloat16, float32


class FloatInfo(NamedTuple):
    """Result of :func:`finfo`.

    Args:
        bits: Bits of a number, or of one part of a complex one.
        eps: The distance from 1 to the next larger number.
        max: The largest finite number.
        min: The lowest finite number.
        smallest_normal: The smallest positive number that has all its digits.
        dtype: The dtype; that of the parts for a complex one.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerInfo(NamedTuple):
    """Result of :func:`iinfo`.

    Args:
        bits: Bits of a number.
        max: The largest number.
        min: The lowest number.
        dtype: The dtype.
    """

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: DType | str | Tensor, /) -> FloatInfo:
    """Returns the limits of a floating or complex dtype, or of a tensor's.

    Raises:
        TypeError: For another dtype.
    """
    bits, eps, largest, smallest_normal, dtype = _float_limits(type)
    return FloatInfo(bits, eps, largest, -largest, smallest_normal, dtype)


def iinfo(type: DType | str | Tensor, /) -> IntegerInfo:
    """Returns the limits of an integer dtype, or of a tensor's.

    Raises:
        TypeError: For another dtype.
    """
    bits, lowest, largest, dtype = _integer_limits(type)
    return IntegerInfo(bits, largest, lowest, dtype)


def for_numpy(x: Tensor) -> Tensor:
    """Returns x off the tape, on the CPU and in a dtype of numpy's: bfloat16 as float32, which holds all its values."""
    plain = x.detach().cpu()
    return plain.astype(float32) if plain.dtype == bfloat16 else plain
