"""The normal distribution, and those of its exponential and of its absolute value."""

from __future__ import annotations

import math
from typing import ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._support import HALF_LOG_2PI, ConstraintsByName, Parameter, Shape, adopt, drawn
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .transformed import TransformedDistribution
from .transforms import ExpTransform


class Normal(ExponentialFamily):
    """The normal distribution: ``exp(-((x - loc) / scale) ** 2 / 2) / (scale sqrt(2 pi))``.

    Args:
        loc: The mean.
        scale: The standard deviation, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = -HALF_LOG_2PI

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
    def stddev(self) -> Tensor:
        """The standard deviation, scale."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return lm.square(self.scale)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by loc and scale."""
        return self.loc + self.scale * drawn(lm.randn, self.loc, self._extended_shape(shape), generator)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        return lm.square((value - self.loc) / self.scale) * -0.5 - (lm.log(self.scale) + HALF_LOG_2PI)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        return lm.ndtr((value - self.loc) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return self.loc + self.scale * lm.ndtri(value)

    def entropy(self) -> Tensor:
        """Returns ``log(scale sqrt(2 pi e))``."""
        return lm.log(self.scale) + (0.5 + HALF_LOG_2PI)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        precision = 1 / self.variance
        return self.loc * precision, -0.5 * precision

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return -0.25 * x * x / y - 0.5 * lm.log(-2 * y)


class LogNormal(TransformedDistribution):
    """The distribution of ``exp(x)`` for a normal x.

    Args:
        loc: The mean of the logarithm.
        scale: The standard deviation of the logarithm, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Normal

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=False), ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return lm.exp(self.loc + 0.5 * lm.square(self.scale))

    @property
    def mode(self) -> Tensor:
        """The mode."""
        return lm.exp(self.loc - lm.square(self.scale))

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = lm.square(self.scale)
        return lm.expm1(square) * lm.exp(2 * self.loc + square)

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        return self.base_dist.entropy() + self.loc


class HalfNormal(Distribution):
    """The distribution of ``abs(x)`` for a normal x with mean 0.

    Args:
        scale: The standard deviation of x, above 0.
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
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        """The mode, 0."""
        return lm.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return lm.square(self.scale) * (1 - 2 / math.pi)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with a gradient by the scale."""
        return self.scale * lm.abs(drawn(lm.randn, self.scale, self._extended_shape(shape), generator))

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density, minus infinity below 0."""
        value = self._checked(value)
        inside = lm.square(value / self.scale) * -0.5 - (lm.log(self.scale) + (HALF_LOG_2PI - math.log(2)))
        return lm.where(value >= 0, inside, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        return lm.erf(lm.clip(value, 0.0) / (self.scale * math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return self.scale * math.sqrt(2) * lm.erfinv(value)

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        return lm.log(self.scale) + (0.5 + HALF_LOG_2PI - math.log(2))
