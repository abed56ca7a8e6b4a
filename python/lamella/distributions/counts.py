"""Distributions of counts: geometric, Poisson, binomial and negative binomial."""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._counting import binomial
from ._deviance import LARGE, by_size, log_many, log_poisson, stirling
from ._implicit import lower_gamma
from ._support import ConstraintsByName, Parameter, ProbsOrLogits, Shape, adopt, expanded
from .bernoulli import enumerated
from .distribution import Distribution, in_double
from .exp_family import ExponentialFamily

# Logits beyond which the logarithm of a sigmoid is the logit, and the sigmoid itself is a float64 still.
_LOGIT_BOUND = 700.0


def _chances(logits: Tensor, successes: Tensor, failures: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the chances of a success and of a failure, and what powers of them lack: of logits that are far off."""
    inside = lm.clip(logits, -_LOGIT_BOUND, _LOGIT_BOUND)
    below, above = lm.clip(logits + _LOGIT_BOUND, max=0.0), lm.clip(logits - _LOGIT_BOUND, 0.0)
    beyond = successes * below - failures * above
    return lm.sigmoid(inside), lm.sigmoid(-inside), beyond


class Geometric(ProbsOrLogits, Distribution):
    """The number of failures before the first success: ``(1 - p) ** k * p`` for k from 0 on.

    Args:
        probs: The probability p of a success, in (0, 1]; or
        logits: ``log(p / (1 - p))`` of it.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where both are given, or none.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Parameter | None = None, logits: Parameter | None = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._adopt_probability(probs, logits), validate_args=validate_args)
        if self._validate_args and self._given == "probs" and not lm.all(self.probs > 0):
            raise ValueError(f"[{type(self).__name__}] probs: expected probabilities above 0, got {self.probs}")

    def _logs(self) -> tuple[Tensor, Tensor]:
        """Returns the logarithms of the probabilities of a success and of a failure."""
        if self._given == "probs":
            return lm.log(self.probs), lm.log1p(-self.probs)
        return lm.log_sigmoid(self.logits), lm.log_sigmoid(-self.logits)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        """The mode, 0."""
        return lm.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (1 / self.probs - 1) / self.probs

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws in the parameter's dtype."""
        with lm.no_grad():
            return lm.geometric(None, expanded(self.probs, self._extended_shape(shape)), generator=generator) - 1

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability."""
        value = self._checked(value)
        if self._given == "probs":
            return lm.xlog1py(value, -self.probs) + lm.log(self.probs)
        success, failure = self._logs()
        return value * failure + success

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of counts up to `value`."""
        value = self._checked(value)
        return -lm.expm1((lm.floor(value) + 1) * self._logs()[1])

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        p = self.probs
        return (-lm.xlogy(p, p) - lm.xlog1py(1 - p, -p)) / p


