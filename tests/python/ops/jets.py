"""Truncated power series over mpmath's numbers: a function's value and its derivatives up to the third, exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp

#: Digits that everything is computed with: 50 that count, and what a subtraction may cost.
DIGITS = 90
mp.mp.dps = DIGITS
ORDER = 3

Number = Any


class Jet:
    """A power series in several variables up to the third order; the keys are the exponents."""

    def __init__(self, terms: dict[tuple[int, ...], Number]) -> None:
        self.terms = terms

    @staticmethod
    def variables(values: Sequence[Number]) -> list[Jet]:
        n = len(values)
        units = [tuple(int(i == k) for i in range(n)) for k in range(n)]
        return [Jet({(0,) * n: value, unit: mp.mpf(1)}) for value, unit in zip(values, units, strict=True)]

    @property
    def zero(self) -> tuple[int, ...]:
        return (0,) * len(next(iter(self.terms)))

    @property
    def value(self) -> Number:
        return self.terms.get(self.zero, mp.mpf(0))

    def constant(self, value: Number) -> Jet:
        return Jet({self.zero: mp.mpf(value)})

    def derivative(self, exponents: tuple[int, ...]) -> Number:
        return self.terms.get(exponents, mp.mpf(0)) * math.prod(math.factorial(e) for e in exponents)

    def _other(self, other: Any) -> Jet:
        return other if isinstance(other, Jet) else self.constant(other)

    def __add__(self, other: Any) -> Jet:
        b = self._other(other).terms
        keys = {**self.terms, **b}
        return Jet({k: self.terms.get(k, mp.mpf(0)) + b.get(k, mp.mpf(0)) for k in keys})

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet({k: -v for k, v in self.terms.items()})

    def __sub__(self, other: Any) -> Jet:
        return self + -self._other(other)

    def __rsub__(self, other: Any) -> Jet:
        return -self + other

    def __mul__(self, other: Any) -> Jet:
        b = self._other(other).terms
        terms: dict[tuple[int, ...], Number] = {}
        for (k, v), (j, w) in itertools.product(self.terms.items(), b.items()):
            key = tuple(x + y for x, y in zip(k, j, strict=True))
            if sum(key) <= ORDER:
                terms[key] = terms.get(key, mp.mpf(0)) + v * w
        return Jet(terms)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        return self * reciprocal(self._other(other))

    def __rtruediv__(self, other: Any) -> Jet:
        return reciprocal(self) * other

    def compose(self, derivatives: Sequence[Number]) -> Jet:
        """f(self), where the derivatives of f at self.value are given, from the value to the third."""
        step = Jet({k: v for k, v in self.terms.items() if k != self.zero})
        total = self.constant(derivatives[0])
        if not step.terms:
            return total
        power = self.constant(1)
        for k in range(1, ORDER + 1):
            power = power * step
            if derivatives[k] != 0:  # not: 0 times what is infinite
                total = total + power * (derivatives[k] / math.factorial(k))
        return total


def lifted(derivatives: Callable[[Number], Sequence[Number]]) -> Callable[[Jet], Jet]:
    """The function of jets of the one that gives a number's four derivatives."""
    return lambda x: x.compose(derivatives(x.value))


def integrated(value: Callable[[Number], Number], slope: Callable[[Jet], Jet]) -> Callable[[Jet], Jet]:
    """The function with this value, whose derivative is a function of jets."""

    def apply(x: Jet) -> Jet:
        (u,) = Jet.variables([x.value])
        rest = slope(u)
        return x.compose([value(x.value), *(rest.derivative((k,)) for k in range(ORDER))])

    return apply


reciprocal = lifted(lambda u: [1 / u, -1 / u**2, 2 / u**3, -6 / u**4])
exp = lifted(lambda u: [mp.exp(u)] * 4)
expm1 = lifted(lambda u: [mp.expm1(u), *[mp.exp(u)] * 3])
sin = lifted(lambda u: [mp.sin(u), mp.cos(u), -mp.sin(u), -mp.cos(u)])
cos = lifted(lambda u: [mp.cos(u), -mp.sin(u), -mp.cos(u), mp.sin(u)])
sinh = lifted(lambda u: [mp.sinh(u), mp.cosh(u), mp.sinh(u), mp.cosh(u)])
cosh = lifted(lambda u: [mp.cosh(u), mp.sinh(u), mp.cosh(u), mp.sinh(u)])


def _tanh(u: Number) -> list[Number]:
    t, s = mp.tanh(u), mp.sech(u) ** 2
    return [t, s, -2 * t * s, s * (4 * t * t - 2 * s)]


def _sigmoid(u: Number) -> list[Number]:
    t = mp.tanh(u / 2)
    s = mp.sech(u / 2) ** 2 / 4
    return [1 / (1 + mp.exp(-u)), s, -t * s, s * (t * t - 2 * s)]


tanh = lifted(_tanh)
sigmoid = lifted(_sigmoid)


def power_of(p: Any) -> Callable[[Jet], Jet]:
    """x ** p of a number p."""
    p = mp.mpf(p)

    def derivatives(u: Number) -> list[Number]:
        out, factor = [], mp.mpf(1)
        for k in range(ORDER + 1):
            out.append(factor * mp.power(u, p - k) if factor != 0 else mp.mpf(0))
            factor *= p - k
        return out

    return lifted(derivatives)


sqrt = power_of(0.5)
rsqrt = power_of(-0.5)
log = integrated(mp.log, reciprocal)
log1p = integrated(
    lambda u: mp.log1p(u) if abs(u) > mp.mpf(10) ** -40 else u - u * u / 2 + u**3 / 3, lambda u: 1 / (1 + u)
)
atan = integrated(mp.atan, lambda u: 1 / (1 + u * u))
asin = integrated(mp.asin, lambda u: rsqrt((1 - u) * (1 + u)))
acos = integrated(mp.acos, lambda u: -rsqrt((1 - u) * (1 + u)))
asinh = integrated(mp.asinh, lambda u: rsqrt(1 + u * u))
acosh = integrated(mp.acosh, lambda u: rsqrt((u - 1) * (u + 1)))
atanh = integrated(mp.atanh, lambda u: 1 / ((1 - u) * (1 + u)))
erf = integrated(mp.erf, lambda u: exp(-u * u) * (2 / mp.sqrt(mp.pi)))
erfc = integrated(lambda u: mp.erfc(u) if u < 1e9 else mp.mpf(0), lambda u: exp(-u * u) * (-2 / mp.sqrt(mp.pi)))
softplus = integrated(lambda u: mp.log1p(mp.exp(-abs(u))) + max(u, 0), sigmoid)


def _tan(u: Number) -> list[Number]:
    t = mp.tan(u)
    s = mp.sec(u) ** 2
    return [t, s, 2 * t * s, s * (4 * t * t + 2 * s)]


tan = lifted(_tan)


def series(coefficients: Callable[[int], Number], terms: int = 40) -> Callable[[Jet], Jet]:
    """The sum of c_k x^k, for small x."""

    def derivatives(u: Number) -> list[Number]:
        out = []
        for order in range(ORDER + 1):
            total = mp.mpf(0)
            for k in range(order, terms):
                c = coefficients(k)
                if c != 0:
                    total += c * mp.ff(k, order) * u ** (k - order)
            out.append(total)
        return out

    return lifted(derivatives)
