"""Densities, entropies and divergences in many digits, and the parameters and values to compare them at."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from lamella import distributions as D

#: Sizes of parameters, from the smallest to the largest; 9 to 12 lie on both sides of where formulas change.
SIZES = (1e-30, 1e-9, 1e-3, 0.3, 1.0, 2.5, 7.0, 9.5, 10.5, 12.0, 40.0, 1e3, 1e4, 1e6, 1e9, 1e12, 1e15, 1e20, 1e30)
#: Distances from the mean in standard deviations.
STEPS = (-3.0, -0.5, 0.0, 1.0, 8.0)
#: Factors of the mean, for values in the tails.
FACTORS = (1e-6, 0.2, 0.7, 1.4, 3.0, 1e6)

mp = mpmath.mp
gammaln = mpmath.loggamma
Numbers = tuple[float, ...]


def log_choose(n: Any, k: Any) -> Any:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def xlog(a: Any, b: Any) -> Any:
    return mpmath.mpf(0) if a == 0 else a * mpmath.log(b)


def around(mean: float, deviation: float) -> Iterator[float]:
    """Values near the mean, and in both tails."""
    yield from (mean + z * deviation for z in STEPS)
    yield from (mean * factor for factor in FACTORS)


def counts(mean: float, deviation: float, most: float = float("inf")) -> Iterator[float]:
    values = {0.0, 1.0, 5.0, *(float(np.floor(x)) for x in around(mean, deviation))}
    yield from sorted(x for x in values | ({most, most - 1} if most < float("inf") else set()) if 0 <= x <= most)


def positives(mean: float, deviation: float) -> Iterator[float]:
    yield from sorted({x for x in (*around(mean, deviation), 1e-30) if 1e-35 < x < 1e35})


def fractions(mean: float, deviation: float) -> Iterator[float]:
    values = {x for x in (*around(mean, deviation), 1e-30, 0.5, 1 - 1e-6) if 1e-35 < x < 1}
    yield from sorted(values)


@dataclass(frozen=True)
class Density:
    """The density of a class of distributions of single numbers.

    Attributes:
        make: Takes the parameters.
        exact: Takes a value and the parameters, and returns the logarithm of the density in mpmath's precision.
        cases: Returns the parameters, and values to take with them.
        scales: By the position of a number among value and parameters, the number that its slopes are multiplied by
            when errors are measured; numbers that are left out have no slopes.
        slack: Takes value and parameters, and returns the change of the density by a relative change of a parameter in
            which rounding cannot be told from it.
    """

    make: Callable[..., D.Distribution]
    exact: Callable[..., Any]
    cases: Callable[[], Iterator[tuple[Numbers, Iterator[float]]]]
    scales: dict[int, Callable[[Any], Any]]
    slack: Callable[..., Any] | None = None

    def numbers(self, dtype: str) -> np.ndarray:
        """Value and parameters along the last axis, as the dtype holds them."""
        rows = [(x, *parameters) for parameters, values in self.cases() for x in values]
        with np.errstate(over="ignore"):
            rounded = np.array(rows, dtype=dtype)
        return np.unique(rounded[np.isfinite(rounded).all(-1)], axis=0)


def itself(x: Any) -> Any:
    """The scale of numbers that densities depend on by their logarithm."""
    return x


def small(x: Any) -> Any:
    """The scale of numbers that densities depend on by their logarithm where they are small, else by differences."""
    return min(x, 1)


def one(x: Any) -> Any:
    """The scale of numbers that densities depend on by their differences."""
    return 0 * x + 1


def rarer(p: Any) -> Any:
    """The scale of probabilities: of the rarer outcome."""
    return min(p, 1 - p)


def of_logit(k: Any, n: Any, x: Any) -> Any:
    """The change of a binomial density by a change of the logit as large as rounding of a sigmoid stands for."""
    return (1 + abs(x)) * abs(k - n / (1 + mp.exp(-x)))


def of_logit_and_rest(k: Any, n: Any, x: Any) -> Any:
    """That of a negative binomial density."""
    return of_logit(k, n + k, x)


def gamma(x: Any, a: Any, rate: Any) -> Any:
    return a * mp.log(rate) + (a - 1) * mp.log(x) - rate * x - gammaln(a)


def beta(x: Any, a: Any, b: Any) -> Any:
    return xlog(a - 1, x) + xlog(b - 1, 1 - x) - gammaln(a) - gammaln(b) + gammaln(a + b)


def fisher(x: Any, df1: Any, df2: Any) -> Any:
    a, b = df1 / 2, df2 / 2
    constant = a * mp.log(df1 / df2) - gammaln(a) - gammaln(b) + gammaln(a + b)
    return constant + (a - 1) * mp.log(x) - (a + b) * mpmath.log1p(df1 / df2 * x)


def inverse_gamma(x: Any, a: Any, rate: Any) -> Any:
    return a * mp.log(rate) - (a + 1) * mp.log(x) - rate / x - gammaln(a)


def student(x: Any, df: Any, scale: Any) -> Any:
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - mp.log(df * mp.pi) / 2 - mp.log(scale)
    return constant - (df + 1) / 2 * mpmath.log1p((x / scale) ** 2 / df)


def binomial(k: Any, n: Any, p: Any) -> Any:
    return log_choose(n, k) + xlog(k, p) + xlog(n - k, 1 - p)


def negative_binomial(k: Any, n: Any, p: Any) -> Any:
    return gammaln(n + k) - gammaln(k + 1) - gammaln(n) + xlog(k, p) + n * mpmath.log1p(-p)


def kumaraswamy(x: Any, a: Any, b: Any) -> Any:
    return mp.log(a) + mp.log(b) + (a - 1) * mp.log(x) + (b - 1) * mp.log(-mpmath.expm1(a * mp.log(x)))


def of_logits(density: Callable[..., Any]) -> Callable[..., Any]:
    return lambda k, n, x: density(k, n, 1 / (1 + mp.exp(-x)))


RATES = (1 / 3, 1e-9, 1e9)
CHANCES = (0.3, 0.7, 1e-3, 1e-9, 1e-20, 1 - 1e-6)
LOGITS = (0.0, -0.7, 1.5, -20.0, 20.0)


def _gammas() -> Iterator[tuple[Numbers, Iterator[float]]]:
    for a, rate in itertools.product(SIZES, RATES):
        yield (a, rate), positives(a / rate, a**0.5 / rate)


def _inverse_gammas() -> Iterator[tuple[Numbers, Iterator[float]]]:
    for a, rate in itertools.product(SIZES, RATES):
        yield (a, rate), positives(rate / a, rate / a**1.5)


def _betas() -> Iterator[tuple[Numbers, Iterator[float]]]:
    for a, share in itertools.product(SIZES, (1.0, 0.2, 1e-6, 1e9)):
        b = a * share
        if b > 1e30:
            continue
        mean = a / (a + b)
        yield (a, b), fractions(mean, (mean * (1 - mean) / (a + b + 1)) ** 0.5)


def _fishers() -> Iterator[tuple[Numbers, Iterator[float]]]:
    for df1, share in itertools.product(SIZES, (1.0, 1e-6, 1e9)):
        df2 = df1 * share
        if df2 > 1e30:
            continue
        yield (df1, df2), positives(1.0, (2 / df1 + 2 / df2) ** 0.5)


def _binomials(chances: Sequence[float], logits: bool) -> Iterator[tuple[Numbers, Iterator[float]]]:
    for n, given in itertools.product(sorted({float(np.floor(x)) for x in SIZES}), chances):
        p = 1 / (1 + np.exp(-given)) if logits else given
        yield (n, given), counts(n * p, (n * p * (1 - p)) ** 0.5, n)


def _negative_binomials(chances: Sequence[float], logits: bool) -> Iterator[tuple[Numbers, Iterator[float]]]:
    for n, given in itertools.product(SIZES, chances):
        p = 1 / (1 + np.exp(-given)) if logits else given
        mean = n * p / (1 - p)
        yield (n, given), (k for k in counts(mean, (mean / (1 - p)) ** 0.5) if k < 1e32)


DENSITIES = {
    "Beta": Density(D.Beta, beta, _betas, {0: rarer, 1: small, 2: small}),
    "Binomial": Density(D.Binomial, binomial, lambda: _binomials(CHANCES, False), {2: rarer}),
    "Binomial logits": Density(
        lambda n, x: D.Binomial(n, logits=x), of_logits(binomial), lambda: _binomials(LOGITS, True), {2: one}, of_logit
    ),
    "Chi2": Density(
        D.Chi2,
        lambda x, df: gamma(x, df / 2, mpmath.mpf(0.5)),
        lambda: (((df,), positives(df, (2 * df) ** 0.5)) for df in SIZES),
        {0: itself, 1: itself},
    ),
    "FisherSnedecor": Density(D.FisherSnedecor, fisher, _fishers, {0: itself, 1: small, 2: small}),
    "Gamma": Density(D.Gamma, gamma, _gammas, {0: itself, 1: itself, 2: itself}),
    "Geometric": Density(
        D.Geometric,
        lambda k, p: k * mpmath.log1p(-p) + mp.log(p),
        lambda: (((p,), counts(1 / p, 1 / p)) for p in (1e-30, 1e-9, 1e-3, 0.3, 0.9)),
        {1: itself},
    ),
    "InverseGamma": Density(D.InverseGamma, inverse_gamma, _inverse_gammas, {0: itself, 1: itself, 2: itself}),
    "Kumaraswamy": Density(
        D.Kumaraswamy,
        kumaraswamy,
        lambda: (((a, b), iter((1e-30, 1e-3, 0.4, 0.9))) for a in (1e-3, 0.3, 2.5, 40.0) for b in SIZES),
        {0: itself, 1: itself, 2: itself},
    ),
    "NegativeBinomial": Density(
        D.NegativeBinomial, negative_binomial, lambda: _negative_binomials(CHANCES, False), {1: small, 2: rarer}
    ),
    "NegativeBinomial logits": Density(
        lambda n, x: D.NegativeBinomial(n, logits=x),
        of_logits(negative_binomial),
        lambda: _negative_binomials(LOGITS, True),
        {1: small, 2: one},
        of_logit_and_rest,
    ),
    "Poisson": Density(
        D.Poisson,
        lambda k, rate: xlog(k, rate) - rate - gammaln(k + 1),
        lambda: (((rate,), counts(rate, rate**0.5)) for rate in SIZES),
        {0: one, 1: itself},
    ),
    "StudentT": Density(
        lambda df, scale: D.StudentT(df, 0.0 * scale, scale),
        student,
        lambda: (((df, 2.5), iter((0.0, 1e-6, 1.0, -4.0, 1e6))) for df in SIZES),
        {1: small, 2: itself},
    ),
}
