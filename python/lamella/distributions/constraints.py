"""Sets of numbers that parameters and values of distributions lie in, and checks of them.

Each is an object with ``check(value)``, which gives a bool for each event, ``event_dim``, the number of rightmost axes
that make an event, and ``is_discrete``. A constraint that depends on a distribution's parameters is a property of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm

from .._C import Tensor
from ._support import Parameter

__all__ = [
    "Constraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "open_interval",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of numbers, vectors or matrices."""

    is_discrete: bool = False
    event_dim: int = 0

    def check(self, value: Tensor) -> Tensor:
        """Returns a bool for each event: True where it lies in the set. NaN lies in none.

        Args:
            value: Numbers of shape ``[*batch, *event]``, whose last `event_dim` axes are an event.
        """
        raise NotImplementedError(f"[{type(self).__name__}] check is a subclass's to define")

    def __repr__(self) -> str:
        return type(self).__name__.lstrip("_")


class _Dependent(Constraint):
    """Stands for a constraint that is known to an instance only."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete = is_discrete
        self.event_dim = event_dim

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("[constraints] a constraint that depends on parameters is checked on an instance")


class dependent_property(property):  # noqa: N801 (a decorator, as property)
    """A property of a distribution that gives a constraint which depends on its parameters.

    Args:
        function: The getter; without it, a decorator is returned.
        is_discrete: True for a set of isolated points.
        event_dim: Number of axes of an event, or None where an instance knows it only.
    """

    def __init__(
        self,
        function: Callable[[Any], Constraint] | None = None,
        *,
        is_discrete: bool = False,
        event_dim: int | None = 0,
    ) -> None:
        super().__init__(function)
        self.is_discrete = is_discrete
        self.event_dim = event_dim

    def __call__(self, function: Callable[[Any], Constraint]) -> dependent_property:
        """Returns the property with its getter."""
        return dependent_property(function, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: object) -> bool:
    """Returns True for a constraint that is known to an instance only."""
    return isinstance(constraint, (_Dependent, dependent_property))


class _Real(Constraint):
    """Real numbers, infinities among them."""

    def check(self, value: Tensor) -> Tensor:
        return value == value  # false for NaN


class _Boolean(Constraint):
    """The numbers 0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


def _bounds(constraint: Constraint, **bounds: Parameter) -> str:
    told = (
        f"{name}={value.item() if isinstance(value, Tensor) and value.size == 1 else value}"
        for name, value in bounds.items()
    )
    return f"{type(constraint).__name__.lstrip('_')}({', '.join(told)})"


class _Bounded(Constraint):
    """Numbers above, or from, a lower bound and below, or up to, an upper one."""

    def __init__(self, lower_bound: Parameter, upper_bound: Parameter) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def __repr__(self) -> str:
        return _bounds(self, lower_bound=self.lower_bound, upper_bound=self.upper_bound)


class _GreaterThan(Constraint):
    """Numbers above a lower bound."""

    def __init__(self, lower_bound: Parameter) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound

    def __repr__(self) -> str:
        return _bounds(self, lower_bound=self.lower_bound)


class _GreaterThanEq(_GreaterThan):
    """Numbers from a lower bound on."""

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class _LessThan(Constraint):
    """Numbers below an upper bound."""

    def __init__(self, upper_bound: Parameter) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound

    def __repr__(self) -> str:
        return _bounds(self, upper_bound=self.upper_bound)


class _Interval(_Bounded):
    """Numbers from a lower bound to an upper one, both of which belong to the set."""

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """Numbers from a lower bound, which belongs to the set, to an upper one, which does not."""

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _OpenInterval(_Bounded):
    """Numbers above a lower bound and below an upper one."""

    def check(self, value: Tensor) -> Tensor:
        return (value > self.lower_bound) & (value < self.upper_bound)


class _IntegerInterval(_Bounded):
    """Integers from a lower bound to an upper one, both of which belong to the set."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound) & (value == lm.floor(value))


class _IntegerGreaterThan(_GreaterThan):
    """Integers from a lower bound on."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value == lm.floor(value)) & lm.isfinite(value)


def _floating(value: Tensor) -> Tensor:
    """Returns a value with integers and bools as float32."""
    return value if lm.isdtype(value.dtype, "real floating") else value.astype(lm.float32)


def _eps(value: Tensor) -> float:
    """Returns the distance from 1 to the next number of the dtype, that of float32 for integers."""
    return lm.finfo(value.dtype if lm.isdtype(value.dtype, "real floating") else lm.float32).eps


class _Simplex(Constraint):
    """Vectors of numbers that are not negative, with the sum 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        # The error of a sum of n terms grows like the root of n.
        tolerance = max(1e-6, 4 * _eps(value) * math.sqrt(value.shape[-1]))
        return lm.all(value >= 0, axis=-1) & (lm.abs(lm.sum(value, axis=-1) - 1) < tolerance)


class _OneHot(Constraint):
    """Vectors of one 1, and 0 elsewhere."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return lm.all((value == 0) | (value == 1), axis=-1) & (lm.sum(value, axis=-1) == 1)


