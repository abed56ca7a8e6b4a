"""Transforms from real numbers to the sets that constraints describe.

:data:`biject_to` gives one to one maps, through which densities can be followed; :data:`transform_to` maps that suit
optimizers, which may take more numbers than they need. Both are called with a constraint::

    scale = transform_to(Gamma.arg_constraints["rate"])(free_numbers)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._C import Tensor
from . import constraints
from .constraints import Constraint
from .transforms import (
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
    Transform,
    identity_transform,
)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """By the class of a constraint, what makes a transform for it.

    Args:
        name: How errors call it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._factories: dict[type[Constraint], Factory] = {}

    def register(self, constraint: Constraint | type[Constraint], factory: Factory | None = None) -> Any:
        """Registers what makes the transforms of a class of constraints; without `factory`, returns a decorator.

        Args:
            constraint: A class of constraints, or an object of it.
            factory: Takes a constraint and returns a transform.

        Raises:
            TypeError: for what is no constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, Constraint):
            raise TypeError(f"[{self._name}] register: expected a constraint, got {constraint!r}")
        self._factories[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """Returns a transform from real numbers to the set.

        Raises:
            NotImplementedError: where none is registered for the constraint's class.
        """
        factory = self._factories.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"[{self._name}] no transform is registered for {constraint!r}")
        return factory(constraint)


#: One to one maps from real numbers.
biject_to = ConstraintRegistry("biject_to")
#: Maps from real numbers that suit optimizers.
transform_to = ConstraintRegistry("transform_to")


def _both(constraint: Any) -> Callable[[Factory], Factory]:
    def register(factory: Factory) -> Factory:
        biject_to.register(constraint, factory)
        transform_to.register(constraint, factory)
        return factory

    return register


@_both(constraints.real)
def _real(constraint: Any) -> Transform:
    return identity_transform


@_both(constraints.greater_than)
@_both(constraints.greater_than_eq)
def _above(constraint: Any) -> Transform:
    bound = constraint.lower_bound
    if not isinstance(bound, Tensor) and bound == 0:
        return ExpTransform()
    return ComposeTransform([ExpTransform(), AffineTransform(bound, 1)])


@_both(constraints.less_than)
def _below(constraint: Any) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])


@_both(constraints.interval)
@_both(constraints.half_open_interval)
@_both(constraints.open_interval)
def _between(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if not isinstance(low, Tensor) and not isinstance(high, Tensor) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


@biject_to.register(constraints.independent)
def _biject_to_independent(constraint: Any) -> Transform:
    return IndependentTransform(biject_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def _transform_to_independent(constraint: Any) -> Transform:
    return IndependentTransform(transform_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint: Any) -> Transform:
    return StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint: Any) -> Transform:
    return SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _transform_to_lower_cholesky(constraint: Any) -> Transform:
    return LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _transform_to_positive_definite(constraint: Any) -> Transform:
    return PositiveDefiniteTransform()


@_both(constraints.corr_cholesky)
def _corr_cholesky(constraint: Any) -> Transform:
    return CorrCholeskyTransform()


@biject_to.register(constraints.cat)
def _biject_to_cat(constraint: Any) -> Transform:
    return CatTransform([biject_to(part) for part in constraint.constraints], constraint.axis, constraint.lengths)


@transform_to.register(constraints.cat)
def _transform_to_cat(constraint: Any) -> Transform:
    return CatTransform([transform_to(part) for part in constraint.constraints], constraint.axis, constraint.lengths)


@biject_to.register(constraints.stack)
def _biject_to_stack(constraint: Any) -> Transform:
    return StackTransform([biject_to(part) for part in constraint.constraints], constraint.axis)


@transform_to.register(constraints.stack)
def _transform_to_stack(constraint: Any) -> Transform:
    return StackTransform([transform_to(part) for part in constraint.constraints], constraint.axis)
