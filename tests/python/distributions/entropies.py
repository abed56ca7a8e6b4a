"""Entropies and divergences in many digits, and the parameters to compare them at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from densities import SIZES

import lamella as lm
from lamella import distributions as D

mp = mpmath.mp
gammaln, digamma = mpmath.loggamma, mpmath.digamma
#: Factors between a parameter of two distributions.
RATIOS = (1.0, 1.0 + 1e-9, 1.001, 1.5, 0.1, 30.0)
#: Factors between two concentrations of one distribution.
SHARES = (1.0, 0.2, 1e-6)
CHANCES = (1e-30, 1e-9, 1e-3, 0.3, 0.9)


@dataclass(frozen=True)
class Quantity:
    """An entropy or a divergence.

    Attributes:
        compute: Takes parameters as tensors.
        exact: Takes parameters as numbers of mpmath.
        parameters: The parameters to compare at.
        units: Tolerated errors in float64, in units of eps times the larger of 1 and the result.
    """

    compute: Callable[..., lm.Tensor]
    exact: Callable[..., Any]
    parameters: Sequence[tuple[float, ...]]
    units: float = 64.0

    def numbers(self, dtype: str) -> np.ndarray:
        """The parameters along the last axis, as the dtype holds them."""
        with np.errstate(over="ignore"):
            rounded = np.array(self.parameters, dtype=dtype)
        return np.unique(rounded[np.isfinite(rounded).all(-1)], axis=0)


def log_beta(*a: Any) -> Any:
    return sum(map(gammaln, a)) - gammaln(sum(a))


def of_beta(a: Any, b: Any) -> Any:
    return log_beta(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b)


def of_fisher(df1: Any, df2: Any) -> Any:
    a, b = df1 / 2, df2 / 2
    slopes = (1 - a) * digamma(a) - (1 + b) * digamma(b) + (a + b) * digamma(a + b)
    return mp.log(df2 / df1) + log_beta(a, b) + slopes


def of_student(df: Any) -> Any:
    slopes = (df + 1) / 2 * (digamma((df + 1) / 2) - digamma(df / 2))
    return slopes + mp.log(df * mp.pi) / 2 + gammaln(df / 2) - gammaln((df + 1) / 2)


def of_kumaraswamy(a: Any, b: Any) -> Any:
    return (1 - 1 / b) + (1 - 1 / a) * (digamma(b + 1) + mp.euler) - mp.log(a) - mp.log(b)


def of_gamma(a: Any, rate: Any) -> Any:
    return a - mp.log(rate) + gammaln(a) + (1 - a) * digamma(a)


def of_inverse_gamma(a: Any, rate: Any) -> Any:
    return a + mp.log(rate) + gammaln(a) - (1 + a) * digamma(a)


def outcomes(p: Any, q: Any) -> Any:
    """The divergence of two outcomes."""
    return p * mp.log(p / q) + (1 - p) * (mpmath.log1p(-p) - mpmath.log1p(-q))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def ratio(a: Any, b: Any) -> Any:
    return b / a - 1 - mp.log(b / a)


def gammas(a: Any, rate: Any, b: Any, other: Any) -> Any:
    powers = b * mp.log(rate / other) + (a - b) * digamma(a)
    return powers + gammaln(b) - gammaln(a) + a * (other / rate - 1)


def betas(a: Any, b: Any, c: Any, d: Any) -> Any:
    slopes = (a - c) * digamma(a) + (b - d) * digamma(b) + (c + d - a - b) * digamma(a + b)
    return log_beta(c, d) - log_beta(a, b) + slopes


def weibulls(scale: Any, a: Any, b: Any) -> Any:
    return mp.log(a / b) - mp.euler * (a - b) / a + mp.exp(gammaln(1 + b / a)) - 1


def between(kind: Callable[..., D.Distribution]) -> Callable[..., lm.Tensor]:
    """Returns the divergence of two distributions, the parameters of the one before those of the other."""

    def compute(*parameters: lm.Tensor) -> lm.Tensor:
        count = len(parameters) // 2
        return D.kl_divergence(kind(*parameters[:count]), kind(*parameters[count:]))

    return compute


_SCALED = [(a, rate) for a in SIZES for rate in (1 / 3, 1e-9)]
_PAIRS = [(a, a * share) for a in SIZES for share in (*SHARES, 1e6) if a * share <= 1e30]
_RATIOS = [(a, a * f) for a in SIZES for f in RATIOS]
_CHANCES = [(p, min(p * f, 0.999)) for p in CHANCES for f in (1.0, 1 + 1e-9, 1.001, 0.1, 1.05)]
_LOGITS = [(x, x + d) for x in (-60.0, -20.0, -1.0, 0.0, 0.7, 20.0) for d in (0.0, 1e-9, 0.01, -2.0, 90.0, -90.0)]

ENTROPIES = {
    "Beta": Quantity(lambda a, b: D.Beta(a, b).entropy(), of_beta, _PAIRS),
    "Chi2": Quantity(lambda v: D.Chi2(v).entropy(), lambda v: of_gamma(v / 2, mp.mpf(0.5)), [(v,) for v in SIZES]),
    "FisherSnedecor": Quantity(lambda a, b: D.FisherSnedecor(a, b).entropy(), of_fisher, _PAIRS),
    "Gamma": Quantity(lambda a, rate: D.Gamma(a, rate).entropy(), of_gamma, _SCALED),
    "InverseGamma": Quantity(lambda a, rate: D.InverseGamma(a, rate).entropy(), of_inverse_gamma, _SCALED),
    "Kumaraswamy": Quantity(
        lambda a, b: D.Kumaraswamy(a, b).entropy(), of_kumaraswamy, [(a, b) for a in SIZES for b in SIZES]
    ),
    "StudentT": Quantity(lambda v: D.StudentT(v).entropy(), of_student, [(v,) for v in SIZES]),
}

DIVERGENCES = {
    "Bernoulli": Quantity(between(D.Bernoulli), outcomes, _CHANCES),
    "Bernoulli logits": Quantity(
        between(lambda x: D.Bernoulli(logits=x)), lambda x, y: outcomes(sigmoid(x), sigmoid(y)), _LOGITS
    ),
    # Concentrations below 10 beside those above have the rounding of digamma, which the difference multiplies.
    "Beta": Quantity(
        between(D.Beta),
        betas,
        [(a, a * s, a * f, a * s * g) for a in SIZES for s in SHARES for f in RATIOS for g in RATIOS],
        units=2000.0,
    ),
    "Beta and Exponential": Quantity(
        lambda a, b, rate: D.kl_divergence(D.Beta(a, b), D.Exponential(rate)),
        lambda a, b, rate: rate * a / (a + b) - mp.log(rate) - of_beta(a, b),
        [(a, a * f, 2.0) for a in SIZES for f in RATIOS],
    ),
    "Binomial": Quantity(
        lambda n, p, q: D.kl_divergence(D.Binomial(n, p), D.Binomial(n, q)),
        lambda n, p, q: n * outcomes(p, q),
        [(n, p, q) for n in (1.0, 1e3, 1e9, 1e15, 1e30) for p, q in _CHANCES],
    ),
    "Binomial logits": Quantity(
        lambda n, x, y: D.kl_divergence(D.Binomial(n, logits=x), D.Binomial(n, logits=y)),
        lambda n, x, y: n * outcomes(sigmoid(x), sigmoid(y)),
        [(n, x, y) for n in (1.0, 1e9, 1e30) for x, y in _LOGITS],
    ),
    "Exponential": Quantity(between(D.Exponential), ratio, [*_RATIOS, (1e30, 1e-30), (1e-30, 1e30)]),
    "Exponential and Gamma": Quantity(
        lambda rate, a, other: D.kl_divergence(D.Exponential(rate), D.Gamma(a, other)),
        lambda rate, a, other: (
            other / rate - a * mp.log(other) + gammaln(a) + (a - 1) * (mp.euler + mp.log(rate)) - 1 + mp.log(rate)
        ),
        [(2.0, a, a * f) for a in SIZES for f in (1.0, 3.0)],
    ),
    "Gamma": Quantity(
        between(D.Gamma), gammas, [(a, 1 / 3, a * f, g / 3) for a in SIZES for f in RATIOS for g in RATIOS]
    ),
    "Gamma and Exponential": Quantity(
        lambda a, rate, other: D.kl_divergence(D.Gamma(a, rate), D.Exponential(other)),
        lambda a, rate, other: other * a / rate - mp.log(other) - of_gamma(a, rate),
        [(a, a, 1.5) for a in SIZES],
    ),
    "Geometric": Quantity(between(D.Geometric), lambda p, q: outcomes(p, q) / p, _CHANCES),
    "InverseGamma": Quantity(
        between(D.InverseGamma), gammas, [(a, 1 / 3, a * f, g / 3) for a in SIZES for f in RATIOS for g in RATIOS]
    ),
    "Kumaraswamy": Quantity(
        lambda a, b: D.kl_divergence(D.Kumaraswamy(0.0 * a + 1, a), D.Kumaraswamy(0.0 * a + 1, b)), ratio, _RATIOS
    ),
    "NegativeBinomial": Quantity(
        lambda n, p, q: D.kl_divergence(D.NegativeBinomial(n, p), D.NegativeBinomial(n, q)),
        lambda n, p, q: n * outcomes(p, q) / (1 - p),
        [(n, p, q) for n in (1e-30, 1.0, 1e9, 1e30) for p, q in _CHANCES],
    ),
    "Pareto": Quantity(
        lambda a, b: D.kl_divergence(D.Pareto(0.0 * a + 1, a), D.Pareto(0.0 * a + 1, b)), ratio, _RATIOS
    ),
    "Poisson": Quantity(between(D.Poisson), lambda a, b: a * mp.log(a / b) + b - a, _RATIOS),
    # An exponential of lgamma.
    "Weibull": Quantity(
        lambda scale, a, b: D.kl_divergence(D.Weibull(scale, a), D.Weibull(scale, b)),
        weibulls,
        [(1 / 3, a, a * f) for a in SIZES for f in RATIOS],
        units=128.0,
    ),
}
