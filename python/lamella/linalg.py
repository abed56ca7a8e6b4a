"""Linear algebra: the array API standard's extension; least squares, triangular systems and some of numpy's beside it.

Matrices are the last two axes, all others are a batch. Decompositions are LAPACK's, on the CPU, in float32, float64,
complex64 and complex128; a build without OpenBLAS raises NotImplementedError for them. A matrix that is singular, not
positive definite or not finite where it may not be is a ValueError that says which one of the batch it is. Everything
but :func:`matrix_rank` has derivatives of every order, in both modes, and takes part in ``vmap``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from ._C import linalg_eigvals as eigvals
from ._C import linalg_eigvalsh as eigvalsh
from ._C import linalg_inv as inv
from ._C import linalg_lu_solve as lu_solve
from ._C import linalg_matrix_exp as matrix_exp
from ._C import linalg_matrix_power as matrix_power
from ._C import linalg_solve as solve
from ._C import linalg_solve_triangular as solve_triangular
from ._C import linalg_svdvals as svdvals
from ._C import linalg_vector_norm as vector_norm
from ._products import tensordot

__all__ = [
    "EigResult",
    "EighResult",
    "LUFactorResult",
    "LUResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
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


class EigResult(NamedTuple):
    """What :func:`eig` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


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


class LUFactorResult(NamedTuple):
    """What :func:`lu_factor` returns."""

    LU: Tensor
    pivots: Tensor


class LUResult(NamedTuple):
    """What :func:`lu` returns."""

    P: Tensor
    L: Tensor
    U: Tensor


