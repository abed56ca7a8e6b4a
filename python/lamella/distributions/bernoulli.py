"""Distributions of one probability: Bernoulli and its continuous forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._support import ConstraintsByName, Parameter, ProbsOrLogits, Shape, as_tensors, drawn, expanded, open_uniform
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .transformed import TransformedDistribution
from .transforms import SigmoidTransform


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with a probability, else 0.

    Args:
        probs: The probability of 1; or
        logits: ``log(p / (1 - p))`` of it.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where both are given, or none.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self, probs: Parameter | None = None, logits: Parameter | None = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._adopt_probability(probs, logits), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The mode; NaN where both outcomes are equally likely."""
        mode = (self.probs >= 0.5).astype(self.probs.dtype)
        return lm.where(self.probs == 0.5, math.nan, mode)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws, 0 and 1 in the parameter's dtype."""
        with lm.no_grad():
            return lm.bernoulli(expanded(self.probs, self._extended_shape(shape)), generator=generator)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability."""
        value = self._checked(value)
        if self._form == "probs":
            return lm.xlogy(value, self.probs) + lm.xlog1py(1 - value, -self.probs)
        x = self.logits
        return value * lm.log_sigmoid(x) + (1 - value) * lm.log_sigmoid(-x)

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        if self._given == "probs":
            return -lm.xlogy(self.probs, self.probs) - lm.xlog1py(1 - self.probs, -self.probs)
        size = lm.abs(self.logits)
        return size * lm.sigmoid(-size) - lm.log_sigmoid(size)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Returns 0 and 1 along a new first axis."""
        return enumerated(self, 2, expand)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return -lm.log_sigmoid(-natural_params[0])


def enumerated(distribution: Distribution, count: int, expand: bool) -> Tensor:
    """Returns the numbers from 0 on along a new first axis, for each of a batch of distributions of numbers."""
    like: Tensor = distribution._param  # type: ignore[attr-defined]
    axes = len(distribution.batch_shape)
    values = lm.arange(count, dtype=like.dtype, device=str(like.device)).reshape([count] + [1] * axes)
    return lm.broadcast_to(values, (count, *distribution.batch_shape)) if expand else values


# Coefficients of log(sinh(h) / h) as a power series in h * h (DLMF 4.19).
_SERIES = (1 / 6, -1 / 180, 1 / 2835, -1 / 37800, 1 / 467775, -691 / 3831077250, 2 / 127702575)
# Half logits below which the series takes over.
_NEAR = 0.25


