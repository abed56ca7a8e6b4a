"""Linear algebra: the array API standard's extension, with least squares and triangular systems beside it.

Matrices are the last two axes, all others are a batch. Decompositions are LAPACK's, on the CPU, in float32, float64,
complex64 and complex128; a build without OpenBLAS raises NotImplementedError for them. A matrix that is singular, not
positive definite or not finite where it may not be is a ValueError that says which one of the batch it is. Everything
but :func:`matrix_rank` has derivatives of every order, in both modes, and takes part in ``vmap``.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from . import _C
from ._C import (
    Tensor,
    cross,
    diagonal,
    matmul,
    matrix_transpose,
    outer,
    trace,
    vecdot,
)
from ._C import linalg_cholesky as cholesky
from ._C import linalg_det as det
from ._C import linalg_eigvalsh as eigvalsh
from ._C import linalg_inv as inv
from ._C import linalg_matrix_power as matrix_power
from ._C import linalg_solve as solve
from ._C import linalg_solve_triangular as solve_triangular
from ._C import linalg_svdvals as svdvals
from ._C import linalg_vector_norm as vector_norm
from ._products import tensordot

__all__ = [
    "EighResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


class EighResult(NamedTuple):
    """What :func:`eigh` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """What :func:`qr` returns."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What :func:`slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What :func:`svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class LstsqResult(NamedTuple):
    """What :func:`lstsq` returns."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def eigh(x: Tensor, /) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors, in columns, of Hermitian matrices.

    The lower triangles are read. ValueError for elements that are not finite. The gradient of the vectors is not finite
    where two eigenvalues are the same, and a function of them is to be one that their signs (or phases) do not change.
    """
    return EighResult(*_C.linalg_eigh(x))


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Matrices Q with orthonormal columns and upper triangular R with ``Q @ R == x``.

    For x of shape [m, n] Q has min(m, n) columns with ``mode="reduced"`` and m with ``mode="complete"``, which has no
    gradient where m > n.
    """
    return QRResult(*_C.linalg_qr(x, mode=mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The sign of the determinants of square matrices and the logarithm of their magnitude.

    The sign is 0 and the logarithm -inf for a singular matrix, at which a gradient is a ValueError.
    """
    return SlogdetResult(*_C.linalg_slogdet(x))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """U, S and Vh with ``U @ diag(S) @ Vh == x``: S descending, U and Vh with orthonormal columns and rows.

    For x of shape [m, n] U is [m, m] and Vh [n, n], or [m, k] and [k, n] with k = min(m, n) for
    ``full_matrices=False``, which the gradient of U and Vh wants where x is not square. It is not finite where two
    singular values are the same.
    """
    return SVDResult(*_C.linalg_svd(x, full_matrices=full_matrices))


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Tensor:
    """The norms of matrices.

    "fro" (or None) is the root of the sum of squares, "nuc" the sum of the singular values, 2 and -2 the largest and
    the smallest one, 1 and -1 the largest and the smallest sum of magnitudes in a column, inf and -inf in a row.
    """
    if ord is None:
        ord = "fro"
    if not isinstance(ord, str):
        number = float(ord)
        ord = str(int(number)) if math.isfinite(number) and number == int(number) else str(number)  # type: ignore[assignment]
    return _C.linalg_matrix_norm(x, keepdims=keepdims, ord=str(ord))


def _tolerance(x: Tensor, rtol: float | Tensor | None) -> Tensor | None:
    """The tolerance as a tensor with one number for each matrix of x."""
    if rtol is None or isinstance(rtol, Tensor):
        return rtol
    return _C.full((), float(rtol), dtype="float64", device=str(x.device))


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values are larger than rtol times the largest one, as int64.

    rtol is max(m, n) times the dtype's epsilon where it is not given.
    """
    return _C.linalg_matrix_rank(x, rtol=_tolerance(x, rtol))


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The Moore-Penrose pseudoinverses of matrices.

    Singular values up to rtol (max(m, n) times the dtype's epsilon where it is not given) times the largest one count
    as 0. The gradient is that at a fixed rank.
    """
    return _C.linalg_pinv(x, rtol=_tolerance(x, rtol))


def lstsq(x1: Tensor, x2: Tensor, /, *, rtol: float | Tensor | None = None) -> LstsqResult:
    """The y of least norm among those that make ``x1 @ y - x2`` least.

    x2 is a vector, with one axis, or holds matrices. `rtol` is :func:`pinv`'s. Beside the solution: the sum of the
    squares of what is left over for each column of x2, the rank of x1 and its singular values.
    """
    solution = matmul(pinv(x1, rtol=rtol), x2)
    residuals = vector_norm(matmul(x1, solution) - x2, axis=-1 if x2.ndim == 1 else -2) ** 2
    return LstsqResult(solution, residuals, matrix_rank(x1, rtol=rtol), svdvals(x1))