class Poisson(ExponentialFamily):
    """The Poisson distribution: ``rate ** k * exp(-rate) / k!``.

    Args:
        rate: The mean, at least 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    rate: Tensor

    def __init__(self, rate: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(adopt(self, rate=rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean, rate."""
        return self.rate

    @property
    def mode(self) -> Tensor:
        """The mode; of two equally likely counts the larger one."""
        return lm.floor(self.rate)

    @property
    def variance(self) -> Tensor:
        """The variance, rate."""
        return self.rate

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws in the rate's dtype."""
        with lm.no_grad():
            return lm.poisson(expanded(self.rate, self._extended_shape(shape)), generator=generator)

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability."""

        def direct(rate: Tensor, k: Tensor) -> Tensor:
            return lm.xlogy(k, rate) - rate - lm.lgamma(k + 1)

        def by_terms(rate: Tensor, k: Tensor) -> Tensor:
            return log_many(k, rate, rate - k)

        small = (value < LARGE) | (self.rate <= 0)
        return by_size(small, direct, by_terms, (self.rate, 20.0), (value, 20.0))

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of counts up to `value`."""
        value = self._checked(value)
        return 1 - lower_gamma(lm.floor(value) + 1, self.rate)

    def entropy(self) -> Tensor:
        """Raises NotImplementedError: the entropy has no closed form."""
        raise self._has_no("entropy")

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (lm.log(self.rate),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return lm.exp(natural_params[0])


class Binomial(ProbsOrLogits, Distribution):
    """The number of successes in a number of trials.

    Args:
        total_count: The number of trials, an integer of at least 0.
        probs: The probability of a success; or
        logits: ``log(p / (1 - p))`` of it.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where both are given, or none.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    total_count: Tensor

    def __init__(
        self,
        total_count: Parameter = 1,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._adopt_probability(probs, logits, total_count=total_count)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True)
    def support(self) -> Any:
        """Integers from 0 to the number of trials."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """The mode; of two equally likely counts the larger one."""
        return lm.minimum(lm.floor((self.total_count + 1) * self.probs), self.total_count)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws in the parameter's dtype."""
        size = self._extended_shape(shape)
        with lm.no_grad():
            return binomial(expanded(self.total_count, size), expanded(self.probs, size), generator)

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability."""
        of_logits = self._form == "logits"
        given = self.logits if of_logits else self.probs

        def direct(n: Tensor, p: Tensor, k: Tensor) -> Tensor:
            ways = lm.lgamma(n + 1) - lm.lgamma(k + 1) - lm.lgamma(n - k + 1)
            if of_logits:
                return ways + k * lm.log_sigmoid(p) + (n - k) * lm.log_sigmoid(-p)
            return ways + lm.xlogy(k, p) + lm.xlog1py(n - k, -p)

        def by_terms(n: Tensor, p: Tensor, k: Tensor) -> Tensor:
            rest = n - k
            p, q, beyond = _chances(p, k, rest) if of_logits else (p, 1 - p, 0.0)

            @functools.cache
            def excess() -> Tensor:
                if not of_logits:
                    return self._excess(n, p, k)
                # Of two rounded chances that add up to 1, the smaller one has more digits.
                rare = p < 0.5
                off = self._excess(n, lm.where(rare, p, q), lm.where(rare, k, rest))
                return lm.where(rare, off, -off)

            counts = log_poisson(k, n * p, excess) + log_poisson(rest, n * q, lambda: -excess())
            return counts + stirling(n) + beyond

        n = self.total_count
        small = n < LARGE if of_logits else (n < LARGE) | (given <= 0) | (given >= 1)
        return by_size(small, direct, by_terms, (n, 20.0), (given, 0.5), (value, 10.0))

    def entropy(self) -> Tensor:
        """Returns the entropy, a sum over all counts; see :meth:`enumerate_support`."""
        logs = self.log_prob(self.enumerate_support(expand=False))
        return -lm.sum(lm.exp(logs) * logs, axis=0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Returns the counts from 0 on along a new first axis.

        Raises:
            NotImplementedError: where the numbers of trials of a batch differ.
        """
        trials = lm.max(self.total_count) if self.total_count.size else lm.zeros([])
        if not lm.all(self.total_count == trials):
            raise NotImplementedError("[Binomial] enumerate_support: the numbers of trials differ")
        return enumerated(self, 1 + int(trials.item()), expand)


class NegativeBinomial(ProbsOrLogits, Distribution):
    """The number of successes before a number of failures.

    Args:
        total_count: The number of failures to stop at, at least 0; it need not be an integer.
        probs: The probability of a success, in [0, 1); or
        logits: ``log(p / (1 - p))`` of it.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where both are given, or none.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "total_count": constraints.nonnegative,
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    total_count: Tensor

    def __init__(
        self,
        total_count: Parameter,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._adopt_probability(probs, logits, total_count=total_count)
        super().__init__(shape, validate_args=validate_args)

    @property
    def _odds(self) -> Tensor:
        return self.probs / (1 - self.probs) if self._given == "probs" else lm.exp(self.logits)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self._odds

    @property
    def mode(self) -> Tensor:
        """The mode; of two equally likely counts the larger one."""
        return lm.clip(lm.floor((self.total_count - 1) * self._odds), 0.0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        odds = self._odds
        return self.total_count * odds * (1 + odds)

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws of Poisson distributions, the rates of which are draws of a gamma distribution."""
        with lm.no_grad():
            n = expanded(self.total_count, self._extended_shape(shape))
            rates = lm.gamma(None, lm.where(n > 0, n, 1.0), generator=generator)
            return lm.poisson(lm.where(n > 0, rates, 0.0) * self._odds, generator=generator)

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability."""
        of_logits = self._form == "logits"
        given = self.logits if of_logits else self.probs
        n = self.total_count
        some = lm.where(n > 0, n, 1.0)

        def direct(n: Tensor, p: Tensor, k: Tensor) -> Tensor:
            ways = lm.lgamma(n + k) - lm.lgamma(k + 1) - lm.lgamma(n)
            if of_logits:
                return ways + k * lm.log_sigmoid(p) + n * lm.log_sigmoid(-p)
            return ways + lm.xlogy(k, p) + n * lm.log1p(-p)

        def by_terms(n: Tensor, p: Tensor, k: Tensor) -> Tensor:
            p, q, beyond = _chances(p, k, n) if of_logits else (p, 1 - p, 0.0)
            total = n + k

            @functools.cache
            def excess() -> Tensor:
                # The mean of the successes among all less their number, n p - k q, of exact products.
                failed = k * q
                result = self._excess(n, p, failed) - self._excess(k, q, failed).detach()
                return result if of_logits else result - (k * ((1 - q) - p)).detach()

            counts = log_poisson(k, total * p, excess) + log_poisson(n, total * q, lambda: -excess())
            return counts + stirling(total) - lm.log1p(k / n) + beyond

        small = some + value < LARGE
        small = small if of_logits else small | (given <= 0)
        result = by_size(small, direct, by_terms, (some, 20.0), (given, 0.5), (value, 10.0))
        return lm.where(n > 0, result, lm.where(value > 0, -math.inf, 0.0))
