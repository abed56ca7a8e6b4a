"""Decompositions that look for the largest singular values alone, by products with random vectors."""

from __future__ import annotations

from operator import index

from .. import _C
from .._arguments import expect_tensors
from .._C import Generator, Tensor
from ._results import SVDResult


def _checked_count(x: Tensor, q: int | None, niter: int, op: str) -> int:
    """Returns the number of values to compute, checked."""
    expect_tensors(op, x=x)
    if x.dtype not in (_C.float32, _C.float64, _C.complex64, _C.complex128):
        raise TypeError(f"[{op}] x: expected float32, float64, complex64 or complex128, got {x.dtype}")
    if x.ndim < 2:
        raise ValueError(f"[{op}] x: expected matrices, got shape {x.shape}")
    smaller = min(x.shape[-2:])
    count = min(6, smaller) if q is None else index(q)
    if not 0 <= count <= smaller:
        raise ValueError(f"[{op}] q: expected a number from 0 to {smaller}, the smaller axis of x, got {count}")
    if index(niter) < 0:
        raise ValueError(f"[{op}] niter: expected 0 or more, got {niter}")
    return count


def _basis(x: Tensor) -> Tensor:
    """Orthonormal columns that span those of x."""
    return _C.linalg_qr(x, mode="reduced")[0]


def svd_lowrank(
    x: Tensor,
    /,
    q: int | None = None,
    *,
    niter: int = 2,
    M: Tensor | None = None,  # noqa: N803
    generator: Generator | None = None,
) -> SVDResult:
    """Returns about the q largest singular values of matrices and their vectors: U, S and Vh as :func:`svd` does.

    For x of shape [m, n] U is [m, q] and Vh [q, n]; q is 6 by default, or the smaller axis of x. `M`, which broadcasts
    to x, is subtracted from it first. The columns are found among those of x times q random vectors, which `generator`
    draws, after `niter` steps of subspace iteration (algorithms 4.4 and 5.1 of Halko, Martinsson and Tropp, "Finding
    structure with randomness", SIAM Review 53, 2011): exact where x has a rank of at most q, and else the better the
    faster the values fall. q is to be somewhat above the number that is wanted; ValueError above the smaller axis.
    """
    count = _checked_count(x, q, niter, "svd_lowrank")
    if M is not None:
        x = x - _C.broadcast_to(M, x.shape)
    shape = (*x.shape[:-2], x.shape[-1], count)
    real = _C.float32 if x.dtype in (_C.float32, _C.complex64) else _C.float64
    drawn = _C.randn(shape, dtype=real, device=str(x.device), generator=generator)
    basis = _basis(_C.matmul(x, drawn.astype(x.dtype)))
    for _ in range(niter):
        basis = _basis(_C.matmul(x, _basis(_C.matmul(x.mH, basis))))
    u, s, vh = _C.linalg_svd(_C.matmul(basis.mH, x), full_matrices=False)
    return SVDResult(_C.matmul(basis, u), s, vh)


def pca_lowrank(
    x: Tensor, /, q: int | None = None, *, center: bool = True, niter: int = 2, generator: Generator | None = None
) -> SVDResult:
    """Returns the q first principal components of matrices of samples: :func:`svd_lowrank` of the centered rows.

    The rows of Vh are the directions, ``S**2 / (m - 1)`` the variances along them, and ``x @ Vh.mT`` are the samples
    projected on them. q is 6 by default, or the smaller axis of x. With ``center=False`` the rows are taken as they
    are. ValueError for a q above the smaller axis.
    """
    count = _checked_count(x, q, niter, "pca_lowrank")
    if center:
        x = x - _C.mean(x, axis=-2, keepdims=True)
    return svd_lowrank(x, count, niter=niter, generator=generator)
