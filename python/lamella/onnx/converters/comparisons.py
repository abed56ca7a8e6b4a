"""Comparisons, logic and bits."""

from __future__ import annotations

import math
import operator
from typing import Any

import lamella as lm

from .._builder import Value, beyond, cast, dtype_promote, op, result_type
from .._registry import builtin
from ._pointwise import is_bool, is_float, isinf, isnan, nonzero, pointwise
from .arithmetic import floor_divide
from .creation import full
from .reductions import all_of

_OF_NUMBERS = {
    "Equal": operator.eq,
    "Less": operator.lt,
    "LessOrEqual": operator.le,
    "Greater": operator.gt,
    "GreaterOrEqual": operator.ge,
}


def compared(name: str, a: Any, b: Any) -> Value:
    """Returns a comparison in the common dtype; bools are ordered as 0 and 1."""
    dtype = result_type(a, b)
    left, right = beyond(a, dtype), beyond(b, dtype)
    if left or right:
        x = b if left else a
        shape = op("Shape", x) if -1 in x.shape else list(x.shape)
        return full(shape, _OF_NUMBERS[name](left, right), lm.bool)
    a, b = cast(a, dtype), cast(b, dtype)
    if is_bool(a) and name != "Equal":
        a, b = cast(a, lm.int32), cast(b, lm.int32)
    return op(name, a, b)


def _comparison(name: str, target: str) -> None:
    @builtin(name)
    def convert(a: Any, b: Any) -> Value:
        return compared(target, a, b)


for _name, _target in {
    "equal": "Equal",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
}.items():
    _comparison(_name, _target)


@builtin("not_equal")
def not_equal(a: Any, b: Any) -> Value:
    """Where two differ."""
    return ~compared("Equal", a, b)


@builtin("isnan")
def convert_isnan(x: Value) -> Value:
    """Where a value is not a number."""
    return isnan(x)


@builtin("isinf")
def convert_isinf(x: Value) -> Value:
    """Where a value is infinite."""
    return isinf(x)


@builtin("isposinf")
def isposinf(x: Value) -> Value:
    """Where a value is infinite and positive."""
    return isinf(x, detect_negative=0)


@builtin("isneginf")
def isneginf(x: Value) -> Value:
    """Where a value is infinite and negative."""
    return isinf(x, detect_positive=0)


@builtin("isfinite")
def isfinite(x: Value) -> Value:
    """Where a value is a finite number."""
    return ~op("Or", isnan(x), isinf(x)) if is_float(x) else x.eq(x)


@builtin("isreal")
def isreal(x: Value) -> Value:
    """True: there are no complex numbers here."""
    return op("Or", x.eq(x), isnan(x))


@builtin("isclose")
def isclose(a: Any, b: Any, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Value:
    """Where ``|a - b| <= atol + rtol * |b|``."""
    dtype = result_type(a, b)
    dtype = dtype if "float" in dtype.name else lm.float64
    a, b = cast(a, dtype), cast(b, dtype)
    near = abs(a - b) <= abs(b) * rtol + atol
    same = op("Or", a.eq(b), op("And", near, ~isinf(b)))
    return op("Or", same, op("And", isnan(a), isnan(b))) if equal_nan else same


@builtin("allclose")
def allclose(a: Any, b: Any, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Value:
    """True if all are close."""
    close = isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return all_of(close, None)


def _logic(name: str, target: str) -> None:
    @builtin(name)
    def convert(a: Any, b: Any) -> Value:
        return op(target, *(nonzero(x) if isinstance(x, Value) else cast(bool(x), lm.bool) for x in (a, b)))


for _name, _target in {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}.items():
    _logic(_name, _target)


@builtin("logical_not")
def logical_not(x: Value) -> Value:
    """Where a value is 0."""
    return ~nonzero(x)


def _bits(name: str, of_bools: str, of_ints: str) -> None:
    @pointwise(name)
    def convert(a: Any, b: Any) -> Value:
        return op(of_bools if is_bool(a if isinstance(a, Value) else b) else of_ints, a, b)


_bits("bitwise_and", "And", "BitwiseAnd")
_bits("bitwise_or", "Or", "BitwiseOr")
_bits("bitwise_xor", "Xor", "BitwiseXor")


@pointwise("bitwise_invert")
def bitwise_invert(x: Value) -> Value:
    """The opposite bits: of signed numbers, ``-x - 1``."""
    if is_bool(x):
        return ~x
    return op("BitwiseNot", x) if x.dtype.name.startswith("u") else -x - 1


def _power_of_two(shift: Any, like: Value) -> Value:
    return op("Pow", cast(2, like.dtype), cast(shift, like.dtype))


@pointwise("bitwise_left_shift")
def bitwise_left_shift(a: Any, b: Any) -> Value:
    """Moves bits up: of signed numbers, a product."""
    a, b = dtype_promote(a, b, target_dtype=result_type(a, b))
    return op("BitShift", a, b, direction="LEFT") if a.dtype.name.startswith("u") else a * _power_of_two(b, a)


@pointwise("bitwise_right_shift")
def bitwise_right_shift(a: Any, b: Any) -> Value:
    """Moves bits down: of signed numbers, a quotient that is rounded down."""
    a, b = dtype_promote(a, b, target_dtype=result_type(a, b))
    if a.dtype.name.startswith("u"):
        return op("BitShift", a, b, direction="RIGHT")
    return floor_divide(a, _power_of_two(b, a))


@pointwise("sinc")
def sinc(x: Value) -> Value:
    """``sin(pi x) / (pi x)``, exactly 0 for whole numbers but 0."""
    scaled = x * math.pi
    whole = op("And", op("Floor", x).eq(x), ~x.eq(0.0))
    safe = op("Where", x.eq(0.0), cast(1.0, x.dtype), scaled)
    value = op("Where", x.eq(0.0), cast(1.0, x.dtype), op("Sin", safe) / safe)
    return op("Where", whole, x * 0.0, value)
