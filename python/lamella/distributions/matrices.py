"""Distributions of matrices: Wishart, and Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import ClassVar

import lamella as lm

from .._C import Generator, Tensor
from . import constraints
from ._deviance import digamma_rest, log_beta, log_power, stirling
from ._implicit import standard_gamma
from ._support import (
    LOG_2,
    LOG_PI,
    ConstraintsByName,
    Parameter,
    Shape,
    as_tensors,
    common_shape,
    drawn,
    exactly_one,
    expanded,
    on_diagonal,
)
from .beta import Beta
from .distribution import Distribution, in_double
from .multivariate_normal import ScaledByMatrix, half_log_det


class Wishart(ScaledByMatrix):
    """The distribution of the sum of ``x x^T`` of df normal vectors x with mean 0.

    Args:
        df: The degrees of freedom, above n - 1.
        covariance_matrix: That of the vectors, ``[*batch, n, n]``, positive definite; or
        precision_matrix: its inverse; or
        scale_tril: its lower Cholesky factor, with a positive diagonal.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: where not exactly one form of the matrix is given, or with `validate_args` for a df up to n - 1.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {
        "df": constraints.positive,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.positive_definite
    has_rsample = True

    def __init__(
        self,
        df: Parameter,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        owner = type(self).__name__
        given, matrix = exactly_one(
            owner, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        df, matrix = as_tensors(owner, df=df, **{given: matrix})
        batch_shape = common_shape(owner, df=df.shape, **{given: matrix.shape[:-2]})
        self._adopt_matrix(given, matrix, batch_shape)
        self.df = expanded(df, batch_shape)
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        if self._validate_args and not lm.all(self.df > matrix.shape[-1] - 1):
            raise ValueError(f"[{owner}] df: expected numbers above {matrix.shape[-1] - 1}, got {self.df}")
        self._factorize()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """The mode; NaN for a df below n + 1."""
        rest = self.df - (self._event_shape[0] + 1)
        return lm.where(rest >= 0, rest, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        matrix = self.covariance_matrix
        diagonal = on_diagonal(matrix)
        products = lm.expand_dims(diagonal, axis=-1) * lm.expand_dims(diagonal, axis=-2)
        return self.df[..., None, None] * (lm.square(matrix) + products)

    def _halves(self) -> Tensor:
        """Returns ``(df - i) / 2`` for i from 0 to n - 1 along a new last axis."""
        steps = lm.arange(self._event_shape[0], dtype=self.df.dtype, device=str(self.df.device))
        return 0.5 * (lm.expand_dims(self.df, axis=-1) - steps)

    def rsample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws with gradients by df and by the matrix (Bartlett's decomposition, Smith and Hocking 1972)."""
        size = self._extended_shape(shape)
        halves = self._halves()
        diagonal = lm.sqrt(2 * standard_gamma(halves, size[:-1], generator))
        below = lm.tril(drawn(lm.randn, self.df, size, generator), k=-1)
        factor = self._unbroadcasted_scale_tril @ (below + lm.diag_embed(diagonal))
        return factor @ factor.mT

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density."""
        n = self._event_shape[0]
        # The diagonal of Bartlett's factor has gamma densities, and what is below it normal ones.
        factor = lm.linalg.cholesky(expanded_to(value, self._unbroadcasted_scale_tril))
        factor = lm.linalg.solve_triangular(self._unbroadcasted_scale_tril, factor, upper=False)
        halves, squares = self._halves(), 0.5 * lm.square(on_diagonal(factor))
        powers = log_power(halves, squares, lambda less: squares - less)
        powers = powers - self._ranks() * lm.log(squares)
        below = 0.5 * lm.sum(lm.square(lm.tril(factor, k=-1)), axis=(-2, -1))
        return lm.sum(powers, axis=-1) - below - (n + 1) * self._log_scale() - 0.25 * n * (n - 1) * LOG_PI

    def _ranks(self) -> Tensor:
        """Returns ``(n - 1 - i) / 2`` for i from 0 to n - 1."""
        return 0.5 * lm.arange(self._event_shape[0] - 1, -1, -1, dtype=self.df.dtype, device=str(self.df.device))

    def _log_scale(self) -> Tensor:
        return half_log_det(self._unbroadcasted_scale_tril) + 0.5 * self._event_shape[0] * LOG_2

    @in_double
    def entropy(self) -> Tensor:
        """Returns the entropy."""
        n = self._event_shape[0]
        halves = self._halves()
        slopes = 0.5 * lm.expand_dims(self.df - (n + 1), axis=-1) * digamma_rest(halves)
        terms = lm.sum(stirling(halves) - slopes + self._ranks() * lm.log(halves), axis=-1)
        entropy = (n + 1) * self._log_scale() + terms + 0.25 * n * (n - 1) * (LOG_PI + 1)
        return expanded(entropy, self._batch_shape)


def expanded_to(value: Tensor, matrix: Tensor) -> Tensor:
    """Returns a value with at least the leading axes of a matrix."""
    return expanded(value, lm.broadcast_shapes(value.shape, matrix.shape))


class LKJCholesky(Distribution):
    """The distribution of Cholesky factors of correlation matrices, proportional to ``det ** (concentration - 1)``.

    The power is of the determinant of the correlation matrices: 1 makes them uniform, larger ones nearer to the
    identity. (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended
    onion method", 2009; section 3.2 is the method of draws.)

    Args:
        dim: The size of the matrices, at least 2.
        concentration: Above 0.
        validate_args: See :class:`Distribution`.

    Raises:
        ValueError: for a dim below 2.
    """

    arg_constraints: ClassVar[ConstraintsByName] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Parameter = 1.0, validate_args: bool | None = None) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int) or dim < 2:
            raise ValueError(f"[{type(self).__name__}] dim: expected an integer of at least 2, got {dim!r}")
        self.dim = dim
        (self.concentration,) = as_tensors(type(self).__name__, concentration=concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def sample(self, shape: Shape = (), *, generator: Generator | None = None) -> Tensor:
        """Returns draws, through which no gradient flows."""
        size = self._extended_shape(shape)
        like = self.concentration
        with lm.no_grad():
            # Row i below the first has a point on a sphere of i dimensions, at a distance from 0 of a beta
            # distribution.
            rows = lm.arange(self.dim - 1, dtype=like.dtype, device=str(like.device))
            last = lm.expand_dims(like, axis=-1) + 0.5 * (self.dim - 2)
            squares = Beta(rows * 0.5 + 0.5, last - 0.5 * rows, validate_args=False)
            distance = lm.sqrt(squares.sample(shape, generator=generator))
            normal = lm.tril(drawn(lm.randn, like, (*size[:-2], self.dim - 1, self.dim), generator))
            norm = lm.sqrt(lm.sum(lm.square(normal), axis=-1, keepdims=True))
            below = normal / norm * lm.expand_dims(distance, axis=-1)
            below = lm.concat([lm.zeros_like(below[..., :1, :]), below], axis=-2)
            rest = 1 - lm.sum(lm.square(below), axis=-1)
            return below + lm.diag_embed(lm.sqrt(lm.clip(rest, lm.finfo(like.dtype).smallest_normal)))

    @in_double
    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the density of the entries below the diagonal."""
        like, n = self.concentration, self.dim
        steps = lm.arange(n - 2, -1, -1, dtype=like.dtype, device=str(like.device))
        orders = 2 * lm.expand_dims(like - 1, axis=-1) + steps
        density = lm.sum(orders * lm.log(on_diagonal(value)[..., 1:]), axis=-1)
        # Page 1999 of the source: the integral over all factors, a product of beta functions.
        halves = 0.5 * (lm.flip(steps, axis=-1) + 1)
        betas = log_beta(lm.expand_dims(like + 0.5 * (n - 1), axis=-1) - halves, halves) - lm.lgamma(halves)
        return density - (lm.sum(betas, axis=-1) + 0.25 * n * (n - 1) * LOG_PI)
