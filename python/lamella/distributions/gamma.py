"""The gamma distribution and its kin."""

from __future__ import annotations

import math
from typing import ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._deviance import LARGE, by_size, digamma_rest, log_many, log_many_powers, stirling
from ._implicit import lower_gamma, standard_gamma
from ._quantiles import gamma_quantile
from ._support import ConstraintsByName, Parameter, Shape, adopt, drawn
from .distribution import Distribution, in_double, quantiles_in_double
from .exp_family import ExponentialFamily

# Stands for larger multiples of values, at which densities are 0.
_FINITE = 1e300


class Gamma(ExponentialFamily):
    """The gamma distribution: ``rate ** a * x ** (a - 1) * exp(-rate x) / gamma(a)`` for the concentration a.

    The gradient of draws by the concentration is implicit (Figurnov, Mohamed and Mnih, "Implicit reparameterization
    gradients", 2018).

    Args:
        concentration: The shape, above 0.
        rate: The inverse of the scale, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Parameter, rate: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, concentration=concentration, rate=rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """The mode, 0 for concentrations up to 1."""
        return lm.clip(self.concentration - 1, 0.0) / self.rate

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.concentration / lm.square(self.rate)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by concentration and rate."""
        draws = standard_gamma(self.concentration, self._extended_shape(shape), generator) / self.rate
        return lm.maximum(draws, lm.finfo(draws.dtype).smallest_normal)

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        a, rate = self.concentration, self.rate

        def direct(a: Tensor, rate: Tensor, x: Tensor) -> Tensor:
            return lm.xlogy(a - 1, x) - rate * x + (lm.xlogy(a, rate) - lm.lgamma(a))

        def by_terms(a: Tensor, rate: Tensor, x: Tensor) -> Tensor:
            mean = lm.clip(rate * x, max=_FINITE)
            return log_many_powers(a, mean, lambda less: self._excess(rate, x, less)) + lm.log(rate)

        small = (a < LARGE + 1) | (value <= 0)
        return by_size(small, direct, by_terms, (a, 20.0), (rate, 1.0), (value, 1.0))

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`, with a gradient by the concentration as well."""
        value = self._checked(value)
        return lower_gamma(self.concentration, self.rate * value)

    @quantiles_in_double
    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        return gamma_quantile(self.concentration, value) / self.rate

    @in_double
    def entropy(self) -> Tensor:
        """Returns the entropy."""
        a = self.concentration
        return stirling(a) + (1 - a) * digamma_rest(a) - lm.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return lm.lgamma(x + 1) - (x + 1) * lm.log(-y)


class Chi2(Gamma):
    """The distribution of the sum of the squares of df standard normal numbers.

    Args:
        df: The degrees of freedom, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"df": constraints.positive}

    def __init__(self, df: Parameter, validate_args: bool | None = None) -> None:
        shape = adopt(self, df=df)
        self.concentration = 0.5 * self.df
        self.rate = lm.full_like(self.df, 0.5)
        Distribution.__init__(self, shape, validate_args=validate_args)

    df: Tensor


class Exponential(ExponentialFamily):
    """The exponential distribution: ``rate exp(-rate x)``.

    Args:
        rate: The inverse of the mean, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    rate: Tensor

    def __init__(self, rate: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, rate=rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1 / self.rate

    @property
    def mode(self) -> Tensor:
        """The mode, 0."""
        return lm.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return 1 / self.rate

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 1 / lm.square(self.rate)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with a gradient by the rate."""
        return drawn(lm.exponential, self.rate, self._extended_shape(shape), generator) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        return lm.log(self.rate) - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        return -lm.expm1(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return -lm.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        """Returns ``1 - log(rate)``."""
        return 1 - lm.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return -lm.log(-natural_params[0])


class InverseGamma(Distribution):
    """The distribution of ``1 / x`` for x of a gamma distribution.

    Args:
        concentration: The shape of x, above 0.
        rate: The rate of x, which is the scale of this distribution, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Parameter, rate: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, concentration=concentration, rate=rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean, infinite for concentrations up to 1."""
        a = self.concentration
        return lm.where(a > 1, self.rate / lm.where(a > 1, a - 1, 1.0), math.inf)

    @property
    def mode(self) -> Tensor:
        """The mode."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """The variance, infinite for concentrations up to 2."""
        a = lm.where(self.concentration > 2, self.concentration, 3.0)
        return lm.where(self.concentration > 2, lm.square(self.rate / (a - 1)) / (a - 2), math.inf)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by concentration and rate."""
        draws = self.rate / standard_gamma(self.concentration, self._extended_shape(shape), generator)
        return lm.minimum(draws, lm.finfo(draws.dtype).max)

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        a, rate = self.concentration, self.rate

        def direct(a: Tensor, rate: Tensor, x: Tensor) -> Tensor:
            return (lm.xlogy(a, rate) - lm.lgamma(a)) - (a + 1) * lm.log(x) - rate / x

        def by_terms(a: Tensor, rate: Tensor, x: Tensor) -> Tensor:
            scaled = lm.clip(rate / x, max=_FINITE)
            # What the rounding of the quotient left out counts as well.
            excess = (scaled - a) - (self._excess(scaled, x, rate) / x).detach()
            return log_many(a, scaled, excess) - lm.log(x / a)

        return by_size(a < LARGE, direct, by_terms, (a, 20.0), (rate, 1.0), (value, 1.0))

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        return 1 - lower_gamma(self.concentration, self.rate / value)

    @quantiles_in_double
    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        return self.rate / gamma_quantile(self.concentration, 1 - value, value)

    @in_double
    def entropy(self) -> Tensor:
        """Returns the entropy."""
        a = self.concentration
        return stirling(a) - (1 + a) * digamma_rest(a) + lm.log(self.rate / a / a)
