"""Normal distributions of vectors."""

from __future__ import annotations

import math
from typing import ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._support import (
    HALF_LOG_2PI,
    ConstraintsByName,
    Parameter,
    Shape,
    as_tensors,
    broadcast_all,
    common_shape,
    drawn,
    exactly_one,
    expanded,
    lazy_property,
    on_diagonal,
    with_identity,
)
from .distribution import Distribution
from .normal import Normal
from .transformed import TransformedDistribution
from .transforms import StickBreakingTransform


def mahalanobis(scale_tril: Tensor, difference: Tensor) -> Tensor:
    """Returns ``|L^-1 d| ** 2`` for each vector d.

    Args:
        scale_tril: L, ``[*batch, n, n]``, lower triangular.
        difference: d, ``[..., n]``, whose leading axes broadcast with those of L.
    """
    batch, shape = scale_tril.shape[:-2], difference.shape[:-1]
    further = len(shape) - len(batch)
    if further > 0 and shape[further:] == batch:
        # All vectors of one factor are columns of one right side, which is solved for at once.
        stacked = lm.reshape(difference, (math.prod(shape[:further]), *difference.shape[further:]))
        solved = lm.linalg.solve_triangular(scale_tril, lm.moveaxis(stacked, 0, -1), upper=False)
        return lm.reshape(lm.moveaxis(lm.sum(lm.square(solved), axis=-2), -1, 0), shape)
    solved = lm.linalg.solve_triangular(scale_tril, lm.expand_dims(difference, axis=-1), upper=False)
    return lm.sum(lm.square(solved), axis=(-2, -1))


