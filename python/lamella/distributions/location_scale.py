"""Distributions that are shifted and scaled: Laplace, Cauchy, Gumbel, uniform."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._support import EULER, LOG_2, LOG_PI, ConstraintsByName, Parameter, Shape, adopt, drawn, gumbel
from .distribution import Distribution


class Laplace(Distribution):
    """The Laplace distribution: ``exp(-abs(x - loc) / scale) / (2 scale)``.

    Args:
        loc: The mean.
        scale: The mean distance from loc, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, loc=loc, scale=scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean, loc."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mode, loc."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 2 * lm.square(self.scale)

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return math.sqrt(2) * self.scale

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by loc and scale."""
        return self.loc + self.scale * drawn(lm.laplace, self.loc, self._extended_shape(shape), generator)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        return -lm.abs(value - self.loc) / self.scale - lm.log(2 * self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        z = (value - self.loc) / self.scale
        tail = 0.5 * lm.exp(-lm.abs(z))
        return lm.where(z < 0, tail, 1 - tail)

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        centered = value - 0.5
        return self.loc - self.scale * lm.sign(centered) * lm.log1p(-2 * lm.abs(centered))

    def entropy(self) -> Tensor:
        """Returns ``1 + log(2 scale)``."""
        return 1 + lm.log(2 * self.scale)


class Cauchy(Distribution):
    """The Cauchy distribution: ``1 / (pi scale (1 + ((x - loc) / scale) ** 2))``. It has neither mean nor variance.

    Args:
        loc: The median.
        scale: The half width at half of the maximum, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, loc=loc, scale=scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """NaN, as there is no mean."""
        return lm.full_like(self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        """The mode, loc."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """NaN, as there is no variance."""
        return lm.full_like(self.loc, math.nan)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by loc and scale."""
        return self.loc + self.scale * drawn(lm.cauchy, self.loc, self._extended_shape(shape), generator)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        return -(lm.log(self.scale) + LOG_PI) - lm.log1p(lm.square((value - self.loc) / self.scale))

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        return lm.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return lm.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        """Returns ``log(4 pi scale)``."""
        return lm.log(self.scale) + (2 * LOG_2 + LOG_PI)


class HalfCauchy(Distribution):
    """The distribution of ``abs(x)`` for x of a Cauchy distribution with median 0.

    Args:
        scale: The median, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    scale: Tensor

    def __init__(self, scale: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, scale=scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """Infinity."""
        return lm.full_like(self.scale, math.inf)

    @property
    def mode(self) -> Tensor:
        """The mode, 0."""
        return lm.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """Infinity."""
        return lm.full_like(self.scale, math.inf)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with a gradient by the scale."""
        return self.scale * lm.abs(drawn(lm.cauchy, self.scale, self._extended_shape(shape), generator))

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density, minus infinity below 0."""
        value = self._checked(value)
        inside = -(lm.log(self.scale) + (LOG_PI - LOG_2)) - lm.log1p(lm.square(value / self.scale))
        return lm.where(value >= 0, inside, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        return lm.atan(lm.clip(value, 0.0) / self.scale) * (2 / math.pi)

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return self.scale * lm.tan(0.5 * math.pi * value)

    def entropy(self) -> Tensor:
        """Returns ``log(2 pi scale)``."""
        return lm.log(self.scale) + (LOG_2 + LOG_PI)


class Gumbel(Distribution):
    """The Gumbel distribution: ``exp(-z - exp(-z)) / scale``, z = (x - loc) / scale.

    Args:
        loc: The mode.
        scale: The scale, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, loc=loc, scale=scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Tensor:
        """The mode, loc."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return lm.square(self.scale) * (math.pi**2 / 6)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by loc and scale."""
        return self.loc + self.scale * gumbel(self.loc, self._extended_shape(shape), generator)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        z = (self.loc - value) / self.scale
        return z - lm.exp(z) - lm.log(self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        return lm.exp(-lm.exp((self.loc - value) / self.scale))

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return self.loc - self.scale * lm.log(-lm.log(value))

    def entropy(self) -> Tensor:
        """Returns ``log(scale) + 1 + EULER``, with the constant of Euler and Mascheroni."""
        return lm.log(self.scale) + (1 + EULER)


class Uniform(Distribution):
    """The uniform distribution on ``[low, high]``.

    Args:
        low: The lower bound.
        high: The upper bound, above low.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: with `validate_args`, where high is not above low.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"low": constraints.dependent, "high": constraints.dependent}
    has_rsample = True

    low: Tensor
    high: Tensor

    def __init__(self, low: Parameter, high: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, low=low, high=high), validate_args=validate_args)
        if self._validate_args and not lm.all(self.low < self.high):
            raise ValueError(f"[{type(self).__name__}] high must be above low, got {self.low} and {self.high}")

    @constraints.dependent_property()
    def support(self) -> Any:
        """Numbers from low to high."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.low + self.high) / 2

    @property
    def mode(self) -> Tensor:
        """NaN, as no number is more likely than others."""
        return lm.full_like(self.low, math.nan)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return lm.square(self.high - self.low) / 12

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by low and high."""
        return self.low + (self.high - self.low) * drawn(lm.rand, self.low, self._extended_shape(shape), generator)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density, minus infinity outside of the bounds."""
        value = self._checked(value)
        inside = (value >= self.low) & (value <= self.high)
        return lm.where(inside, -lm.log(self.high - self.low), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        return lm.clip((value - self.low) / (self.high - self.low), 0.0, 1.0)

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return self.low + value * (self.high - self.low)

    def entropy(self) -> Tensor:
        """Returns ``log(high - low)``."""
        return lm.log(self.high - self.low)
