"""Arithmetic, roundings and elementary functions."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm

from .._builder import Value, beyond, cast, op, where
from .._registry import builtin
from ._pointwise import direct, expm1, is_bool, is_float, isinf, isnan, log1p, nonzero, pointwise, trunc

direct(
    {
        "negative": "Neg",
        "abs": "Abs",
        "reciprocal": "Reciprocal",
        "sqrt": "Sqrt",
        "exp": "Exp",
        "log": "Log",
        "erf": "Erf",
        "sin": "Sin",
        "cos": "Cos",
        "tan": "Tan",
        "asin": "Asin",
        "acos": "Acos",
        "atan": "Atan",
        "sinh": "Sinh",
        "cosh": "Cosh",
        "asinh": "Asinh",
        "acosh": "Acosh",
        "atanh": "Atanh",
        "tanh": "Tanh",
        "sigmoid": "Sigmoid",
        "divide": "Div",
        "subtract": "Sub",
    }
)

_LN2, _LN10 = math.log(2.0), math.log(10.0)


def _scaled(x: Any, factor: Any) -> Any:
    """Returns a product, without a node where the factor is 1."""
    return x if not isinstance(factor, Value) and factor == 1 else x * factor


@pointwise("add")
def add(a: Any, b: Any) -> Value:
    """Adds; the sum of bools is true where one is."""
    return op("Or" if _bools(a, b) else "Add", a, b)


@pointwise("multiply")
def multiply(a: Any, b: Any) -> Value:
    """Multiplies; the product of bools is true where both are."""
    return op("And" if _bools(a, b) else "Mul", a, b)


def _bools(a: Any, b: Any) -> bool:
    return is_bool(a if isinstance(a, Value) else b)


@pointwise("positive", "conj", "clone", "contiguous")
def same(x: Value) -> Value:
    """Returns the value itself."""
    return op("Identity", x)


@builtin("cast", "astype")
def convert_cast(x: Value, dtype: Any, meta_outputs: Any = None) -> Value:
    """Returns the value in another dtype."""
    return cast(x, meta_outputs.dtype)


@builtin("to_device")
def to_device(x: Value, device: Any = None) -> Value:
    """Returns the value itself: an ONNX model knows no devices."""
    return x


@pointwise("sign")
def sign(x: Value) -> Value:
    """-1, 0 or 1; of bools themselves."""
    return x if is_bool(x) else op("Sign", x)


@pointwise("square")
def square(x: Value) -> Value:
    """Multiplies the value by itself."""
    return x * x


@pointwise("addcmul")
def addcmul(x: Any, a: Any, b: Any, value: Any = 1) -> Value:
    """``x + value * a * b``."""
    return op("Add", x, _scaled(op("Mul", a, b), value))


@pointwise("addcdiv")
def addcdiv(x: Any, a: Any, b: Any, value: Any = 1) -> Value:
    """``x + value * a / b``."""
    return op("Add", x, op("Div", _scaled(a, value), b))


@pointwise("lerp")
def lerp(a: Any, b: Any, c: Any) -> Value:
    """``a + c * (b - a)``."""
    return op("Add", a, op("Mul", c, op("Sub", b, a)))


@pointwise("squared_difference")
def squared_difference(a: Any, b: Any) -> Value:
    """``(a - b) ** 2``."""
    return square(op("Sub", a, b))


@pointwise("floor")
def floor(x: Value) -> Value:
    """Rounds down."""
    return op("Floor", x) if is_float(x) else x


@pointwise("ceil")
def ceil(x: Value) -> Value:
    """Rounds up."""
    return op("Ceil", x) if is_float(x) else x


pointwise("trunc")(trunc)


@pointwise("round")
def round_(x: Value, decimals: int = 0) -> Value:
    """Rounds to the nearest, halves to even."""
    if not is_float(x):
        if decimals < 0:
            raise NotImplementedError("[round] ONNX rounds floating-point numbers only")
        return x
    return op("Round", x * 10.0**decimals) / 10.0**decimals if decimals else op("Round", x)


@pointwise("frac")
def frac(x: Value) -> Value:
    """The part behind the point."""
    return x - trunc(x)


def float_remainder(a: Value, b: Value) -> Value:
    """The remainder with the sign of the divisor, of floating-point numbers."""
    rest = op("Mod", a, b, fmod=1)
    wrong = op("And", ~rest.eq(0.0), op("Xor", rest < 0.0, b < 0.0))
    return op("Where", wrong, rest + b, rest)


def _pair(a: Any, b: Any) -> tuple[Value, Value]:
    dtype = a.dtype if isinstance(a, Value) else b.dtype
    return cast(a, dtype), cast(b, dtype)


@pointwise("remainder")
def remainder(a: Any, b: Any) -> Value:
    """The remainder with the sign of the divisor."""
    a, b = _pair(a, b)
    return float_remainder(a, b) if is_float(a) else op("Mod", a, b)


@pointwise("fmod")
def fmod(a: Any, b: Any) -> Value:
    """The remainder with the sign of the dividend."""
    a, b = _pair(a, b)
    return op("Mod", a, b, fmod=1)


@pointwise("floor_divide")
def floor_divide(a: Any, b: Any) -> Value:
    """The quotient, rounded down."""
    a, b = _pair(a, b)
    if not is_float(a):
        return (a - op("Mod", a, b)) / b
    return op("Where", b.eq(0.0), a / b, op("Round", (a - float_remainder(a, b)) / b))


@pointwise("pow", "float_power")
def power(a: Any, b: Any) -> Value:
    """``a`` to the power of ``b``."""
    if not isinstance(b, Value) and b == 2:
        return square(a)
    return op("Pow", *_pair(a, b))


@pointwise("ldexp")
def ldexp(x: Value, exponent: Value) -> Value:
    """``x * 2 ** exponent``."""
    return x * op("Pow", cast(2.0, x.dtype), exponent)


@pointwise("exp2")
def exp2(x: Value) -> Value:
    """``2 ** x``."""
    return op("Pow", cast(2.0, x.dtype), x)


pointwise("expm1")(expm1)
pointwise("log1p")(log1p)


@pointwise("log2")
def log2(x: Value) -> Value:
    """The logarithm to base 2."""
    return op("Log", x) / _LN2


@pointwise("log10")
def log10(x: Value) -> Value:
    """The logarithm to base 10."""
    return op("Log", x) / _LN10


@pointwise("rsqrt")
def rsqrt(x: Value) -> Value:
    """``1 / sqrt(x)``."""
    return op("Reciprocal", op("Sqrt", x))


@pointwise("deg2rad")
def deg2rad(x: Value) -> Value:
    """Degrees in radians."""
    return x * (math.pi / 180.0)


@pointwise("rad2deg")
def rad2deg(x: Value) -> Value:
    """Radians in degrees."""
    return x * (180.0 / math.pi)


@pointwise("atan2")
def atan2(a: Any, b: Any) -> Value:
    """The angle of the point (b, a)."""
    a, b = _pair(a, b)
    both_zero = op("And", a.eq(0.0), b.eq(0.0))
    both_infinite = op("And", isinf(a), isinf(b))
    ratio = op("Where", both_infinite, op("Sign", a) * op("Sign", b), a / where(both_zero, 1.0, b))
    angle = op("Atan", ratio)
    behind = signbit_of(b)
    angle = op("Where", op("And", both_zero, behind), -angle, angle)  # of a / 1 in place of a / -0
    return op("Where", behind, angle + where(signbit_of(a), cast(-math.pi, a.dtype), math.pi), angle)


@pointwise("hypot")
def hypot(a: Any, b: Any) -> Value:
    """``sqrt(a * a + b * b)``, without overflow."""
    a, b = _pair(a, b)
    large, small = op("Max", abs(a), abs(b)), op("Min", abs(a), abs(b))
    ratio = small / where(large.eq(0.0), 1.0, large)
    return large * op("Sqrt", ratio * ratio + 1.0)


def signbit_of(x: Value) -> Value:
    """Returns where numbers are negative, -0 among them."""
    if is_bool(x):
        return x & ~x
    if not is_float(x):
        return x < 0
    return op("Or", x < 0.0, op("And", x.eq(0.0), op("Reciprocal", x) < 0.0))


@builtin("signbit")
def signbit(x: Value) -> Value:
    """Where numbers are negative, -0 among them."""
    return signbit_of(x)


@pointwise("copysign")
def copysign(a: Any, b: Any) -> Value:
    """The size of ``a`` with the sign of ``b``."""
    a, b = _pair(a, b)
    return op("Where", signbit_of(b), -abs(a), abs(a))


@pointwise("angle")
def angle(x: Value) -> Value:
    """Pi for negative numbers."""
    return op("Where", isnan(x), x, where(x < 0.0, cast(math.pi, x.dtype), 0.0))


def _extremum(a: Any, b: Any, name: str, of_bools: str) -> Value:
    a, b = _pair(a, b)
    return op(of_bools if is_bool(a) else name, a, b)


def maximum_of(a: Any, b: Any) -> Value:
    """Returns the larger of two."""
    return _extremum(a, b, "Max", "Or")


def minimum_of(a: Any, b: Any) -> Value:
    """Returns the smaller of two."""
    return _extremum(a, b, "Min", "And")


pointwise("maximum")(maximum_of)
pointwise("minimum")(minimum_of)


@pointwise("fmax")
def fmax(a: Any, b: Any) -> Value:
    """The larger of two, and a number rather than NaN."""
    a, b = _pair(a, b)
    larger = maximum_of(a, b)
    return op("Where", isnan(a), b, op("Where", isnan(b), a, larger)) if is_float(a) else larger


@pointwise("fmin")
def fmin(a: Any, b: Any) -> Value:
    """The smaller of two, and a number rather than NaN."""
    a, b = _pair(a, b)
    smaller = minimum_of(a, b)
    return op("Where", isnan(a), b, op("Where", isnan(b), a, smaller)) if is_float(a) else smaller


@pointwise("clip_between", "hardtanh")
def clip_between(x: Any, low: Any = -1.0, high: Any = 1.0) -> Value:
    """The value, and the bounds where it is beyond them."""
    return minimum_of(maximum_of(x, low), high)


@pointwise("clip")
def clip(x: Value, min: Any = None, max: Any = None) -> Value:
    """The value, and the bounds where it is beyond them."""
    low = x if min is None or beyond(min, x.dtype) < 0 else maximum_of(x, min)
    return low if max is None or beyond(max, x.dtype) > 0 else minimum_of(low, max)


@pointwise("heaviside")
def heaviside(a: Any, b: Any) -> Value:
    """0 below 0, 1 above, ``b`` at 0."""
    a, b = _pair(a, b)
    if is_bool(a):
        return a | b
    step = op("Where", isnan(a), a, cast(a > 0, a.dtype))
    return op("Where", a.eq(0), b, step)


def _chosen(condition: Any) -> Value:
    return nonzero(condition) if isinstance(condition, Value) else cast(bool(condition), lm.bool)


@builtin("where")
def convert_where(condition: Any, a: Any, b: Any, meta_outputs: Any = None) -> Value:
    """``a`` where the condition holds, else ``b``."""
    return where(_chosen(condition), cast(a, meta_outputs.dtype), cast(b, meta_outputs.dtype))


@builtin("masked_scale")
def convert_masked_scale(condition: Any, x: Any, scale: Any, meta_outputs: Any = None) -> Value:
    """``scale * x`` where the condition holds, else 0."""
    dtype = meta_outputs.dtype
    return where(_chosen(condition), op("Mul", cast(x, dtype), cast(scale, dtype)), cast(0, dtype))


@pointwise("threshold")
def threshold(x: Any, threshold: Any, value: Any) -> Value:
    """``value`` where ``x`` is not above the threshold."""
    x, limit = _pair(x, threshold)
    return where(op("LessOrEqual", x, limit), value, x)


@pointwise("replace_nonfinite")
def replace_nonfinite(x: Any, nan: Any, largest: Any) -> Value:
    """Numbers for NaN and for the infinities."""
    x, largest = _pair(x, largest)
    finite = op("Where", isinf(x), op("Where", x < 0.0, -largest, largest), x) if is_float(x) else x
    return where(isnan(x), nan, finite)


@pointwise("nan_to_num")
def nan_to_num(x: Value, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Value:
    """Numbers for NaN and for the infinities."""
    if not is_float(x):
        return x
    limits = lm.finfo(x.dtype)
    top = limits.max if posinf is None else posinf
    bottom = limits.min if neginf is None else neginf
    ends = where(x < 0.0, cast(float(bottom), x.dtype), float(top))
    return where(isnan(x), float(nan), op("Where", isinf(x), ends, x))


# Writing in place


def _writing(name: str, target: str) -> None:
    @builtin(name)
    def convert(x: Value, other: Any) -> Value:
        return op(target, x, cast(other, x.dtype))


for _name, _target in {"add_": "Add", "sub_": "Sub", "mul_": "Mul", "div_": "Div"}.items():
    _writing(_name, _target)


def filled(x: Value, value: Any) -> Value:
    """Returns a value in the shape and dtype of another."""
    return op("Expand", cast(value, x.dtype), op("Shape", x) if -1 in x.shape else list(x.shape))


@builtin("copy_", "fill_")
def copy_(x: Value, value: Any) -> Value:
    """The new contents, in the old shape."""
    return filled(x, value)


@builtin("zero_")
def zero_(x: Value) -> Value:
    """Zeros."""
    return filled(x, 0)


@builtin("masked_fill", "masked_fill_")
def masked_fill(x: Value, mask: Value, value: Any) -> Value:
    """``value`` where the mask is true."""
    return where(mask, cast(value, x.dtype), x)


@pointwise("logaddexp")
def logaddexp(a: Any, b: Any) -> Value:
    """``log(exp(a) + exp(b))``."""
    a, b = _pair(a, b)
    return op("Where", a.eq(b), a + _LN2, op("Max", a, b) + log1p(op("Exp", -abs(a - b))))


@pointwise("logaddexp2")
def logaddexp2(a: Any, b: Any) -> Value:
    """``log2(2 ** a + 2 ** b)``."""
    a, b = _pair(a, b)
    rest = log1p(op("Exp", -abs(a - b) * _LN2)) / _LN2
    return op("Where", a.eq(b), a + 1.0, op("Max", a, b) + rest)
