"""Functions that converters of elementwise operators share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import lamella as lm

from .._builder import Value, cast, current, op
from .._registry import builtin

Function = Callable[..., Value]


def is_float(x: Any) -> bool:
    """True if a value, or anything that has a dtype, holds floating-point numbers."""
    return "float" in x.dtype.name


def is_bool(x: Any) -> bool:
    """True if a value holds bools."""
    return bool(x.dtype.name == "bool")


def pointwise(*names: str) -> Callable[[Function], Function]:
    """Registers the converter of operators that compute in the dtype of their result: it is given values of it."""

    def register(function: Function) -> Function:
        @functools.wraps(function)
        def convert(*args: Any, meta_outputs: Any, **settings: Any) -> Value:
            dtype = meta_outputs.dtype
            values = [cast(x, dtype) if isinstance(x, Value) else x for x in args]
            if not any(isinstance(x, Value) for x in values):
                values[0] = cast(values[0], dtype)
            return function(*values, **settings)

        del convert.__wrapped__  # its signature is another
        builtin(*names)(convert)
        return function

    return register


def direct(names: dict[str, str]) -> None:
    """Registers operators that are one of ONNX's, by name, in the dtype of their result."""
    for name, target in names.items():
        pointwise(name)(functools.partial(op, target))


def trunc(x: Value) -> Value:
    """Returns the whole part of floating-point numbers."""
    return op("Sign", x) * op("Floor", abs(x)) if is_float(x) else x


def expm1(x: Value) -> Value:
    """Returns ``exp(x) - 1``, near 0 without cancellation: ``2 t / (1 - t)`` with ``t = tanh(x / 2)``."""
    t = op("Tanh", x * 0.5)
    return op("Where", abs(x) < 0.5, 2.0 * t / (1.0 - t), op("Exp", x) - 1.0)


def log1p(x: Value) -> Value:
    """Returns ``log(1 + x)``, corrected for what ``1 + x`` was rounded by.

    Source: Kahan, in Higham 2002, "Accuracy and Stability of Numerical Algorithms", section 1.14.1.
    """
    u = x + 1.0
    log = op("Log", u)
    rounded = u - 1.0
    exact = op("Or", rounded.eq(x), rounded.eq(0.0))
    return op("Where", u.eq(1.0), x, op("Where", exact, log, log * (x / rounded)))


def isnan(x: Value) -> Value:
    """Returns where the value is not a number."""
    return op("IsNaN", x) if is_float(x) else ~x.eq(x)


def isinf(x: Value, **signs: Any) -> Value:
    """Returns where the value is infinite; ``signs`` are the attributes of ONNX's operator."""
    if not is_float(x):
        return ~x.eq(x)
    # Up to opset 19 the operator has no dtypes of 16 bits.
    short = current().opset_version < 20 and x.dtype.itemsize < 4
    return op("IsInf", cast(x, lm.float32) if short else x, **signs)


def nonzero(x: Value) -> Value:
    """Returns the value as bool."""
    return cast(x, lm.bool)