class LstsqResult(NamedTuple):
    """What :func:`lstsq` returns."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def eig(x: Tensor, /) -> EigResult:
    """Complex eigenvalues, in no order, and eigenvectors of length 1, in columns, of square matrices.

    ValueError for elements that are not finite. The gradient is not finite where two eigenvalues are the same, and a
    function of the vectors is to be one that their phases do not change.
    """
    return EigResult(*_C.linalg_eig(x))


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


def lu_factor(x: Tensor, /) -> LUFactorResult:
    """The triangular factors of matrices in one matrix, and the exchanges of rows: what :func:`lu_solve` takes.

    L lies below the diagonal of LU and has ones on its own; U is the rest. Row i was exchanged with row
    ``pivots[i] - 1`` (int32, from 1 on as in PyTorch; scipy counts from 0). A singular matrix has factors, too; the
    gradient wants the first min(m, n) columns of a matrix [m, n] to be independent.
    """
    return LUFactorResult(*_C.linalg_lu_factor(x))


def lu(x: Tensor, /) -> LUResult:
    """P, L and U with ``P @ L @ U == x``: a permutation, lower triangular with ones on its diagonal, upper triangular.

    For x of shape [m, n] they are [m, m], [m, k] and [k, n], where k = min(m, n).
    """
    return LUResult(*_C.linalg_lu(x))


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


def norm(
    x: Tensor,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float | Literal["fro", "nuc"] | None = None,
) -> Tensor:
    """The norms of vectors along one axis, see :func:`vector_norm`, or of matrices in two, see :func:`matrix_norm`.

    Without `ord` it is the root of the sum of squares, along any axes: all of them where `axis` is None. With it, and
    without `axis`, x is to be a vector or a matrix.
    """
    axes: tuple[int, ...] | None = None if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if ord is None:
        return vector_norm(x, axis=axes, keepdims=keepdims)
    if axes is None:
        if x.ndim not in (1, 2):
            raise ValueError(f"[norm] with ord and without axis x has 1 or 2 axes, not the shape {x.shape}")
        axes = tuple(range(x.ndim))
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"[norm] ord {ord!r} is of matrices, in two axes, and not of vectors along {axes}")
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=ord)
    if len(axes) != 2:
        raise ValueError(f"[norm] axis: one axis of vectors or two of matrices, not {axes}")
    result = matrix_norm(_C.moveaxis(x, axes, (-2, -1)), ord=ord)
    return _C.expand_dims(result, sorted(at % x.ndim for at in axes)) if keepdims else result


def cond(x: Tensor, /, *, p: float | Literal["fro", "nuc"] | None = None) -> Tensor:
    """The condition numbers of matrices, norm(x) norm(inv(x)) in the norm p of :func:`matrix_norm`.

    2 (or None) and -2 stand for the largest singular value by the smallest, and the other way round, for matrices that
    need not be square; a singular matrix has the number inf. In the other norms that is a ValueError.
    """
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise ValueError(f"[cond] x holds matrices with elements in its last two axes, not the shape {x.shape}")
    if p in (None, 2, -2):
        values = svdvals(x)
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    return matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)


def _chain(arrays: Sequence[Tensor], splits: list[list[int]], first: int, last: int) -> Tensor:
    """The product of arrays[first] to arrays[last]."""
    if first == last:
        return arrays[first]
    split = splits[first][last]
    return matmul(_chain(arrays, splits, first, split), _chain(arrays, splits, split + 1, last))


def multi_dot(arrays: Sequence[Tensor], /) -> Tensor:
    """The product of two or more matrices, in the order that takes the fewest multiplications.

    The first and the last may be vectors, a row and a column. The order is that of Cormen et al., "Introduction to
    algorithms", 15.2.
    """
    if len(arrays) < 2:
        raise ValueError(f"[multi_dot] takes at least two tensors, got {len(arrays)}")
    for i, array in enumerate(arrays):
        if array.ndim != 2 and not (array.ndim == 1 and i in (0, len(arrays) - 1)):
            raise ValueError(
                f"[multi_dot] tensor {i} has the shape {array.shape}: expected a matrix"
                + (" or a vector" if i in (0, len(arrays) - 1) else "")
            )
    matrices = [*arrays]
    if matrices[0].ndim == 1:
        matrices[0] = matrices[0][None, :]
    if matrices[-1].ndim == 1:
        matrices[-1] = matrices[-1][:, None]
    for i in range(len(arrays) - 1):
        if matrices[i].shape[1] != matrices[i + 1].shape[0]:
            raise ValueError(
                f"[multi_dot] tensors {i} and {i + 1} do not fit: shapes {arrays[i].shape} and {arrays[i + 1].shape}"
            )
    sizes = [matrices[0].shape[0], *(matrix.shape[1] for matrix in matrices)]
    count = len(arrays)
    costs = [[0] * count for _ in range(count)]
    splits = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            costs[first][last], splits[first][last] = min(
                (costs[first][k] + costs[k + 1][last] + sizes[first] * sizes[k + 1] * sizes[last + 1], k)
                for k in range(first, last)
            )
    result = _chain(matrices, splits, 0, count - 1)
    if arrays[-1].ndim == 1:
        result = result[:, 0]
    return result[0] if arrays[0].ndim == 1 else result


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


def lstsq(
    x1: Tensor,
    x2: Tensor,
    /,
    *,
    rtol: float | Tensor | None = None,
    driver: Literal["gelsy", "gels", "gelsd", "gelss"] | None = None,
) -> LstsqResult:
    """The y of least norm among those that make ``x1 @ y - x2`` least.

    x2 is a vector, with one axis, or holds matrices. Beside the solution: the sum of the squares of what is left over
    for each column of x2, the rank of x1 and its singular values.

    `driver` is LAPACK's routine, as in PyTorch: "gelsy" (or None) goes by QR with exchanged columns; "gels", the
    fastest, by QR, for matrices of full rank, and gives no rank; "gelsd" and "gelss" go by singular values and alone
    give these. A tensor without elements stands for what a driver does not give: who comes from numpy, whose lstsq is
    gelsd, names that. What is up to `rtol` (max(m, n) times the dtype's epsilon where it is not given) times the
    largest one counts as 0. The gradient is that at a fixed rank; rank and singular values have none
    (:func:`svdvals` has).
    """
    return LstsqResult(*_C.linalg_lstsq(x1, x2, rtol=_tolerance(x1, rtol), driver=driver or "gelsy"))
