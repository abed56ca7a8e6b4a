"""Distributions of transformed draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._support import ConstraintsByName, Shape, sum_rightmost
from .distribution import Distribution, draws_of
from .independent import Independent
from .transforms import ComposeTransform, Transform


class TransformedDistribution(Distribution):
    """The distribution of ``t(x)`` for draws x of another distribution.

    Its density is that of x, less the logarithm of the absolute determinant of the Jacobian of t.

    Args:
        base_distribution: The distribution of x.
        transforms: One transform or several, the first of which is applied first. Where one takes events of more axes
            than the distribution's, axes of its batch become part of an event.
        validate_args: See :class:`Distribution`.

    Raises:
        TypeError: for what is not a transform.
        ValueError: where the distribution has fewer axes than the first transform takes.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        for transform in self.transforms:
            if not isinstance(transform, Transform):
                raise TypeError(
                    f"[{type(self).__name__}] transforms: expected transforms, got {type(transform).__name__}"
                )
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event_dim = len(base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        domain_dim = transform.domain.event_dim
        if len(base_shape) < domain_dim:
            raise ValueError(
                f"[{type(self).__name__}] the transforms take events of {domain_dim} axes, and the base distribution "
                f"has the shape {list(base_shape)}"
            )
        forward_shape = transform.forward_shape(base_shape)
        expanded_shape = transform.inverse_shape(forward_shape)
        if base_shape != expanded_shape:  # parameters of the transforms make a larger batch
            batch_shape = expanded_shape[: len(expanded_shape) - base_event_dim]
            base_distribution = base_distribution.expand(batch_shape)
        reinterpreted = domain_dim - base_event_dim
        if reinterpreted > 0:
            base_distribution = Independent(base_distribution, reinterpreted)
        self.base_dist = base_distribution
        event_dim = transform.codomain.event_dim + max(base_event_dim - domain_dim, 0)
        cut = len(forward_shape) - event_dim
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def _holder(self) -> Distribution:
        return self.base_dist._holder()

    def expand(self, batch_shape: Shape) -> Self:
        """Returns the distribution broadcast to a larger batch shape."""
        shape = tuple(batch_shape)
        self._check_expand(shape)
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        base_shape = ComposeTransform(self.transforms).inverse_shape(shape + self.event_shape)
        new.base_dist = self.base_dist.expand(base_shape[: len(base_shape) - len(self.base_dist.event_shape)])
        new._batch_shape = shape
        return new

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """True where the base distribution has draws with gradients."""
        return self.base_dist.has_rsample

    @constraints.dependent_property(event_dim=None)
    def support(self) -> Any:
        """The codomain of the last transform."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        further = len(self.event_shape) - support.event_dim
        return constraints.independent(support, further) if further > 0 else support

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns transformed draws, through which no gradient flows."""
        with lm.no_grad():
            x = draws_of(self.base_dist.sample, shape, generator)
            for transform in self.transforms:
                x = transform(x)
            return x

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns transformed draws with gradients by the parameters of the base distribution and of the transforms."""
        x = draws_of(self.base_dist.rsample, shape, generator)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density, through the inverses of the transforms.

        Raises:
            NotImplementedError: where a transform has no inverse or no determinant.
        """
        value = self._checked(value)
        event_dim = len(self.event_shape)
        result: Tensor | float = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform._invert(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            result = result - sum_rightmost(slope, event_dim - transform.domain.event_dim)
            y = x
        base = self.base_dist.log_prob(y)
        return result + sum_rightmost(base, event_dim - len(self.base_dist.event_shape))

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the probability of numbers up to `value`, where all transforms increase or decrease."""
        value = self._checked(value)
        for transform in reversed(self.transforms):
            value = transform._invert(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the quantiles of probabilities, where all transforms increase or decrease."""
        self._check_probability(value)
        value = self.base_dist.icdf(self._turned(value))
        for transform in self.transforms:
            value = transform(value)
        return value

    def _turned(self, probability: Tensor) -> Tensor:
        """Returns p, or 1 - p where the transforms together decrease."""
        sign: int | Tensor = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int):
            return probability if sign == 1 else 1 - probability
        return sign * (probability - 0.5) + 0.5

    def __repr__(self) -> str:
        if self.arg_constraints:
            return super().__repr__()
        return f"{type(self).__name__}({self.base_dist!r}, {self.transforms})"
