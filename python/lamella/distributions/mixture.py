"""Mixtures of distributions of one kind."""

from __future__ import annotations

from typing import Any, ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._support import ConstraintsByName, Shape
from .categorical import Categorical
from .constraints import Constraint
from .distribution import Distribution, draws_of


class _Mixed(Constraint):
    """Values that lie in the supports of all components."""

    def __init__(self, base: Constraint, event_dim: int) -> None:
        self._base = base
        self._axis = -1 - event_dim
        self.event_dim = event_dim
        self.is_discrete = base.is_discrete

    def check(self, value: Tensor) -> Tensor:
        result = self._base.check(lm.expand_dims(value, axis=self._axis))
        # The components are the last axis of what is left of the batch.
        further = self.event_dim - self._base.event_dim
        return lm.all(result, axis=tuple(range(-1 - further, 0)))

    def __repr__(self) -> str:
        return repr(self._base)


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last axis of a batch.

    Args:
        mixture_distribution: The probabilities of the components, a :class:`Categorical`.
        component_distribution: The components, whose batch shape is that of `mixture_distribution` and an axis more.
        validate_args: See :class:`Distribution`.

    Raises:
        TypeError: where mixture_distribution is not a Categorical, or component_distribution no distribution.
        ValueError: where the shapes or the numbers of components differ.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            kind = type(mixture_distribution).__name__
            raise TypeError(f"[MixtureSameFamily] mixture_distribution: expected a Categorical, got {kind}")
        if not isinstance(component_distribution, Distribution):
            kind = type(component_distribution).__name__
            raise TypeError(f"[MixtureSameFamily] component_distribution: expected a Distribution, got {kind}")
        shape = component_distribution.batch_shape
        count = mixture_distribution.param_shape[-1]
        fits = shape[-1:] == (count,)
        if fits:
            try:
                fits = lm.broadcast_shapes(mixture_distribution.batch_shape, shape[:-1]) == shape[:-1]
            except ValueError:
                fits = False
        if not fits:
            raise ValueError(
                f"[MixtureSameFamily] {count} components of batch shape {list(mixture_distribution.batch_shape)} do "
                f"not fit the batch shape {list(shape)} of component_distribution"
            )
        self._mixture_distribution = mixture_distribution.expand(shape[:-1])
        self._component_distribution = component_distribution
        super().__init__(shape[:-1], component_distribution.event_shape, validate_args=validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        """The probabilities of the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    @constraints.dependent_property(event_dim=None)
    def support(self) -> Any:
        """The support of all components."""
        return _Mixed(self._component_distribution.support, len(self._event_shape))

    def _weights(self) -> Tensor:
        """Returns the probabilities, with axes for an event."""
        probs = self._mixture_distribution.probs
        return lm.reshape(probs, probs.shape + (1,) * len(self._event_shape))

    @property
    def _axis(self) -> int:
        """The axis of the components in a tensor of theirs."""
        return -1 - len(self._event_shape)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return lm.sum(self._weights() * self._component_distribution.mean, axis=self._axis)

    @property
    def variance(self) -> Tensor:
        """The variance: that within the components, and that of their means."""
        weights = self._weights()
        means = self._component_distribution.mean
        distance = means - lm.sum(weights * means, axis=self._axis, keepdims=True)
        return lm.sum(weights * (self._component_distribution.variance + lm.square(distance)), axis=self._axis)

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws, through which no gradient flows."""
        with lm.no_grad():
            chosen = draws_of(self._mixture_distribution.sample, shape, generator)
            draws = draws_of(self._component_distribution.sample, shape, generator)
            places = lm.reshape(chosen, chosen.shape + (1,) * (1 + len(self._event_shape)))
            at = list(draws.shape)
            at[self._axis] = 1
            return lm.squeeze(lm.take_along_axis(draws, lm.broadcast_to(places, at), axis=self._axis), axis=self._axis)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability, or of the density."""
        value = self._checked(value)
        logs = self._component_distribution.log_prob(lm.expand_dims(value, axis=self._axis))
        return lm.logsumexp(logs + self._mixture_distribution.logits, axis=-1)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`."""
        value = self._checked(value)
        parts = self._component_distribution.cdf(lm.expand_dims(value, axis=self._axis))
        return lm.sum(parts * self._mixture_distribution.probs, axis=-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self._mixture_distribution!r}, {self._component_distribution!r})"
