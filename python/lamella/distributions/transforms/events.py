"""Transforms of vectors and matrices."""

from __future__ import annotations

import math

import lamella as lm

from ..._C import Tensor
from .. import constraints
from .._support import Shape, on_diagonal
from .elementwise import _WithoutParameters


class SoftmaxTransform(_WithoutParameters):
    """From vectors to the simplex by ``softmax``, which is not one to one; the inverse is the logarithm.

    It keeps the length: coordinates are equal among themselves, as optimizers like it, where
    :class:`StickBreakingTransform` is one to one.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return lm.softmax(x, axis=-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return lm.log(y)

    def forward_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape, which has an axis at least."""
        self._check_axes(shape, 1)
        return tuple(shape)

    inverse_shape = forward_shape


class StickBreakingTransform(_WithoutParameters):
    """From vectors of n - 1 numbers to the simplex of n: each takes a share of what is left of a stick.

    Zero is mapped to equal parts (Stan Reference Manual, "Unit simplex", 2024).
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _centered(self, x: Tensor) -> Tensor:
        """Returns the logit of each share: a share of 1 / (parts that are left) where x is 0."""
        left = lm.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=str(x.device))
        return x - lm.log(left)

    def _call(self, x: Tensor) -> Tensor:
        centered = self._centered(x)
        # The logarithms of what is left after each share, which neither underflow nor lose digits near 1.
        left = lm.cumulative_sum(lm.log_sigmoid(-centered), axis=-1, include_initial=True)
        shares = lm.log_sigmoid(centered) + left[..., :-1]
        return lm.exp(lm.concat([shares, left[..., -1:]], axis=-1))

    def _inverse(self, y: Tensor) -> Tensor:
        tails = lm.flip(lm.cumulative_sum(lm.flip(y, axis=-1), axis=-1), axis=-1)  # y_k + .. + y_n
        taken = y[..., :-1]
        parts = lm.arange(taken.shape[-1], 0, -1, dtype=y.dtype, device=str(y.device))
        tiny = lm.finfo(y.dtype).smallest_normal
        return lm.log(lm.clip(taken, tiny)) - lm.log(lm.clip(tails[..., 1:], tiny)) + lm.log(parts)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns the sum of ``log(y_k (1 - share_k))``, as the Jacobian is triangular."""
        centered = self._centered(x)
        closing = lm.log_sigmoid(-centered)
        left = lm.cumulative_sum(closing, axis=-1)
        return lm.sum(lm.log_sigmoid(centered) + left, axis=-1)

    def forward_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape with one more element along the last axis."""
        self._check_axes(shape, 1)
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape with one element less along the last axis."""
        self._check_axes(shape, 1)
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(_WithoutParameters):
    """From any square matrices to Cholesky factors: their lower triangle, with the exponential of the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return lm.tril(x, k=-1) + lm.diag_embed(lm.exp(on_diagonal(x)))

    def _inverse(self, y: Tensor) -> Tensor:
        return lm.tril(y, k=-1) + lm.diag_embed(lm.log(on_diagonal(y)))


class PositiveDefiniteTransform(_WithoutParameters):
    """From any square matrices to positive definite ones: ``L L^T`` for L of :class:`LowerCholeskyTransform`."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform()._inverse(lm.linalg.cholesky(y))


class CorrCholeskyTransform(_WithoutParameters):
    """From vectors of n (n - 1) / 2 numbers to Cholesky factors of correlation matrices of size n.

    The numbers are mapped to partial correlations in (-1, 1) by ``tanh``; each row of the factor shares its length of
    1 as a stick that is broken (Stan Reference Manual, "Cholesky factors of correlation matrices", 2024; Lewandowski,
    Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method", 2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        size = self._size(x.shape[-1])
        partial = _filled(lm.tanh(x), size)
        # Square roots of what is left of each row before its columns; log1p keeps the digits near 1.
        left = lm.exp(0.5 * lm.cumulative_sum(lm.log1p(-partial * partial), axis=-1, include_initial=True))
        identity = lm.eye(size, dtype=x.dtype, device=str(x.device))
        return (partial + identity) * left[..., :-1]

    def _inverse(self, y: Tensor) -> Tensor:
        size = y.shape[-1]
        squares = lm.tril(y * y, k=-1)
        left = 1 - lm.cumulative_sum(squares, axis=-1, include_initial=True)[..., :-1]
        rows, columns = _below(size, y)
        return lm.atanh(y[..., rows, columns] / lm.sqrt(left[..., rows, columns]))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Returns the sum of ``log(1 - tanh(x) ** 2)`` and half the logarithm of what is left before each column."""
        size = self._size(x.shape[-1])
        # log(1 - tanh(x) ** 2), accurate far from 0.
        closing = 2.0 * (math.log(2.0) - x + lm.log_sigmoid(2.0 * x))
        left = 0.5 * lm.cumulative_sum(_filled(closing, size), axis=-1, include_initial=True)[..., :-1]
        return lm.sum(closing, axis=-1) + lm.sum(lm.tril(left, k=-1), axis=(-2, -1))

    def _size(self, length: int) -> int:
        size = (1 + math.isqrt(1 + 8 * length)) // 2
        if size * (size - 1) // 2 != length:
            raise ValueError(f"[CorrCholeskyTransform] a last axis of length n (n - 1) / 2 for an n, not {length}")
        return size

    def forward_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape with two axes in place of the last one."""
        self._check_axes(shape, 1)
        size = self._size(shape[-1])
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: Shape) -> tuple[int, ...]:
        """Returns the shape with one axis in place of the last two."""
        self._check_axes(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"[CorrCholeskyTransform] expected square matrices, got the shape {list(shape)}")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


def _below(size: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Returns rows and columns of the elements below the diagonal, row by row."""
    places = lm.tril_indices(size, size, k=-1, device=str(like.device))
    return places[0], places[1]


def _filled(x: Tensor, size: int) -> Tensor:
    """Returns matrices with the elements of vectors below the diagonal, and zeros elsewhere."""
    rows, columns = _below(size, x)
    # Takes each element's place in the vector, behind which a zero stands for the rest of the matrix.
    places = lm.full([size, size], x.shape[-1], dtype="int64", device=str(x.device))
    places[rows, columns] = lm.arange(x.shape[-1], dtype="int64", device=str(x.device))
    padded = lm.pad(x, [0, 1])
    return padded[..., places]
