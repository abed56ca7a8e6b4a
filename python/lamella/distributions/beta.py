"""Distributions of probabilities: beta, Dirichlet, Kumaraswamy."""

from __future__ import annotations

import math
from typing import ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._deviance import LARGE, by_size, digamma_rest, log_beta, log_beta_of_vectors, log_power, stirling, sum_of
from ._implicit import log_standard_gamma
from ._quantiles import beta_quantile, lower_beta
from ._support import EULER, LOG_2, ConstraintsByName, Parameter, Shape, adopt, as_tensors, open_uniform
from .distribution import Distribution, in_double, quantiles_in_double
from .exp_family import ExponentialFamily


class Beta(ExponentialFamily):
    """The beta distribution: ``x ** (a - 1) * (1 - x) ** (b - 1) / beta(a, b)``.

    A draw is the share of one draw of a gamma distribution in the sum of two, computed of their logarithms, so that
    concentrations near 0 give numbers near 0 and 1 and not NaN. Gradients are those of :class:`Gamma`.

    Args:
        concentration1: a, above 0.
        concentration0: b, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    concentration1: Tensor
    concentration0: Tensor

    def __init__(self, concentration1: Parameter, concentration0: Parameter, validate_args: bool | None = None) -> None:
        shape = adopt(self, concentration1=concentration1, concentration0=concentration0)
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        """The mode; NaN where there are two, or none, as concentrations below 1 have them."""
        a, b = self.concentration1 - 1, self.concentration0 - 1
        inner = a / lm.where(a + b > 0, a + b, 1.0)
        outer = lm.where((a > b) & (b <= 0), 1.0, lm.where((b > a) & (a <= 0), 0.0, math.nan))
        return lm.where((a > 0) & (b > 0), inner, outer)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (lm.square(total) * (total + 1))

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by both concentrations."""
        size = self._extended_shape(shape)
        first = log_standard_gamma(self.concentration1, size, generator)
        draws = lm.sigmoid(first - log_standard_gamma(self.concentration0, size, generator))
        limits = lm.finfo(draws.dtype)
        return lm.clip(draws, limits.smallest_normal, 1 - limits.eps / 2)

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        a, b = self.concentration1, self.concentration0

        def direct(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
            return lm.xlogy(a - 1, x) + lm.xlog1py(b - 1, -x) - (lm.lgamma(a) + lm.lgamma(b) - lm.lgamma(a + b))

        def by_terms(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
            (total, constant), rest = sum_of(a, b), 1 - x

            def excess(less: Tensor) -> Tensor:
                # What the rounding of 1 - x left out counts as well.
                return self._excess(total, rest, less) + (total * ((1 - rest) - x)).detach()

            powers = log_power(a, total * x, lambda less: self._excess(total, x, less))
            return powers + log_power(b, total * rest, excess) + (constant + lm.log(total))

        small = (a + b < LARGE) | ((value <= 0) & (a != 1)) | ((value >= 1) & (b != 1))
        return by_size(small, direct, by_terms, (a, 20.0), (b, 20.0), (value, 0.5))

    @in_double
    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        return lower_beta(self.concentration1, self.concentration0, value)

    @quantiles_in_double
    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        return beta_quantile(self.concentration1, self.concentration0, value)[0]

    @in_double
    def entropy(self) -> Tensor:
        """Returns the entropy."""
        a, b = self.concentration1, self.concentration0
        total = a + b
        slopes = (a - 1) * digamma_rest(a) + (b - 1) * digamma_rest(b) - (total - 2) * digamma_rest(total)
        return (stirling(a) + stirling(b) - stirling(total)) - slopes - lm.log(total)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1 - 1, self.concentration0 - 1

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return log_beta(x + 1, y + 1)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of vectors on the simplex, proportional to the product of ``x_k ** (a_k - 1)``.

    Args:
        concentration: a, ``[*batch_shape, n]``, above 0.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: for concentrations without an axis.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        (self.concentration,) = as_tensors(type(self).__name__, concentration=concentration)
        if self.concentration.ndim < 1:
            raise ValueError(f"[{type(self).__name__}] concentration: expected at least one axis, got a number")
        shape = self.concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / lm.sum(self.concentration, axis=-1, keepdims=True)

    @property
    def mode(self) -> Tensor:
        """The mode; where a concentration is below 1, the corner of the largest one."""
        a = lm.clip(self.concentration - 1, 0.0)
        total = lm.sum(a, axis=-1, keepdims=True)
        inner = a / lm.where(total > 0, total, 1.0)
        count = self.concentration.shape[-1]
        corner = lm.one_hot(lm.argmax(self.concentration, axis=-1), count).astype(a.dtype)
        return lm.where(lm.all(self.concentration < 1, axis=-1, keepdims=True), corner, inner)

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        total = lm.sum(self.concentration, axis=-1, keepdims=True)
        return self.concentration * (total - self.concentration) / (lm.square(total) * (total + 1))

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with a gradient by the concentration."""
        logs = log_standard_gamma(self.concentration, self._extended_shape(shape), generator)
        draws = lm.softmax(logs, axis=-1)
        return lm.maximum(draws, lm.finfo(draws.dtype).smallest_normal)

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density on the simplex."""

        def direct(a: Tensor, x: Tensor) -> Tensor:
            logs = lm.xlogy(a - 1, x) - lm.lgamma(a)
            return lm.sum(logs, axis=-1) + lm.lgamma(lm.sum(a, axis=-1))

        def by_terms(a: Tensor, x: Tensor) -> Tensor:
            every = lm.sum(a, axis=-1, keepdims=True)
            # Narrower numbers sum to 1 up to their own rounding, of which concentrations would make a distance.
            share = x / lm.sum(x, axis=-1, keepdims=True).detach() if self._exact_products else x
            powers = lm.sum(log_power(a, every * share, lambda less: self._excess(every, share, less)), axis=-1)
            total = lm.squeeze(every, axis=-1)
            constant = stirling(total) + (a.shape[-1] - 1) * lm.log(total)
            # Values count as such that sum to 1, but slopes are those of free values.
            sums = lm.sum(x, axis=-1)
            return powers + constant + total * (sums - sums.detach())

        none = lm.any((value <= 0) & (self.concentration != 1), axis=-1)
        small = (lm.sum(self.concentration, axis=-1) < LARGE) | none
        return by_size(small, direct, by_terms, (self.concentration, 20.0), (value, 0.5), axes=1)

    @in_double
    def entropy(self) -> Tensor:
        """Returns the entropy."""
        a = self.concentration
        total, count = lm.sum(a, axis=-1), a.shape[-1]
        shares = lm.sum(stirling(a) - (a - 1) * digamma_rest(a), axis=-1)
        return shares - stirling(total) + (total - count) * digamma_rest(total) - (count - 1) * lm.log(total)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration - 1,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return log_beta_of_vectors(natural_params[0] + 1)


# Riemann's zeta function of 2 to 12: the coefficients of ``digamma(b + 1) + EULER`` as an alternating power series
# (DLMF 5.7.4), which serves below _FEW.
_ZETA = (
    1.6449340668482264,
    1.2020569031595943,
    1.0823232337111382,
    1.0369277551433699,
    1.0173430619844491,
    1.0083492773819228,
    1.0040773561979443,
    1.0020083928260822,
    1.0009945751278181,
    1.0004941886041195,
    1.000246086553308,
)
_FEW = 0.02


class Kumaraswamy(Distribution):
    """The Kumaraswamy distribution on (0, 1), whose distribution function is ``1 - (1 - x ** a) ** b``.

    (Kumaraswamy, "A generalized probability density function for double-bounded random processes", 1980.)

    Args:
        concentration1: a, above 0.
        concentration0: b, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    concentration1: Tensor
    concentration0: Tensor

    def __init__(self, concentration1: Parameter, concentration0: Parameter, validate_args: bool | None = None) -> None:
        shape = adopt(self, concentration1=concentration1, concentration0=concentration0)
        super().__init__(shape, validate_args=validate_args)

    def _moment(self, order: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return lm.exp(lm.log(b) + log_beta(1 + order / a, b))

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """The mode; NaN where there is none inside of (0, 1)."""
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1) & (a * b > 1)
        ratio = (a - 1) / lm.where(inside, a * b - 1, 1.0)
        return lm.where(inside, lm.pow(lm.where(inside, ratio, 1.0), 1 / a), math.nan)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self._moment(2) - lm.square(self._moment(1))

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by both concentrations."""
        draws = self._quantile(open_uniform(self.concentration1, self._extended_shape(shape), generator))
        limits = lm.finfo(draws.dtype)
        return lm.clip(draws, limits.smallest_normal, 1 - limits.eps / 2)

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        a, b = self.concentration1, self.concentration0
        log_value = lm.log(value)
        # The logarithm of 1 - x ** a, of the form that has digits: expm1 where x ** a is near 1, log1p where it is not.
        power = a * log_value
        near = power > -LOG_2
        rest = lm.where(
            near,
            lm.xlogy(b - 1, -lm.expm1(lm.where(near, power, -1.0))),
            (b - 1) * lm.log1p(-lm.pow(lm.where(near, 0.5, value), lm.where(near, 1.0, a))),
        )
        return lm.log(a) + lm.log(b) + (a - 1) * log_value + rest

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        return -lm.expm1(self.concentration0 * lm.log1p(-lm.pow(value, self.concentration1)))

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return self._quantile(value)

    def _quantile(self, p: Tensor) -> Tensor:
        return lm.pow(-lm.expm1(lm.log1p(-p) / self.concentration0), 1 / self.concentration1)

    @in_double
    def entropy(self) -> Tensor:
        """Returns the entropy."""
        a, b = self.concentration1, self.concentration0
        near = b < _FEW
        series = lm.where(near, b, 0.0)
        powers = _ZETA[-1]
        for value in reversed(_ZETA[:-1]):
            powers = value - series * powers
        harmonic = lm.where(near, series * powers, lm.digamma(lm.where(near, 1.0, b) + 1) + EULER)
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - lm.log(a) - lm.log(b)