def _polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    result = x * coefficients[-1]
    for c in reversed(coefficients[1:-1]):
        result = (result + c) * x
    return result + coefficients[0]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Numbers in [0, 1] with a density proportional to ``p ** x * (1 - p) ** (1 - x)``.

    In terms of the logits that is ``exp(logits x)``: an exponential distribution cut off at 1. (Loaiza-Ganem and
    Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational autoencoders", 2019.)

    Args:
        probs: p, in [0, 1]; or
        logits: ``log(p / (1 - p))``.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where both are given, or none.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, probs: Parameter | None = None, logits: Parameter | None = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._adopt_probability(probs, logits), validate_args=validate_args)

    def _halves(self) -> tuple[Tensor, Tensor, Tensor]:
        """Returns where the series serves, half logits for it, and half logits for the closed form."""
        half = 0.5 * self.logits
        near = lm.abs(half) < _NEAR
        return near, lm.where(near, half, 0.0), lm.where(near, 1.0, half)

    def _log_spread(self) -> Tensor:
        """Returns ``log(sinh(h) / h)`` for half logits h."""
        near, small, large = self._halves()
        size = lm.abs(large)
        square = small * small
        series = square * _polynomial(_SERIES, square)
        return lm.where(near, series, size + lm.log(-lm.expm1(-2 * size)) - lm.log(2 * size))

    def _slope(self) -> Tensor:
        """Returns Langevin's function ``coth(h) - 1 / h`` of half logits h, the derivative of :meth:`_log_spread`."""
        near, small, large = self._halves()
        series = small * _polynomial([2 * (k + 1) * c for k, c in enumerate(_SERIES)], small * small)
        return lm.where(near, series, 1 / lm.tanh(large) - 1 / large)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 0.5 + 0.5 * self._slope()

    @property
    def variance(self) -> Tensor:
        """The variance."""
        near, small, large = self._halves()
        slopes = [2 * (k + 1) * (2 * k + 1) * c for k, c in enumerate(_SERIES)]
        # 1 / sinh(h) ** 2, which does not overflow.
        decay = lm.exp(-2 * lm.abs(large))
        closed = 1 / lm.square(large) - 4 * decay / lm.square(1 - decay)
        return 0.25 * lm.where(near, _polynomial(slopes, small * small), closed)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with a gradient by the parameter."""
        return self._quantile(drawn(lm.rand, self.logits, self._extended_shape(shape), generator))

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        return self.logits * (value - 0.5) - self._log_spread()

    def _flat(self) -> tuple[Tensor, Tensor]:
        """Returns where the distribution is uniform but for a slope, and logits that are not 0."""
        x = self.logits
        flat = lm.abs(x) < lm.finfo(x.dtype).eps
        return flat, lm.where(flat, 1.0, x)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        value = lm.clip(value, 0.0, 1.0)
        flat, x = self._flat()
        size = lm.abs(x)
        # Below 0, expm1(x value) / expm1(x); above it, that of the mirrored distribution.
        ratio = lm.expm1(-size * value) / lm.expm1(-size) * lm.where(x > 0, lm.exp(size * (value - 1)), 1.0)
        return lm.where(flat, value + 0.5 * self.logits * value * (value - 1), ratio)

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities."""
        self._check_probability(value)
        return self._quantile(value)

    def _quantile(self, p: Tensor) -> Tensor:
        flat, x = self._flat()
        size = lm.abs(x)
        rising = x > 0
        tail = lm.log1p(lm.where(rising, 1 - p, p) * lm.expm1(-size)) / size
        return lm.where(flat, p + 0.5 * self.logits * p * (1 - p), lm.where(rising, 1 + tail, -tail))

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        return self._log_spread() - 0.5 * self.logits * self._slope()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        other = ContinuousBernoulli(logits=natural_params[0], validate_args=False)
        return 0.5 * natural_params[0] + other._log_spread()


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """The distribution of the logits of :class:`RelaxedBernoulli`.

    Args:
        temperature: Above 0; near 0 draws are far from 0.
        probs: The probability of 1 in the limit; or
        logits: ``log(p / (1 - p))`` of it.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "temperature": constraints.positive,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.real
    has_rsample = True
    _unbatched: ClassVar[frozenset[str]] = frozenset({"temperature"})

    def __init__(
        self,
        temperature: Parameter,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._adopt_probability(probs, logits)
        self.temperature = as_tensors(type(self).__name__, temperature=temperature, like=self._param)[0]
        super().__init__(shape, validate_args=validate_args)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with a gradient by the parameter."""
        uniform = open_uniform(self._param, self._extended_shape(shape), generator)
        return (lm.logit(uniform) + self.logits) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        difference = self.logits - value * self.temperature
        return lm.log(self.temperature) + lm.log_sigmoid(difference) + lm.log_sigmoid(-difference)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that become those of :class:`Bernoulli` as the temperature goes to 0, with gradients.

    (Maddison, Mnih and Teh, "The concrete distribution: a continuous relaxation of discrete random variables", 2017;
    Jang, Gu and Poole, "Categorical reparameterization with Gumbel-softmax", 2017.)

    Args:
        temperature: Above 0.
        probs: The probability of 1 in the limit; or
        logits: ``log(p / (1 - p))`` of it.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where both are given, or none.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "temperature": constraints.positive,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Parameter,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=False)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probability of 1 in the limit."""
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """The logits of the probability of 1 in the limit."""
        return self.base_dist.logits
