"""Distributions of one of several classes, and counts of them."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._counting import multinomial
from ._deviance import LARGE, log_poisson, stirling
from ._support import (
    ConstraintsByName,
    Parameter,
    Shape,
    as_tensors,
    clipped_probs,
    exactly_one,
    expanded,
    gumbel,
    lazy_property,
)
from .distribution import Distribution, in_double
from .transformed import TransformedDistribution
from .transforms import ExpTransform

# Logits from which on down exponentials are no float64, and count as 0 beside those of other classes.
_LEAST_LOGIT = -700.0
# Number of draws for each class of a Multinomial from which on they are not made one by one.
_COUNTED_PER_CLASS = 64


class _Classes(Distribution):
    """A distribution with a probability for each class, given as weights or as their logarithms."""

    arg_constraints: ClassVar[ConstraintsByName] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def _adopt_classes(self, probs: Tensor | None, logits: Tensor | None) -> tuple[int, ...]:
        """Sets the form that was given, with probabilities that sum to 1, and returns its shape."""
        owner = type(self).__name__
        self._given, weights = exactly_one(owner, probs=probs, logits=logits)
        (value,) = as_tensors(owner, **{self._given: weights})
        if value.ndim < 1 or value.shape[-1] < 1:
            raise ValueError(f"[{owner}] {self._given}: expected an axis of classes, got the shape {list(value.shape)}")
        if self._given == "probs":
            self.probs = value / lm.sum(value, axis=-1, keepdims=True)
        else:
            self.logits = lm.log_softmax(value, axis=-1)
        return value.shape

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of each class."""
        return lm.exp(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithm of the probability of each class."""
        return lm.log(lm.clip(self.probs, lm.finfo(self.probs.dtype).smallest_normal))

    @property
    def _param(self) -> Tensor:
        kept = vars(self)
        return kept[self._given]  # type: ignore[no-any-return]

    @property
    def _form(self) -> str:
        """Name of the form that large counts are computed of, the one that was given."""
        return self._given

    @property
    def param_shape(self) -> tuple[int, ...]:
        """Shape of the probabilities."""
        return self._param.shape

    def _logits_but_for_none(self, counts: Tensor) -> Tensor:
        """Returns the logits, 0 for those of minus infinity (of classes without any probability) that count nothing."""
        return lm.where((counts == 0) & (self.logits == -math.inf), 0.0, self.logits)

    def _drawn_classes(self, count: int, generator: Generator | None) -> Tensor:
        """Returns the classes of `count` draws, int64 of shape ``[count, *leading axes of the probabilities]``."""
        probs = self.probs
        rows = lm.reshape(probs, (math.prod(probs.shape[:-1]), probs.shape[-1]))
        if count == 0 or rows.shape[0] == 0:
            return lm.zeros((count, *probs.shape[:-1]), dtype="int64", device=str(probs.device))
        draws = lm.multinomial(rows, count, True, generator=generator)
        return lm.reshape(draws.T, (count, *probs.shape[:-1]))


class Categorical(_Classes):
    """The number of one of several classes, from 0 on.

    Args:
        probs: The weight of each class, ``[*batch_shape, classes]``, at least 0; they are divided by their sum. Or
        logits: Logarithms of weights, likewise.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where both are given, or none, or without an axis of classes.
    """

    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        shape = self._adopt_classes(probs, logits)
        self._num_events = shape[-1]
        super().__init__(shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True)
    def support(self) -> Any:
        """Integers from 0 to the number of classes, less 1."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        """NaN, as classes have no mean."""
        return lm.full(self.batch_shape, math.nan, dtype=self._param.dtype, device=str(self._param.device))

    @property
    def mode(self) -> Tensor:
        """The most probable class."""
        return lm.argmax(self._param, axis=-1)

    @property
    def variance(self) -> Tensor:
        """NaN, as classes have no variance."""
        return self.mean

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws, int64."""
        with lm.no_grad():
            size = self._extended_shape(shape)
            return lm.reshape(self._drawn_classes(math.prod(shape), generator), size)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability.

        Args:
            value: Numbers of classes, in any real dtype.
        """
        self._checked(value)
        logits = self.logits
        places = value if lm.isdtype(value.dtype, "integral") else value.astype("int64")
        shape = lm.broadcast_shapes(places.shape, self.batch_shape)
        logits = expanded(logits, (*shape, self._num_events))
        places = lm.expand_dims(expanded(places, shape), axis=-1)
        return lm.squeeze(lm.take_along_axis(logits, places, axis=-1), axis=-1)

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        # Classes without any probability have logits of minus infinity.
        logits = lm.clip(self.logits, lm.finfo(self.logits.dtype).min)
        return -lm.sum(logits * self.probs, axis=-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Returns the numbers of all classes along a new first axis, int64."""
        axes = len(self.batch_shape)
        values = lm.arange(self._num_events, dtype="int64", device=str(self._param.device))
        values = values.reshape([self._num_events] + [1] * axes)
        return lm.broadcast_to(values, (self._num_events, *self.batch_shape)) if expand else values


class OneHotCategorical(_Classes):
    """One of several classes, as a vector with a 1 in its place.

    Args:
        probs: The weight of each class, ``[*batch_shape, classes]``, at least 0; they are divided by their sum. Or
        logits: Logarithms of weights, likewise.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where both are given, or none, or without an axis of classes.
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        shape = self._adopt_classes(probs, logits)
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean, the probabilities."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The most probable class."""
        return self._one_hot(lm.argmax(self._param, axis=-1))

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        return self.probs * (1 - self.probs)

    def _one_hot(self, classes: Tensor) -> Tensor:
        return lm.one_hot(classes, self._event_shape[0]).astype(self._param.dtype)

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws in the parameter's dtype."""
        with lm.no_grad():
            size = self._extended_shape(shape)
            return lm.reshape(self._one_hot(self._drawn_classes(math.prod(shape), generator)), size)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability."""
        value = self._checked(value)
        return lm.sum(value * self._logits_but_for_none(value), axis=-1)

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        return Categorical.entropy(self)  # type: ignore[arg-type]

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Returns all vectors along a new first axis."""
        count = self._event_shape[0]
        values = lm.eye(count, dtype=self._param.dtype, device=str(self._param.device))
        values = values.reshape([count] + [1] * len(self.batch_shape) + [count])
        return lm.broadcast_to(values, (count, *self.batch_shape, count)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """:class:`OneHotCategorical`, through the draws of which the gradient of the probabilities is passed.

    (Bengio, Léonard and Courville, "Estimating or propagating gradients through stochastic neurons for conditional
    computation", 2013.)
    """

    has_rsample = True

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws, whose gradient by the probabilities is 1."""
        draws = self.sample(shape, generator=generator)
        return draws + (self.probs - self.probs.detach())


class Multinomial(_Classes):
    """Counts of each of several classes in a number of draws.

    Args:
        total_count: The number of draws, an integer of at least 0.
        probs: The weight of each class, ``[*batch_shape, classes]``, at least 0; they are divided by their sum. Or
        logits: Logarithms of weights, likewise.
        validate_args: See :class:`Distribution`.

    Raises:
        TypeError: for a total_count that is not an integer.
        ValueError: where it is below 0, where both forms of the weights are given, or none.
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(total_count, bool) or not isinstance(total_count, int):
            raise TypeError(f"[Multinomial] total_count: expected an integer, got {type(total_count).__name__}")
        if total_count < 0:
            raise ValueError(f"[Multinomial] total_count is at least 0, not {total_count}")
        self.total_count = total_count
        shape = self._adopt_classes(probs, logits)
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Vectors of counts with a sum up to the number of draws."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws in the parameter's dtype."""
        with lm.no_grad():
            size = self._extended_shape(shape)
            if self.total_count > _COUNTED_PER_CLASS * size[-1]:
                return multinomial(self.total_count, self.probs, size, generator)
            classes = self._drawn_classes(self.total_count * math.prod(shape), generator)
            classes = lm.reshape(classes, (self.total_count, math.prod(size[:-1])))
            counts = lm.zeros((math.prod(size[:-1]), size[-1]), dtype=self._param.dtype, device=str(classes.device))
            ones = lm.ones(classes.T.shape, dtype=self._param.dtype, device=str(classes.device))
            return lm.reshape(lm.scatter_add(counts, 1, classes.T, ones), size)

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability."""
        if self.total_count < LARGE:
            chosen = value * self._logits_but_for_none(value)
            ways = lm.lgamma(lm.sum(value, axis=-1) + 1) - lm.sum(lm.lgamma(value + 1), axis=-1)
            return ways + lm.sum(chosen, axis=-1)
        beyond: Tensor | float = 0.0
        if self._form == "probs":
            probs = self.probs
        else:
            bound = lm.clip(self.logits, _LEAST_LOGIT)
            probs = lm.exp(bound)
            beyond = value * lm.where(value > 0, self.logits - bound, 0.0)
        total = lm.sum(value, axis=-1, keepdims=True)
        # A class without any probability that counts nothing is left out, and its slope with it.
        none = (value == 0) & (probs <= math.exp(_LEAST_LOGIT))
        probs = lm.where(none, 1.0, probs)
        counts = log_poisson(value, total * probs, lambda: self._excess(total, probs, value))
        counts = counts + lm.where(none, total, 0.0) + beyond
        return lm.sum(counts, axis=-1) + stirling(lm.squeeze(total, axis=-1))

    @in_double
    def entropy(self) -> Tensor:
        """Returns the entropy, a sum over the counts of each class by itself."""
        n = self.total_count
        like = self._param
        counts = lm.arange(n + 1, dtype=like.dtype, device=str(like.device))
        counts = counts.reshape([n + 1] + [1] * len(self.batch_shape) + [1])
        p = clipped_probs(self.probs)
        mean, whole = n * p, stirling(lm.full([], n, dtype=like.dtype, device=str(like.device)))
        # Chances of counts are products of those of Poisson distributions, of which each class has one in the entropy.
        inside = log_poisson(counts, mean, lambda: mean - counts)
        outside = log_poisson(n - counts, n * (1 - p), lambda: counts - mean)
        return -lm.sum(lm.exp(inside + outside + whole) * inside, axis=(0, -1)) - whole


class ExpRelaxedCategorical(_Classes):
    """The distribution of the logarithms of :class:`RelaxedOneHotCategorical`.

    Args:
        temperature: Above 0.
        probs: The weight of each class, ``[*batch_shape, classes]``; or
        logits: Logarithms of weights.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "temperature": constraints.positive,
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.real_vector
    has_rsample = True
    _unbatched: ClassVar[frozenset[str]] = frozenset({"temperature"})

    def __init__(
        self,
        temperature: Parameter,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._adopt_classes(probs, logits)
        self.temperature = as_tensors(type(self).__name__, temperature=temperature, like=self._param)[0]
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with a gradient by the parameter."""
        noise = gumbel(self._param, self._extended_shape(shape), generator)
        return lm.log_softmax((self.logits + noise) / self.temperature, axis=-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        count = self._event_shape[0]
        scores = lm.log_softmax(self.logits - value * self.temperature, axis=-1)
        return math.lgamma(count) + (count - 1) * lm.log(self.temperature) + lm.sum(scores, axis=-1)


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors on the simplex that become those of :class:`OneHotCategorical` as the temperature goes to 0.

    (Maddison, Mnih and Teh, "The concrete distribution: a continuous relaxation of discrete random variables", 2017;
    Jang, Gu and Poole, "Categorical reparameterization with Gumbel-softmax", 2017.)

    Args:
        temperature: Above 0.
        probs: The weight of each class, ``[*batch_shape, classes]``; or
        logits: Logarithms of weights.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where both are given, or none.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "temperature": constraints.positive,
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Parameter,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=False)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes in the limit."""
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities of the classes in the limit."""
        return self.base_dist.logits