def half_log_det(scale_tril: Tensor) -> Tensor:
    """Returns half of the logarithm of the determinant of ``L L^T``."""
    return lm.sum(lm.log(on_diagonal(scale_tril)), axis=-1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """Returns the lower Cholesky factor of the inverse of a positive definite matrix.

    The factor of the matrix with both axes turned around gives it by one triangular inverse, without forming the
    inverse.
    """
    factor = lm.linalg.cholesky(lm.flip(precision, axis=(-2, -1)))
    upper = lm.flip(factor, axis=(-2, -1)).mT
    return lm.linalg.solve_triangular(upper, expanded(with_identity(precision), precision.shape), upper=False)


class ScaledByMatrix(Distribution):
    """A distribution with a positive definite matrix, given in one of three forms.

    `_unbroadcasted_scale_tril` is the lower Cholesky factor as it was given, whose batch may be smaller than the
    distribution's.
    """

    _unbatched: ClassVar[frozenset[str]] = frozenset({"_unbroadcasted_scale_tril"})
    _unbroadcasted_scale_tril: Tensor

    def _adopt_matrix(self, given: str, matrix: Tensor, batch_shape: Shape) -> None:
        if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
            raise ValueError(
                f"[{type(self).__name__}] {given}: expected square matrices, got the shape {list(matrix.shape)}"
            )
        self._given = given
        setattr(self, given, expanded(matrix, (*batch_shape, *matrix.shape[-2:])))
        self._matrix = matrix

    def _factorize(self) -> None:
        """Computes the factor; after the parameters were checked, so that the errors are those of the checks."""
        matrix = vars(self).pop("_matrix")
        if self._given == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif self._given == "covariance_matrix":
            self._unbroadcasted_scale_tril = lm.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    def _of_factor(self, matrix: Tensor) -> Tensor:
        return expanded(matrix, (*self._batch_shape, *matrix.shape[-2:]))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        return self._of_factor(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self._of_factor(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return self._of_factor(lm.linalg.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(ScaledByMatrix):
    """The normal distribution of vectors.

    Args:
        loc: The mean, ``[*batch, n]``.
        covariance_matrix: The covariance matrix, ``[*batch, n, n]``, positive definite; or
        precision_matrix: its inverse; or
        scale_tril: its lower Cholesky factor, with a positive diagonal, which costs least.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where not exactly one form of the matrix is given, or where sizes do not fit.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        owner = type(self).__name__
        given, matrix = exactly_one(
            owner, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        loc, matrix = as_tensors(owner, loc=loc, **{given: matrix})
        if loc.ndim < 1 or matrix.shape[-1:] != loc.shape[-1:]:
            raise ValueError(
                f"[{owner}] loc: expected vectors of the length of {given}'s rows, got the shapes {list(loc.shape)} "
                f"and {list(matrix.shape)}"
            )
        batch_shape = common_shape(owner, loc=loc.shape[:-1], **{given: matrix.shape[:-2]})
        self._adopt_matrix(given, matrix, batch_shape)
        self.loc = expanded(loc, (*batch_shape, loc.shape[-1]))
        super().__init__(batch_shape, loc.shape[-1:], validate_args=validate_args)
        self._factorize()

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
        """The variance of each element."""
        variance = lm.sum(lm.square(self._unbroadcasted_scale_tril), axis=-1)
        return expanded(variance, self._batch_shape + self._event_shape)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by loc and by the matrix."""
        noise = drawn(lm.randn, self.loc, self._extended_shape(shape), generator)
        if self._unbroadcasted_scale_tril.ndim == 2:
            return self.loc + noise @ self._unbroadcasted_scale_tril.mT
        return self.loc + lm.squeeze(self._unbroadcasted_scale_tril @ lm.expand_dims(noise, axis=-1), axis=-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        distance = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * distance - (half_log_det(self._unbroadcasted_scale_tril) + self._event_shape[0] * HALF_LOG_2PI)

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        entropy = half_log_det(self._unbroadcasted_scale_tril) + self._event_shape[0] * (0.5 + HALF_LOG_2PI)
        return expanded(entropy, self._batch_shape)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with the covariance matrix ``W W^T + diag(d)``.

    Determinants and products with the inverse are computed of matrices of the size of W's columns (Woodbury's
    identity), so that n may be large.

    Args:
        loc: The mean, ``[*batch, n]``.
        cov_factor: W, ``[*batch, n, rank]``.
        cov_diag: d, ``[*batch, n]``, above 0.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where sizes do not fit.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _unbatched: ClassVar[frozenset[str]] = frozenset({"_unbroadcasted_scale_tril", "_diagonal", "_capacitance"})

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        owner = type(self).__name__
        loc, factor, diagonal = as_tensors(owner, loc=loc, cov_factor=cov_factor, cov_diag=cov_diag)
        size = loc.shape[-1:]
        if not size or factor.ndim < 2 or factor.shape[-2:-1] != size or diagonal.shape[-1:] != size:
            raise ValueError(
                f"[{owner}] expected loc [.., n], cov_factor [.., n, rank] and cov_diag [.., n], got the shapes "
                f"{list(loc.shape)}, {list(factor.shape)} and {list(diagonal.shape)}"
            )
        batch_shape = common_shape(
            owner, loc=loc.shape[:-1], cov_factor=factor.shape[:-2], cov_diag=diagonal.shape[:-1]
        )
        self.loc = expanded(loc, batch_shape + size)
        self.cov_factor = expanded(factor, batch_shape + factor.shape[-2:])
        self.cov_diag = expanded(diagonal, batch_shape + size)
        super().__init__(batch_shape, size, validate_args=validate_args)
        self._unbroadcasted_scale_tril, self._diagonal = factor, diagonal
        scaled = factor.mT / lm.expand_dims(diagonal, axis=-2)
        capacitance = scaled @ factor
        self._capacitance = lm.linalg.cholesky(capacitance + with_identity(capacitance))

    @property
    def mean(self) -> Tensor:
        """The mean, loc."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mode, loc."""
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        """The variance of each element."""
        return lm.sum(lm.square(self.cov_factor), axis=-1) + self.cov_diag

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self.cov_factor @ self.cov_factor.mT + lm.diag_embed(self.cov_diag)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        return lm.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        scaled = self._unbroadcasted_scale_tril.mT / lm.expand_dims(self._diagonal, axis=-2)
        solved = lm.linalg.solve_triangular(self._capacitance, scaled, upper=False)
        matrix = lm.diag_embed(1 / self._diagonal) - solved.mT @ solved
        return expanded(matrix, self._batch_shape + self._event_shape * 2)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by all parameters."""
        size = self._extended_shape(shape)
        rank = self._unbroadcasted_scale_tril.shape[-1]
        common = drawn(lm.randn, self.loc, (*size[:-1], rank), generator)
        own = drawn(lm.randn, self.loc, size, generator)
        shared = lm.squeeze(self._unbroadcasted_scale_tril @ lm.expand_dims(common, axis=-1), axis=-1)
        return self.loc + shared + lm.sqrt(self._diagonal) * own

    def _log_det(self) -> Tensor:
        return 2 * half_log_det(self._capacitance) + lm.sum(lm.log(self._diagonal), axis=-1)

    def _distance(self, difference: Tensor) -> Tensor:
        """Returns ``d^T C^-1 d`` for vectors d and the covariance matrix C."""
        scaled = difference / self._diagonal
        projected = lm.squeeze(self._unbroadcasted_scale_tril.mT @ lm.expand_dims(scaled, axis=-1), axis=-1)
        return lm.sum(difference * scaled, axis=-1) - mahalanobis(self._capacitance, projected)

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        value = self._checked(value)
        distance = self._distance(value - self.loc)
        return -0.5 * (distance + self._log_det()) - self._event_shape[0] * HALF_LOG_2PI

    def entropy(self) -> Tensor:
        """Returns the entropy."""
        entropy = 0.5 * self._log_det() + self._event_shape[0] * (0.5 + HALF_LOG_2PI)
        return expanded(entropy, self._batch_shape)


class LogisticNormal(TransformedDistribution):
    """The distribution on the simplex of n numbers of n - 1 normal ones, mapped by :class:`StickBreakingTransform`.

    (Aitchison and Shen, "Logistic-normal distributions: some properties and uses", 1980.)

    Args:
        loc: The means, ``[*batch, n - 1]``.
        scale: The standard deviations, above 0.
        validate_args: See :class:`Distribution`.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "loc": constraints.real_vector,
        "scale": constraints.independent(constraints.positive, 1),
    }
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        loc, scale = broadcast_all(type(self).__name__, loc=loc, scale=scale)
        if loc.ndim < 1:
            raise ValueError(f"[{type(self).__name__}] loc: expected at least one axis, got a number")
        base = Normal(loc, scale, validate_args=False)
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        loc: Tensor = self.base_dist.base_dist.loc  # type: ignore[attr-defined]
        return loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal numbers."""
        scale: Tensor = self.base_dist.base_dist.scale  # type: ignore[attr-defined]
        return scale
