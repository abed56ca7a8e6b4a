"""Linear algebra: the array API standard's extension; least squares, triangular systems and some of numpy's beside it.

Matrices are the last two axes, all others are a batch. Decompositions are LAPACK's, on the CPU, in float32, float64,
complex64 and complex128; a build without OpenBLAS raises NotImplementedError for them. A matrix that is singular, not
positive definite or not finite where it may not be is a ValueError that says which one of the batch it is; functions
whose names end in ``_ex`` tell of it by a tensor instead. Everything but :func:`matrix_rank`,
:func:`ldl_factor` and :func:`geqrf` has derivatives of every order, in both modes, and takes part in ``vmap``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from .. import _C
from .._arguments import expect_tensors
from .._C import (
    Tensor,
    cross,
    diagonal,
    matmul,
    matrix_transpose,
    outer,
    trace,
    vecdot,
)
from .._C import linalg_cholesky as cholesky
from .._C import linalg_cholesky_inverse as cholesky_inverse
from .._C import linalg_cholesky_solve as cholesky_solve
from .._C import linalg_det as det
from .._C import linalg_eigvals as eigvals
from .._C import linalg_eigvalsh as eigvalsh
from .._C import linalg_householder_product as householder_product
from .._C import linalg_inv as inv
from .._C import linalg_ldl_solve as ldl_solve
from .._C import linalg_lu_solve as lu_solve
from .._C import linalg_matrix_exp as matrix_exp
from .._C import linalg_matrix_power as matrix_power
from .._C import linalg_matrix_sqrth as matrix_sqrth
from .._C import linalg_ormqr as ormqr
from .._C import linalg_solve as solve
from .._C import linalg_solve_triangular as solve_triangular
from .._C import linalg_svdvals as svdvals
from .._C import linalg_vector_norm as vector_norm
from ._equations import (
    logdet,
    tensorinv,
    tensorsolve,
    vander,
)
from ._low_rank import pca_lowrank, svd_lowrank
from ._norms import cond, matrix_norm, norm
from ._products import tensordot
from ._results import (
    CholeskyExResult,
    EighResult,
    EigResult,
    GeqrfResult,
    InvExResult,
    LDLFactorExResult,
    LDLFactorResult,
    LstsqResult,
    LUFactorExResult,
    LUFactorResult,
    LUResult,
    PolarResult,
    QRResult,
    SlogdetResult,
    SolveExResult,
    SVDResult,
)

__all__ = [
    "CholeskyExResult",
    "EigResult",
    "EighResult",
    "GeqrfResult",
    "InvExResult",
    "LDLFactorExResult",
    "LDLFactorResult",
    "LUFactorExResult",
    "LUFactorResult",
    "LUResult",
    "LstsqResult",
    "PolarResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "SolveExResult",
    "cholesky",
    "cholesky_ex",
    "cholesky_inverse",
    "cholesky_solve",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "geqrf",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "logdet",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "lu_unpack",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_sqrth",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "ormqr",
    "outer",
    "pca_lowrank",
    "pinv",
    "polar",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svd_lowrank",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vander",
    "vecdot",
    "vector_norm",
]


def eig(x: Tensor, /) -> EigResult:
    """Complex eigenvalues, in no order, and eigenvectors of length 1, in columns, of square matrices.

    ValueError for elements that are not finite. The gradient is not finite where two eigenvalues are the same, and a
    function of the vectors is to be one that their phases do not change.
    """
    return EigResult(*_C.linalg_eig(x))


def eigh(x: Tensor, /, *, UPLO: str = "L") -> EighResult:  # noqa: N803
    """Eigenvalues, ascending, and eigenvectors, in columns, of Hermitian matrices.

    The lower triangles are read, or with ``UPLO="U"`` the upper ones. ValueError for elements there that are not
    finite. The gradient of the vectors is not finite
    where two eigenvalues are the same, and a function of them is to be one that their signs (or phases) do not change.
    """
    return EighResult(*_C.linalg_eigh(x, UPLO=UPLO))


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Matrices Q with orthonormal columns and upper triangular R with ``Q @ R == x``.

    For x of shape [m, n] Q has min(m, n) columns with ``mode="reduced"`` and m with ``mode="complete"``, which has no
    gradient where m > n.
    """
    return QRResult(*_C.linalg_qr(x, mode=mode))


def geqrf(x: Tensor, /) -> GeqrfResult:
    """QR factorizations as LAPACK keeps them: what :func:`householder_product` and :func:`ormqr` take.

    The upper triangles of a are r; below are the vectors of the reflections of which q is the product, and tau has
    their factors. They have no gradient: :func:`qr` has one.
    """
    return GeqrfResult(*_C.linalg_geqrf(x))


