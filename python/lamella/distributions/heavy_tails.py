"""Distributions of powers and of extremes: Pareto, generalized Pareto, Weibull."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._support import EULER, ConstraintsByName, Parameter, Shape, adopt, drawn, open_uniform
from .distribution import Distribution


class Pareto(Distribution):
    """The Pareto distribution: ``alpha * scale ** alpha / x ** (alpha + 1)`` from the scale on.

    Args:
        scale: The smallest value, above 0.
        alpha: The exponent of the tail, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"scale": constraints.positive, "alpha": constraints.positive}
    has_rsample = True

    scale: Tensor
    alpha: Tensor

    def __init__(self, scale: Parameter, alpha: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, scale=scale, alpha=alpha), validate_args=validate_args)

    @constraints.dependent_property()
    def support(self) -> Any:
        """Numbers from the scale on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        """The mean, infinite for alpha up to 1."""
        alpha = lm.where(self.alpha > 1, self.alpha, 2.0)
        return lm.where(self.alpha > 1, alpha * self.scale / (alpha - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        """The mode, scale."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance, infinite for alpha up to 2."""
        alpha = lm.where(self.alpha > 2, self.alpha, 3.0)
        finite = lm.square(self.scale / (alpha - 1)) * alpha / (alpha - 2)
        return lm.where(self.alpha > 2, finite, math.inf)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by both parameters."""
        waits = drawn(lm.exponential, self.scale, self._extended_shape(shape), generator)
        return self.scale * lm.exp(waits / self.alpha)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        return lm.log(self.alpha) + self.alpha * lm.log(self.scale) - (self.alpha + 1) * lm.log(value)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        return -lm.expm1(-self.alpha * lm.log(value / self.scale))

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return self.scale * lm.exp(-lm.log1p(-value) / self.alpha)

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        return lm.log(self.scale / self.alpha) + (1 + 1 / self.alpha)


#: Coefficients of the power series of expm1(x) / x and of log1p(x) / x, as many as float64 has digits for below 0.1.
_OF_EXPM1 = [1 / math.factorial(k + 1) for k in range(14)]
_OF_LOG1P = [(-1) ** k / (k + 1) for k in range(14)]


def _over(c: Tensor, function: Callable[[Tensor], Tensor], coefficients: Sequence[float], x: Tensor) -> Tensor:
    """Returns ``function(c x) / c`` and its derivatives, where c is 0, too: near that by a power series."""
    product = c * x
    near = lm.abs(product) < 0.1
    small, large = lm.where(near, product, 0.0), lm.where(near, 1.0, product)
    series = lm.full_like(small, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        series = series * small + coefficient
    return lm.where(near, x * series, function(large) / lm.where(near, 1.0, c))


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution: ``(1 + c z) ** (-1 / c - 1) / scale``, z = (x - loc) / scale >= 0.

    A concentration c of 0 is the exponential distribution; below 0, z ends at ``-1 / c`` (Pickands, "Statistical
    inference using extreme order statistics", 1975).

    Args:
        loc: The smallest value.
        scale: The scale, above 0.
        concentration: c, the exponent of the tail.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self, loc: Parameter, scale: Parameter, concentration: Parameter, validate_args: bool | None = None
    ) -> None:
        shape = adopt(self, loc=loc, scale=scale, concentration=concentration)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property()
    def support(self) -> Any:
        """Numbers from loc on, up to ``loc - scale / c`` for a concentration below 0."""
        negative = self.concentration < 0
        upper = self.loc - self.scale / lm.where(negative, self.concentration, -1.0)
        return constraints.interval(self.loc, lm.where(negative, upper, math.inf))

    @property
    def mean(self) -> Tensor:
        """The mean, infinite for a concentration from 1 on."""
        c = lm.where(self.concentration < 1, self.concentration, 0.0)
        return lm.where(self.concentration < 1, self.loc + self.scale / (1 - c), math.inf)

    @property
    def mode(self) -> Tensor:
        """The mode, loc; the upper end where the concentration is below -1, NaN where it is -1."""
        c = self.concentration
        upper = self.loc - self.scale / lm.where(c < -1, c, -1.0)
        return lm.where(c > -1, self.loc, lm.where(c < -1, upper, math.nan))

    @property
    def variance(self) -> Tensor:
        """The variance, infinite for a concentration from 1 / 2 on."""
        c = lm.where(self.concentration < 0.5, self.concentration, 0.0)
        return lm.where(self.concentration < 0.5, lm.square(self.scale / (1 - c)) / (1 - 2 * c), math.inf)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by all parameters."""
        return self._after(drawn(lm.exponential, self.loc, self._extended_shape(shape), generator))

    def _after(self, wait: Tensor) -> Tensor:
        """Returns the quantile of ``1 - exp(-wait)``."""
        c, endless = self.concentration, wait == math.inf
        end = lm.where(c < 0, -1 / lm.where(c < 0, c, -1.0), math.inf)
        within = _over(c, lm.expm1, _OF_EXPM1, lm.where(endless, 0.0, wait))
        return self.loc + self.scale * lm.where(endless, end, within)

    def _wait(self, value: Tensor) -> Tensor:
        """Returns minus the logarithm of the probability of numbers above `value`."""
        z = (value - self.loc) / self.scale
        endless = z == math.inf
        return lm.where(endless, z, _over(self.concentration, lm.log1p, _OF_LOG1P, lm.where(endless, 0.0, z)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        return -lm.log(self.scale) - (1 + self.concentration) * self._wait(value)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        support = self.support
        inside = lm.clip(value, support.lower_bound, support.upper_bound)
        return -lm.expm1(-self._wait(inside))

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return self._after(-lm.log1p(-value))

    def entropy(self) -> Tensor:
        """Returns ``log(scale) + c + 1``."""
        return lm.log(self.scale) + self.concentration + 1


class Weibull(Distribution):
    """The Weibull distribution, whose distribution function is ``1 - exp(-(x / scale) ** concentration)``.

    Args:
        scale: The scale, above 0.
        concentration: The shape, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    scale: Tensor
    concentration: Tensor

    def __init__(self, scale: Parameter, concentration: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, scale=scale, concentration=concentration), validate_args=validate_args)

    def _moment(self, order: int) -> Tensor:
        """Returns a moment of ``x / scale``."""
        return lm.exp(lm.lgamma(1 + order / self.concentration))

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        """The mode, 0 for concentrations up to 1."""
        a = self.concentration
        return self.scale * lm.pow(lm.clip((a - 1) / a, 0.0), 1 / a)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return lm.square(self.scale) * (self._moment(2) - lm.square(self._moment(1)))

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by both parameters."""
        waits = -lm.log(open_uniform(self.scale, self._extended_shape(shape), generator))
        return self.scale * lm.pow(waits, 1 / self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        a = self.concentration
        log_z = lm.log(value / self.scale)
        return lm.log(a / self.scale) + (a - 1) * log_z - lm.exp(a * log_z)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        return -lm.expm1(-lm.pow(value / self.scale, self.concentration))

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return self.scale * lm.pow(-lm.log1p(-value), 1 / self.concentration)

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        a = self.concentration
        return EULER * (1 - 1 / a) + lm.log(self.scale / a) + 1
