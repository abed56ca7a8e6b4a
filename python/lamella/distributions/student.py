"""Distributions of ratios: Student's t and Fisher and Snedecor's F."""

from __future__ import annotations

import math
from typing import ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._deviance import LARGE, by_size, digamma_rest, log_poisson, log_power, stirling
from ._implicit import standard_gamma
from ._quantiles import beta_quantile, lower_beta
from ._support import HALF_LOG_2PI, ConstraintsByName, Parameter, Shape, adopt, drawn
from .distribution import Distribution, in_double, quantiles_in_double

_FAR = 30.0  # from here on differences of both functions are series that are exact to rounding


def _half_ratio(x: Tensor) -> Tensor:
    """Returns ``lgamma(x + 1/2) - lgamma(x) - log(x) / 2``, of large numbers by both Stirling series."""
    far = x > _FAR
    large, small = lm.where(far, x, _FAR), lm.where(far, _FAR, x)
    w = 1 / (large * large)
    series = ((17 / 14336 * w - 1 / 640) * w + 1 / 192) * w - 1 / 8
    return lm.where(far, series / large, lm.lgamma(small + 0.5) - lm.lgamma(small) - 0.5 * lm.log(small))


def _half_slope(x: Tensor) -> Tensor:
    """Returns ``digamma(x + 1/2) - digamma(x)``, of large numbers by the derivative of the series above."""
    far = x > _FAR
    large, small = lm.where(far, x, _FAR), lm.where(far, _FAR, x)
    w = 1 / (large * large)
    series = 0.5 / large + (((-17 / 2048 * w + 1 / 128) * w - 1 / 64) * w + 1 / 8) * w
    return lm.where(far, series, lm.digamma(small + 0.5) - lm.digamma(small))


class StudentT(Distribution):
    """Student's distribution: proportional to ``(1 + z * z / df) ** (-(df + 1) / 2)``, z = (x - loc) / scale.

    Args:
        df: The degrees of freedom, above 0.
        loc: The median.
        scale: The scale, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(
        self, df: Parameter, loc: Parameter = 0.0, scale: Parameter = 1.0, validate_args: bool | None = None
    ) -> None:
        super().__init__(adopt(self, df=df, loc=loc, scale=scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean, NaN for up to 1 degree of freedom."""
        return lm.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        """The mode, loc."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance, infinite for up to 2 degrees of freedom, and NaN for up to 1."""
        df = lm.where(self.df > 2, self.df, 3.0)
        finite = lm.square(self.scale) * df / (df - 2)
        return lm.where(self.df > 2, finite, lm.where(self.df > 1, math.inf, math.nan))

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by all parameters."""
        size = self._extended_shape(shape)
        normal = drawn(lm.randn, self.df, size, generator)
        half = 0.5 * self.df
        return self.loc + self.scale * normal * lm.rsqrt(standard_gamma(half, size, generator) / half)

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        z = (value - self.loc) / self.scale
        return -0.5 * (self.df + 1) * lm.log1p(z * z / self.df) - self._log_normalizer()

    @in_double
    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        z = (value - self.loc) / self.scale
        # The share of z in df + z * z, from the side on which it keeps its digits.
        square = z * z
        inner = square < self.df
        half, one = 0.5 * self.df, lm.full_like(self.df, 0.5)
        outside = lm.where(
            inner,
            1 - lower_beta(one, half, square / (self.df + square)),
            lower_beta(half, one, self.df / (self.df + square)),
        )
        return lm.where(z > 0, 1 - 0.5 * outside, 0.5 * outside)

    @quantiles_in_double
    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        right = value > 0.5
        share, rest = beta_quantile(0.5 * self.df, lm.full_like(self.df, 0.5), 2 * lm.where(right, 1 - value, value))
        z = lm.sqrt(self.df * rest / share)
        return self.loc + self.scale * lm.where(right, z, -z)

    def _log_normalizer(self) -> Tensor:
        return lm.log(self.scale) + (HALF_LOG_2PI - _half_ratio(0.5 * self.df))

    @in_double
    def entropy(self) -> Tensor:
        """Returns the entropy."""
        half = 0.5 * self.df
        return self._log_normalizer() + (half + 0.5) * _half_slope(half)


class FisherSnedecor(Distribution):
    """The distribution of ``(x1 / df1) / (x2 / df2)`` for x1 and x2 of the distributions Chi2(df1) and Chi2(df2).

    Args:
        df1: Degrees of freedom of the numerator, above 0.
        df2: Degrees of freedom of the denominator, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Parameter, df2: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, df1=df1, df2=df2), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean, NaN for df2 up to 2."""
        inside = self.df2 > 2
        df2 = lm.where(inside, self.df2, 3.0)
        return lm.where(inside, df2 / (df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        """The mode, 0 for df1 up to 2."""
        return lm.clip(self.df1 - 2, 0.0) / self.df1 * self.df2 / (self.df2 + 2)

    @property
    def variance(self) -> Tensor:
        """The variance, NaN for df2 up to 4."""
        inside = self.df2 > 4
        df1, df2 = self.df1, lm.where(inside, self.df2, 5.0)
        finite = 2 * lm.square(df2 / (df2 - 2)) * (df1 + df2 - 2) / (df1 * (df2 - 4))
        return lm.where(inside, finite, math.nan)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by both parameters."""
        size = self._extended_shape(shape)
        half1, half2 = 0.5 * self.df1, 0.5 * self.df2
        draws = standard_gamma(half1, size, generator) / half1
        draws = draws / (standard_gamma(half2, size, generator) / half2)
        limits = lm.finfo(draws.dtype)
        return lm.clip(draws, limits.smallest_normal, limits.max)

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        half1, half2 = 0.5 * self.df1, 0.5 * self.df2

        def direct(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
            ratio = a / b
            constant = a * lm.log(ratio) - (lm.lgamma(a) + lm.lgamma(b) - lm.lgamma(a + b))
            return constant + (a - 1) * lm.log(x) - (a + b) * lm.log1p(ratio * x)

        def by_terms(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
            ratio, total = a / b * x, a + b
            share, rest = ratio / (1 + ratio), 1 / (1 + ratio)
            # The density of the share, of a beta distribution, times the slope of the share by x.
            excess = a * rest * (x - 1)
            powers = log_power(a, total * share, lambda less: excess + (a - less))
            return powers + log_poisson(b, total * rest, lambda: -excess) + stirling(total) + lm.log(a * rest)

        return by_size(half1 + half2 < LARGE, direct, by_terms, (half1, 20.0), (half2, 20.0), (value, 1.0))

    @in_double
    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        scaled = self.df1 * value
        return lower_beta(0.5 * self.df1, 0.5 * self.df2, scaled / (scaled + self.df2))

    @quantiles_in_double
    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        share, rest = beta_quantile(0.5 * self.df1, 0.5 * self.df2, value)
        return self.df2 * share / (self.df1 * rest)

    @in_double
    def entropy(self) -> Tensor:
        """Returns the entropy."""
        half1, half2 = 0.5 * self.df1, 0.5 * self.df2
        total = half1 + half2
        # Of digamma(x) = digamma(x + 1) - 1 / x, the inverses are put together.
        slopes = (1 - half1) * digamma_rest(half1, 1) - (1 + half2) * digamma_rest(half2, 1)
        slopes = slopes + total * digamma_rest(total, 1) + (half1 - half2) / half1 / half2 + 1
        return (stirling(half1) + stirling(half2) - stirling(total)) + slopes + lm.log(1 / half1 + 1 / half2)