def lu_factor(x: Tensor, /, *, pivot: bool = True) -> LUFactorResult:
    """Returns the triangular factors of matrices in one matrix, and the exchanges of rows: what :func:`lu_solve` takes.

    L lies below the diagonal of LU and has ones on its own; U is the rest. Row i was exchanged with row
    ``pivots[i] - 1`` (int32, from 1 on as in PyTorch; scipy counts from 0). A singular matrix has factors, too; the
    gradient wants the first min(m, n) columns of a matrix [m, n] to be independent. NotImplementedError for
    ``pivot=False``.
    """
    return LUFactorResult(*_C.linalg_lu_factor(x, pivot=pivot))


def lu_factor_ex(x: Tensor, /, *, pivot: bool = True, check_errors: bool = False) -> LUFactorExResult:
    """Returns lu_factor(x), and for each matrix the first pivot that is 0, counted from 1, or 0 (int32).

    With ``check_errors=True`` one that is 0 is a ValueError.
    """
    factors, pivots = _C.linalg_lu_factor(x, pivot=pivot)
    if 0 in factors.shape[-2:]:
        return LUFactorExResult(factors, pivots, _C.zeros(x.shape[:-2], dtype="int32", device=str(x.device)))
    is_zero = _C.diagonal(factors.detach()) == 0
    info = _C.where(_C.any(is_zero, axis=-1), _C.argmax(is_zero, axis=-1) + 1, 0).astype("int32")
    if check_errors and info.device != "meta" and _C.any(info != 0).item():
        raise ValueError(f"[lu_factor_ex] a matrix is singular: which pivots are 0 is {info.tolist()}")
    return LUFactorExResult(factors, pivots, info)


def lu(x: Tensor, /, *, pivot: bool = True) -> LUResult:
    """P, L and U with ``P @ L @ U == x``: a permutation, lower triangular with ones on its diagonal, upper triangular.

    For x of shape [m, n] they are [m, m], [m, k] and [k, n], where k = min(m, n). NotImplementedError for
    ``pivot=False``.
    """
    return LUResult(*_C.linalg_lu(x, pivot=pivot))


def lu_unpack(lu: Tensor, pivots: Tensor, /, *, unpack_data: bool = True, unpack_pivots: bool = True) -> LUResult:
    """P, L and U, as :func:`lu` gives them, of what :func:`lu_factor` gave for matrices.

    Without `unpack_data` L and U are empty, without `unpack_pivots` P is, of shape [0]. ValueError for exchanges that
    do not belong to the matrices.
    """
    return LUResult(*_C.linalg_lu_unpack(lu, pivots, unpack_data=unpack_data, unpack_pivots=unpack_pivots))


def cholesky_ex(x: Tensor, /, *, upper: bool = False, check_errors: bool = False) -> CholeskyExResult:
    """Returns cholesky(x), and for each matrix 0 or the order of its first minor that is not definite (int32).

    The factor of such a matrix means nothing. With ``check_errors=True`` it is a ValueError.
    """
    return CholeskyExResult(*_C.linalg_cholesky_ex(x, upper=upper, check_errors=check_errors))


def inv_ex(x: Tensor, /, *, check_errors: bool = False) -> InvExResult:
    """Returns inv(x), and for each matrix the first pivot that is 0, counted from 1, or 0 (int32).

    A matrix with one is singular and has NaN instead of an inverse. With ``check_errors=True`` it is a
    ValueError.
    """
    return InvExResult(*_C.linalg_inv_ex(x, check_errors=check_errors))


def solve_ex(x1: Tensor, x2: Tensor, /, *, left: bool = True, check_errors: bool = False) -> SolveExResult:
    """Returns solve(x1, x2), and for each x1 the first pivot that is 0, counted from 1, or 0 (int32).

    A matrix with one is singular and has infinities or NaN instead of a solution. With ``check_errors=True`` it is a
    ValueError.
    """
    return SolveExResult(*_C.linalg_solve_ex(x1, x2, left=left, check_errors=check_errors))


def ldl_factor(x: Tensor, /, *, hermitian: bool = False) -> LDLFactorResult:
    """Factors of symmetric (with ``hermitian=True`` Hermitian) matrices, definite or not: what :func:`ldl_solve` takes.

    They are LAPACK's: a triangular and a block diagonal matrix in one, and exchanges of rows (int32). The lower
    triangles are read. ValueError where one is singular. They have no gradient.
    """
    return LDLFactorResult(*_C.linalg_ldl_factor_ex(x, hermitian=hermitian, check_errors=True)[:2])


