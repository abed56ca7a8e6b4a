"""Factors and solutions of matrices in Paddle's forms."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor


def matmul(
    x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False, name: str | None = None
) -> Tensor:
    """Returns the matrix product, of transposes where asked for (a vector's transpose is itself)."""
    if transpose_x and x.ndim > 1:
        x = x.mT
    if transpose_y and y.ndim > 1:
        y = y.mT
    return lm.matmul(x, y)


def lu(x: Tensor, pivot: bool = True, get_infos: bool = False, name: str | None = None) -> tuple[Tensor, ...]:
    """Returns both triangular factors in one matrix, and for each row the one it was exchanged with, counted from 1.

    With ``get_infos`` a third tensor says where a factor is singular: 0, as an error is raised then.
    """
    factors, pivots = lm.linalg.lu_factor(x, pivot=pivot)
    infos = lm.zeros(tuple(x.shape)[:-2], dtype="int32")
    return (factors, pivots, infos) if get_infos else (factors, pivots)


def lu_unpack(
    x: Tensor, y: Tensor, unpack_ludata: bool = True, unpack_pivots: bool = True, name: str | None = None
) -> tuple[Any, Any, Any]:
    """Returns P, L and U with ``P @ L @ U`` the matrix whose factors :func:`lu` made; None if not asked for."""
    made = lm.linalg.lu_unpack(x, y, unpack_data=unpack_ludata, unpack_pivots=unpack_pivots)
    left, upper = made[1:] if unpack_ludata else (None, None)
    return made[0] if unpack_pivots else None, left, upper


def lu_solve(b: Tensor, lu: Tensor, pivots: Tensor, trans: str = "N", name: str | None = None) -> Tensor:
    """Returns y with ``A @ y == b`` for the factors of A; of its transpose ("T"), or its conjugate transpose ("C").

    Raises:
        ValueError: ``trans`` is another word.
    """
    if trans not in ("N", "T", "C"):
        raise ValueError(f"[lu_solve] trans is 'N', 'T' or 'C', not {trans!r}")
    if trans == "T":
        return lm.conj(lm.linalg.lu_solve(lu, pivots, lm.conj(b), adjoint=True))
    return lm.linalg.lu_solve(lu, pivots, b, adjoint=trans == "C")


def solve(x: Tensor, y: Tensor, left: bool = True, name: str | None = None) -> Tensor:
    """Returns the z with ``x @ z == y``, or with ``z @ x == y`` where ``left`` is false.

    Where ``y`` has one axis less than ``x``, it is a vector for each matrix; otherwise it is matrices.
    """
    if y.ndim != x.ndim - 1:
        return lm.linalg.solve(x, y, left=left)
    axis = -1 if left else -2
    return lm.squeeze(lm.linalg.solve(x, lm.expand_dims(y, axis), left=left), axis)


def lstsq(x: Tensor, y: Tensor, rcond: float | None = None, driver: str | None = None, name: Any = None) -> Any:
    """Returns the solution that makes ``x @ solution - y`` least, its squared residuals, ranks and singular values."""
    solution, residuals, rank, values = lm.linalg.lstsq(x, y, rtol=rcond, driver=driver or "gelsy")  # type: ignore[arg-type]
    # Paddle leaves the residuals of square systems out, too.
    if x.shape[-2] <= x.shape[-1]:
        residuals = lm.empty((0,), dtype=x.dtype)
    return solution, residuals, rank.astype("int32"), values


def tensordot(x: Tensor, y: Tensor, axes: Any = 2, name: str | None = None) -> Tensor:
    """Sums of products along axes of two tensors.

    Args:
        x: a tensor.
        y: a tensor.
        axes: the number of the last axes of ``x`` and of the first ones of ``y``; or axes of both, in one list; or a
            list for each, of which the shorter one goes on as the longer one does.
        name: not used.
    """
    if isinstance(axes, Tensor):
        axes = axes.tolist()
    if isinstance(axes, int):
        return lm.tensordot(x, y, axes=axes)
    listed = [each.tolist() if isinstance(each, Tensor) else each for each in axes]
    nested = any(isinstance(each, (list, tuple)) for each in listed)
    parts = [list(each) if isinstance(each, (list, tuple)) else [each] for each in listed] if nested else [listed]
    first, second = parts[0], parts[-1]
    both = [*first, *second[len(first) :]], [*second, *first[len(second) :]]
    return lm.tensordot(x, y, axes=both)


def slogdet(x: Tensor, name: str | None = None) -> Tensor:
    """The signs of determinants and the logarithms of their magnitudes, along a new first axis."""
    return lm.stack(list(lm.linalg.slogdet(x)))


def qr(x: Tensor, mode: str = "reduced", name: str | None = None) -> Any:
    """Q with orthonormal columns and upper triangular R with ``Q @ R == x``; R alone in the mode "r"."""
    made = lm.linalg.qr(x, mode="complete" if mode == "complete" else "reduced")
    return made[1] if mode == "r" else tuple(made)


def pinv(x: Tensor, rcond: Any = 1e-15, hermitian: bool = False, name: str | None = None) -> Tensor:
    """The pseudoinverse; singular values up to ``rcond`` times the largest count as 0."""
    return lm.linalg.pinv(x, rtol=rcond, hermitian=hermitian)


def _columns(factors: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the factors of a matrix with the right vectors in columns, where the native ones are in rows."""
    u, s, rows = factors
    return u, s, lm.conj(rows.mT) if lm.isdtype(rows.dtype, "complex floating") else rows.mT


def svd_lowrank(x: Tensor, q: int | None = None, niter: int = 2, M: Any = None, name: Any = None) -> Any:  # noqa: N803
    """The ``q`` largest singular values with their vectors, in columns, left and right, of ``x``, or of ``x - M``."""
    return _columns(lm.linalg.svd_lowrank(x, q, niter=niter, M=M))


def pca_lowrank(x: Tensor, q: int | None = None, center: bool = True, niter: int = 2, name: Any = None) -> Any:
    """:func:`svd_lowrank` of rows from which their mean is taken where ``center``."""
    return _columns(lm.linalg.pca_lowrank(x, q, center=center, niter=niter))


def matrix_rank(
    x: Tensor, tol: Any = None, hermitian: bool = False, atol: Any = None, rtol: Any = None, name: Any = None
) -> Tensor:
    """Counts the singular values above ``tol``, or above both ``atol`` and ``rtol`` times the largest."""
    if tol is not None:
        atol, rtol = tol, 0.0
    return lm.linalg.matrix_rank(x, atol=atol, rtol=rtol, hermitian=hermitian)


def triangular_solve(
    x: Tensor,
    y: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the matrix that ``x``, which is triangular, or its transpose, maps to ``y``."""
    if transpose:
        x, upper = x.mT, not upper
    return lm.linalg.solve_triangular(x, y, upper=upper, unitriangular=unitriangular)


def cov(
    x: Tensor, rowvar: bool = True, ddof: bool = True, fweights: Any = None, aweights: Any = None, name: Any = None
) -> Tensor:
    """The covariances of rows, or of columns; of a sample where ``ddof``."""
    rows = x if rowvar or x.ndim < 2 else lm.swapaxes(x, 0, 1)
    return lm.cov(rows, correction=int(ddof), fweights=fweights, aweights=aweights)


def corrcoef(x: Tensor, rowvar: bool = True, name: str | None = None) -> Tensor:
    """The correlations of rows, or of columns."""
    return lm.corrcoef(x if rowvar or x.ndim < 2 else lm.swapaxes(x, 0, 1))


def vander(x: Tensor, n: int | None = None, increasing: bool = False, name: str | None = None) -> Tensor:
    """The matrix of the powers of a vector's elements, in ``n`` columns: the highest power first, or last."""
    made = lm.linalg.vander(x, N=x.shape[0] if n is None else n)
    return made if increasing else flip(made, -1)


def flip(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """A copy with the order along axes turned around."""
    return lm.clone(lm.flip(x, axis=tuple(axis) if isinstance(axis, list) else axis))


reverse = flip


def rot90(x: Tensor, k: int = 1, axes: Any = (0, 1), name: str | None = None) -> Tensor:
    """A copy turned by ``k`` quarters in the plane of two axes."""
    return lm.clone(lm.rot90(x, k, tuple(axes)))


def histogramdd(
    x: Tensor, bins: Any = 10, ranges: Any = None, density: bool = False, weights: Any = None, name: Any = None
) -> Any:
    """The numbers of points in boxes, and the ends of the boxes along each axis; ``ranges`` are pairs in one list."""
    pairs = None if ranges is None else [tuple(ranges[i : i + 2]) for i in range(0, len(ranges), 2)]
    return lm.histogramdd(x, bins, range=pairs, weights=weights, density=density)


def matrix_norm(x: Tensor, p: Any = "fro", axis: Any = (-2, -1), keepdim: bool = False, name: Any = None) -> Tensor:
    """The norm of matrices along two axes."""
    pair = tuple(axis)
    made = lm.linalg.matrix_norm(lm.moveaxis(x, pair, (-2, -1)), ord=p, keepdims=keepdim)
    return lm.moveaxis(made, (-2, -1), pair) if keepdim else made


def vector_norm(
    x: Tensor, p: float = 2.0, axis: Any = None, keepdim: bool = False, name: Any = None, *, dtype: Any = None
) -> Tensor:
    """The norm of all elements, or along axes."""
    x = x if dtype is None else x.astype(dtype)
    return lm.linalg.vector_norm(x, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdim, ord=p)