class _Multinomial(Constraint):
    """Vectors of counts with a sum up to an upper bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Parameter) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        counts = (value >= 0) & (value == lm.floor(value))
        return lm.all(counts, axis=-1) & (lm.sum(value, axis=-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return _bounds(self, upper_bound=self.upper_bound)


class _LowerTriangular(Constraint):
    """Matrices that are 0 above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return lm.all(lm.tril(value) == value, axis=(-2, -1))


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & lm.all(lm.diagonal(value, axis1=-2, axis2=-1) > 0, axis=-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: lower triangular, with a positive diagonal and rows of length 1."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = 10 * _eps(value) * value.shape[-1]
        rows = lm.sqrt(lm.sum(value * value, axis=-1))
        return super().check(value) & lm.all(lm.abs(rows - 1) <= tolerance, axis=-1)


class _Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        fits = value.ndim >= 2 and value.shape[-2] == value.shape[-1]
        return lm.full(value.shape[:-2], fits, dtype="bool", device=str(value.device))


class _Symmetric(_Square):
    """Square matrices that are their own transposes, up to rounding."""

    def check(self, value: Tensor) -> Tensor:
        square_ones = super().check(value)
        if value.ndim < 2 or value.shape[-2] != value.shape[-1]:
            return square_ones
        # Products such as A A^T are symmetric up to rounding.
        close = lm.isclose(value, value.mT, rtol=10 * _eps(value) ** 0.75, atol=1e-6)
        return square_ones & lm.all(close, axis=(-2, -1))


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues, up to rounding."""

    def check(self, value: Tensor) -> Tensor:
        symmetric_ones = super().check(value)
        if not lm.all(symmetric_ones):
            return symmetric_ones
        finite = lm.all(lm.isfinite(value), axis=(-2, -1))
        smallest = lm.linalg.eigvalsh(lm.where(finite[..., None, None], _floating(value), 0.0))
        tolerance = 10 * _eps(value) * lm.max(lm.abs(smallest), axis=-1, keepdims=True)
        return finite & lm.all(smallest >= -tolerance, axis=-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices whose eigenvalues are all positive."""

    def check(self, value: Tensor) -> Tensor:
        symmetric_ones = super().check(value)
        if not lm.all(symmetric_ones):
            return symmetric_ones
        finite = lm.all(lm.isfinite(value), axis=(-2, -1))
        return finite & (lm.linalg.cholesky_ex(_floating(value)).info == 0)


class _Independent(Constraint):
    """Events made of several events of a base constraint, all of which lie in it."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if reinterpreted_batch_ndims < 0:
            raise ValueError(
                f"[constraints.independent] reinterpreted_batch_ndims is at least 0, not {reinterpreted_batch_ndims}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        count = self.reinterpreted_batch_ndims
        if result.ndim < count:
            raise ValueError(
                f"[constraints.independent] expected at least {self.event_dim} axes, got the shape {list(value.shape)}"
            )
        return result if count == 0 else lm.all(result, axis=tuple(range(-count, 0)))

    def __repr__(self) -> str:
        return f"Independent({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _Parts(Constraint):
    """Constraints of the parts of a tensor along an axis."""

    def __init__(self, constraints: Sequence[Constraint], axis: int) -> None:
        self.constraints = list(constraints)
        self.axis = axis
        self.is_discrete = any(constraint.is_discrete for constraint in self.constraints)
        self.event_dim = max(constraint.event_dim for constraint in self.constraints)


class _Cat(_Parts):
    """Constraints of the parts of a tensor along an axis, which the tensor has already."""

    def __init__(self, constraints: Sequence[Constraint], axis: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(constraints, axis)
        self.lengths = [1] * len(self.constraints) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.constraints):
            raise ValueError(
                f"[constraints.cat] expected a length for each of {len(self.constraints)} constraints, "
                f"got {len(self.lengths)}"
            )

    def check(self, value: Tensor) -> Tensor:
        parts = lm.split(value, self.lengths, axis=self.axis)
        pairs = zip(self.constraints, parts, strict=True)
        return lm.concat([constraint.check(part) for constraint, part in pairs], axis=self.axis)


class _Stack(_Parts):
    """Constraints of the slices of a tensor along an axis."""

    def __init__(self, constraints: Sequence[Constraint], axis: int = 0) -> None:
        super().__init__(constraints, axis)

    def check(self, value: Tensor) -> Tensor:
        pairs = zip(self.constraints, lm.unstack(value, axis=self.axis), strict=True)
        return lm.stack([constraint.check(part) for constraint, part in pairs], axis=self.axis)


#: Constraints made of bounds, other constraints, or a distribution's parameters.
cat = _Cat
dependent = _Dependent()
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
half_open_interval = _HalfOpenInterval
independent = _Independent
integer_interval = _IntegerInterval
interval = _Interval
less_than = _LessThan
multinomial = _Multinomial
open_interval = _OpenInterval
stack = _Stack

boolean = _Boolean()
corr_cholesky = _CorrCholesky()
lower_cholesky = _LowerCholesky()
lower_triangular = _LowerTriangular()
nonnegative = _GreaterThanEq(0.0)
nonnegative_integer = _IntegerGreaterThan(0)
one_hot = _OneHot()
positive = _GreaterThan(0.0)
positive_definite = _PositiveDefinite()
positive_integer = _IntegerGreaterThan(1)
positive_semidefinite = _PositiveSemidefinite()
real = _Real()
real_vector = _Independent(real, 1)
simplex = _Simplex()
square = _Square()
symmetric = _Symmetric()
unit_interval = _Interval(0.0, 1.0)
