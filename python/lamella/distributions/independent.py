"""Batches of distributions as one distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from .._C import Generator, Tensor
from . import constraints
from ._support import ConstraintsByName, Shape, sum_rightmost
from .distribution import Distribution, draws_of


class Independent(Distribution):
    """A distribution of which the rightmost axes of the batch count as part of an event.

    Args:
        base_distribution: A distribution with a batch shape.
        reinterpreted_batch_ndims: Number of axes that become part of an event.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where the batch has not as many axes.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        if not isinstance(base_distribution, Distribution):
            raise TypeError(
                f"[Independent] base_distribution: expected a Distribution, got {type(base_distribution).__name__}"
            )
        count = len(base_distribution.batch_shape)
        if not 0 <= reinterpreted_batch_ndims <= count:
            raise ValueError(
                f"[Independent] reinterpreted_batch_ndims: expected at most the {count} axes of the batch shape "
                f"{list(base_distribution.batch_shape)}, got {reinterpreted_batch_ndims}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = count - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def _holder(self) -> Distribution:
        return self.base_dist._holder()

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """True where the base distribution has draws with gradients."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """True where no axis was made part of an event, and the base distribution has it."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property(event_dim=None)
    def support(self) -> Any:
        """The base distribution's support, with further axes."""
        support = self.base_dist.support
        count = self.reinterpreted_batch_ndims
        return constraints.independent(support, count) if count else support

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The mode."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.base_dist.variance

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws of the base distribution."""
        return draws_of(self.base_dist.sample, shape, generator)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws of the base distribution with gradients."""
        return draws_of(self.base_dist.rsample, shape, generator)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the base distribution's logarithms, summed over an event."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """Returns the base distribution's entropies, summed over an event."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Returns the base distribution's events, where no axis was made part of an event."""
        if self.reinterpreted_batch_ndims:
            return super().enumerate_support(expand)
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"
