"""Special functions that ONNX's operators make up."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._builder import Value, cast, constant, op, where
from ._pointwise import log1p, pointwise

#: Coefficients of Lanczos' approximation with g = 7, of 9 terms (Godfrey's).
_LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


def lgamma_of(x: Value) -> Value:
    """Returns the logarithm of the absolute value of the gamma function.

    Source: Lanczos 1964, "A precision approximation of the gamma function"; below 1/2 by Euler's reflection.
    """
    reflected = x < 0.5
    z = where(reflected, 1.0 - x, x) - 1.0
    total = cast(_LANCZOS[0], x.dtype)
    for i, coefficient in enumerate(_LANCZOS[1:]):
        total = total + coefficient / (z + float(i + 1))
    t = z + 7.5
    value = (z + 0.5) * op("Log", t) - t + op("Log", total) + 0.5 * math.log(2.0 * math.pi)
    sine = op("Sin", (x - op("Floor", x)) * math.pi)
    return op("Where", reflected, math.log(math.pi) - op("Log", abs(sine)) - value, value)


pointwise("lgamma")(lgamma_of)


@pointwise("mvlgamma")
def mvlgamma(x: Value, p: int) -> Value:
    """The logarithm of the multivariate gamma function."""
    total = lgamma_of(x)
    for j in range(1, p):
        total = total + lgamma_of(x - 0.5 * j)
    return total + p * (p - 1) / 4.0 * math.log(math.pi)


@pointwise("digamma")
def digamma(x: Value) -> Value:
    """The derivative of lgamma: its asymptotic series above 6, by recurrence and reflection elsewhere."""
    reflected = x < 0.5
    z = where(reflected, 1.0 - x, x)
    below = None
    for _ in range(6):
        small = z < 6.0
        step = where(small, 1.0 / z, 0.0)
        below = step if below is None else below + step
        z = op("Where", small, z + 1.0, z)
    inverse = 1.0 / (z * z)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    value = op("Log", z) - 0.5 / z - series
    value = value if below is None else value - below
    part = (x - op("Floor", x)) * math.pi
    mirrored = value - math.pi * op("Cos", part) / op("Sin", part)
    pole = op("And", x < 0.0, part.eq(0.0))
    return where(pole, math.nan, op("Where", reflected, mirrored, value))


#: Coefficients of Giles' approximation of erfinv in single precision, for small and large arguments.
_CENTRAL = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
            -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
_TAIL = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
         0.00943887047, 1.00167406, 2.83297682)  # fmt: skip


def _horner(w: Value, coefficients: tuple[float, ...]) -> Value:
    total = w * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        total = total * w + coefficient
    return total


def erfinv_of(x: Value) -> Value:
    """Returns the inverse of erf, improved by one step of Newton's method.

    Source: Giles 2010, "Approximating the erfinv function".
    """
    w = -log1p(-(x * x))
    root = op("Sqrt", op("Max", w, 0.0))
    y = op("Where", w < 5.0, _horner(w - 2.5, _CENTRAL), _horner(root - 3.0, _TAIL)) * x
    y = y - (op("Erf", y) - x) * (0.5 * math.sqrt(math.pi)) * op("Exp", y * y)
    edge = op("Sign", x) * math.inf
    return op("Where", abs(x).eq(1.0), edge, y)


pointwise("erfinv")(erfinv_of)


@pointwise("ndtri")
def ndtri(p: Value) -> Value:
    """The inverse of the standard normal distribution."""
    return erfinv_of(p * 2.0 - 1.0) * math.sqrt(2.0)


def _recurrence(name: str, first: Callable[[Value], Any], next_: Callable[[int, Value, Any, Any], Any]) -> None:
    """Registers a family of polynomials, of degrees that are known."""

    @pointwise(name)
    def convert(x: Any, n: Any) -> Value:
        degrees = n.known() if isinstance(n, Value) else np.asarray(n)
        if degrees is None:
            raise NotImplementedError(f"[{name}] an exported model needs the degree as a number")
        x = x if isinstance(x, Value) else cast(x, n.dtype)
        before: Any = x * 0.0 + 1.0
        now = first(x)
        total = op("Where", constant(degrees == 0), before, x * 0.0)
        for k in range(1, int(degrees.max(initial=0)) + 1):
            total = op("Where", constant(degrees == k), now, total)
            before, now = now, next_(k, x, now, before)
        return total


_recurrence("chebyshev_polynomial_t", lambda x: x, lambda k, x, p, q: 2.0 * x * p - q)
_recurrence("chebyshev_polynomial_u", lambda x: 2.0 * x, lambda k, x, p, q: 2.0 * x * p - q)
_recurrence("chebyshev_polynomial_v", lambda x: 2.0 * x - 1.0, lambda k, x, p, q: 2.0 * x * p - q)
_recurrence("chebyshev_polynomial_w", lambda x: 2.0 * x + 1.0, lambda k, x, p, q: 2.0 * x * p - q)
_recurrence("hermite_polynomial_h", lambda x: 2.0 * x, lambda k, x, p, q: 2.0 * x * p - 2.0 * k * q)
_recurrence("hermite_polynomial_he", lambda x: x, lambda k, x, p, q: x * p - float(k) * q)
_recurrence(
    "laguerre_polynomial_l", lambda x: 1.0 - x, lambda k, x, p, q: ((2.0 * k + 1.0 - x) * p - k * q) / (k + 1.0)
)
_recurrence("legendre_polynomial_p", lambda x: x, lambda k, x, p, q: ((2.0 * k + 1.0) * x * p - k * q) / (k + 1.0))


def _affine(factor: float, offset: float) -> Callable[[Value], Value]:
    return lambda x: x * factor + offset


for _kind, _start in {"t": -1.0, "u": -2.0, "v": -3.0, "w": -1.0}.items():
    _scale = 2.0 if _kind == "t" else 4.0
    _recurrence(
        f"shifted_chebyshev_polynomial_{_kind}",
        _affine(_scale, _start),
        lambda k, x, p, q: 2.0 * (2.0 * x - 1.0) * p - q,
    )
