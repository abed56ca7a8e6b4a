"""Limits of dtypes, and PyTorch's dtypes that no tensor has here, which programs name all the same."""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import lamella as lm

from ._taking_over import DOUBLE


class _Absent:
    """A dtype that no tensor has here: programs compare others with it, and ask for its limits.

    Where a tensor is to be made of it, a ``TypeError`` names it.
    """

    itemsize = 1
    is_floating_point = False
    is_complex = False
    is_signed = True

    def __repr__(self) -> str:
        return f"torch.{type(self).__name__}"

    def __reduce__(self) -> str:
        return type(self).__name__


class _Float8(NamedTuple):
    """Limits of a number of 8 bits: digits behind the point, the largest, and the smallest exponent."""

    digits: int
    largest: float
    exponent: int


#: Numbers of 8 bits: of P. Micikevicius et al., "FP8 Formats for Deep Learning", 2022, and those whose only zero is
#: positive, of B. Noune et al., "8-bit Numerical Formats for Deep Neural Networks", 2022.
_FLOATS = {
    "float8_e4m3fn": _Float8(3, 448.0, -6),
    "float8_e4m3fnuz": _Float8(3, 240.0, -7),
    "float8_e5m2": _Float8(2, 57344.0, -14),
    "float8_e5m2fnuz": _Float8(2, 57344.0, -15),
}


def _absent(name: str, **attributes: Any) -> Any:
    return type(name, (_Absent,), {"__module__": "torch", **attributes})()


#: By name, the dtypes that no tensor has.
ABSENT: dict[str, Any] = {
    **{name: _absent(name, is_floating_point=True) for name in _FLOATS},
    **{name: _absent(name, itemsize=4 if name == "qint32" else 1) for name in ("qint8", "qint32")},
    **{name: _absent(name, is_signed=False) for name in ("quint8", "quint4x2", "quint2x4")},
    **{f"int{bits}": _absent(f"int{bits}") for bits in range(1, 8)},
    **{f"uint{bits}": _absent(f"uint{bits}", is_signed=False) for bits in range(1, 8)},
    "complex32": _absent("complex32", is_complex=True, itemsize=4),
}
ABSENT["chalf"] = ABSENT["complex32"]


#: The limits that were asked for, by dtype.
_found: dict[Any, finfo] = {}


class finfo:  # noqa: N801 (PyTorch's name)
    """Limits of a floating or complex dtype.

    Attributes:
        bits: bits of a number, or of one part of a complex one.
        eps: the distance from 1 to the next larger number.
        max: the largest finite number.
        min: the lowest finite number.
        tiny, smallest_normal: the smallest positive number that has all its digits.
        resolution: the power of ten behind the last decimal digit that is sure.
        dtype: the dtype's name.

    Raises:
        TypeError: the dtype has no such limits.
    """

    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    resolution: float
    dtype: str

    def __new__(cls, type: Any = None) -> finfo:
        """Returns the limits of a dtype, by default that of numbers that are given none."""
        if type is None:
            type = sys.modules["torch"].get_default_dtype()
        type = DOUBLE.get(type, getattr(type, "dtype", type))
        if type in _found:
            return _found[type]
        self = super().__new__(cls)
        if isinstance(type, _Absent):
            found = _FLOATS.get(repr(type).removeprefix("torch."))
            if found is None:
                raise TypeError(f"[finfo] {type!r} is no floating dtype")
            self.bits, self.eps, self.max = 8, 2.0**-found.digits, found.largest
            self.tiny, self.dtype = 2.0**found.exponent, repr(type).removeprefix("torch.")
        else:
            limits = lm.finfo(type)
            self.bits, self.eps, self.max = limits.bits, limits.eps, limits.max
            self.tiny, self.dtype = limits.smallest_normal, limits.dtype.name
        self.min, self.smallest_normal = -self.max, self.tiny
        self.resolution = 10.0 ** -math.floor(-math.log10(self.eps))
        _found[type] = self
        return self

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):g}' for name in names)}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class iinfo:  # noqa: N801 (PyTorch's name)
    """Limits of an integer dtype.

    Attributes:
        bits: bits of a number.
        max: the largest number.
        min: the lowest number.
        dtype: the dtype's name.

    Raises:
        TypeError: the dtype is none of integers.
    """

    def __init__(self, type: Any) -> None:
        limits = lm.iinfo(type)
        self.bits, self.max, self.min, self.dtype = limits.bits, limits.max, limits.min, limits.dtype.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)