def ldl_factor_ex(x: Tensor, /, *, hermitian: bool = False, check_errors: bool = False) -> LDLFactorExResult:
    """Returns ldl_factor(x), and for each matrix 0 or the diagonal entry that makes it singular, from 1 on (int32).

    With ``check_errors=True`` it is a ValueError.
    """
    return LDLFactorExResult(*_C.linalg_ldl_factor_ex(x, hermitian=hermitian, check_errors=check_errors))


def polar(x: Tensor, /) -> PolarResult:
    """U with orthonormal columns and Hermitian H without negative eigenvalues with ``U @ H == x``.

    The matrices have at least as many rows as columns. The gradient wants them to be of full rank.
    """
    return PolarResult(*_C.linalg_polar(x))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Returns the sign of the determinants of square matrices and the logarithm of their magnitude.

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


def _chain(arrays: Sequence[Tensor], splits: list[list[int]], first: int, last: int) -> Tensor:
    """Returns the product of arrays[first] to arrays[last]."""
    if first == last:
        return arrays[first]
    split = splits[first][last]
    return matmul(_chain(arrays, splits, first, split), _chain(arrays, splits, split + 1, last))


def multi_dot(arrays: Sequence[Tensor], /) -> Tensor:
    """Returns the product of two or more matrices, in the order that takes the fewest multiplications.

    The first and the last may be vectors, a row and a column. The order is that of Cormen et al., "Introduction to
    algorithms", 15.2.
    """
    if len(arrays) < 2:
        raise ValueError(f"[multi_dot] takes at least two tensors, got {len(arrays)}")
    for i, array in enumerate(arrays):
        expect_tensors("multi_dot", **{f"tensor {i}": array})
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


def _tolerance(x: Tensor, rtol: float | Tensor | None, function: str) -> Tensor | None:
    """Returns the tolerance as a tensor with one number for each matrix of x."""
    expect_tensors(function, x=x)
    if rtol is None or isinstance(rtol, Tensor):
        return rtol
    return _C.full((), float(rtol), dtype="float64", device=str(x.device))


def matrix_rank(
    x: Tensor,
    /,
    *,
    rtol: float | Tensor | None = None,
    atol: float | Tensor | None = None,
    hermitian: bool = False,
) -> Tensor:
    """Counts the singular values that are larger than both atol and rtol times the largest one, as int64.

    The tolerances, and what `hermitian` says, are those of :func:`pinv`.
    """
    return _C.linalg_matrix_rank(
        x, rtol=_tolerance(x, rtol, "matrix_rank"), atol=_tolerance(x, atol, "matrix_rank"), hermitian=hermitian
    )


def pinv(
    x: Tensor,
    /,
    *,
    rtol: float | Tensor | None = None,
    atol: float | Tensor | None = None,
    hermitian: bool = False,
) -> Tensor:
    """Returns the Moore-Penrose pseudoinverses of matrices.

    Singular values up to the larger of `atol` and `rtol` times the largest one count as 0. Without them `rtol` is
    max(m, n) times the dtype's epsilon; with a positive `atol` alone it is 0. Both may be tensors, whose numbers are
    for one matrix each and broadcast. With ``hermitian=True`` the matrices are Hermitian, and their lower triangles
    are read. The gradient is that at a fixed rank.
    """
    return _C.linalg_pinv(x, rtol=_tolerance(x, rtol, "pinv"), atol=_tolerance(x, atol, "pinv"), hermitian=hermitian)


def lstsq(
    x1: Tensor,
    x2: Tensor,
    /,
    *,
    rtol: float | Tensor | None = None,
    driver: Literal["gelsy", "gels", "gelsd", "gelss"] | None = None,
) -> LstsqResult:
    """Returns the y of least norm among those that make ``x1 @ y - x2`` least.

    x2 is a vector, with one axis, or holds matrices. Beside the solution: the sum of the squares of what is left over
    for each column of x2, the rank of x1 and its singular values.

    `driver` is LAPACK's routine, as in PyTorch: "gelsy" (or None) goes by QR with exchanged columns; "gels", the
    fastest, by QR, for matrices of full rank, and gives no rank; "gelsd" and "gelss" go by singular values and alone
    give these. A tensor without elements stands for what a driver does not give: who comes from numpy, whose lstsq is
    gelsd, names that. What is up to `rtol` (max(m, n) times the dtype's epsilon where it is not given) times the
    largest one counts as 0. The gradient is that at a fixed rank; rank and singular values have none
    (:func:`svdvals` has).
    """
    return LstsqResult(*_C.linalg_lstsq(x1, x2, rtol=_tolerance(x1, rtol, "lstsq"), driver=driver or "gelsy"))
