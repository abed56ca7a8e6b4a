"""Equations and matrices that lamella.linalg composes of other functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index

from . import _C
from ._C import Tensor, matmul
from ._C import linalg_solve_triangular as solve_triangular


def logdet(x: Tensor, /) -> Tensor:
    """The logarithms of the determinants of square matrices.

    It is NaN for a real matrix whose determinant is negative, and -inf for a singular one.
    """
    sign, logarithm = _C.linalg_slogdet(x)
    if x.dtype.name.startswith("complex"):
        return _C.log(sign) + logarithm
    return _C.where(sign < 0, math.nan, logarithm)


def vander(x: Tensor, /, *, N: int | None = None) -> Tensor:  # noqa: N803
    """Matrices of Vandermonde: the powers of the numbers in the last axis, from 0 on, along a new one.

    N says how many there are, which is as many as numbers where it is not given. (numpy's fall from left to right.)
    """
    if x.dtype.name == "bool":
        raise TypeError("[vander] does not take dtype bool")
    if x.ndim == 0:
        x = x[None]
    count = x.shape[-1] if N is None else index(N)
    if count < 0:
        raise ValueError(f"[vander] N: expected how many powers there are, got {count}")
    bases = _C.broadcast_to(x[..., None], (*x.shape, max(count - 1, 0)))
    powers = _C.cumulative_prod(bases, axis=-1)
    first = _C.ones((*x.shape, min(count, 1)), dtype=powers.dtype, device=str(x.device))
    return _C.concat([first, powers], axis=-1)


def ormqr(x: Tensor, tau: Tensor, other: Tensor, /, *, left: bool = True, transpose: bool = False) -> Tensor:
    """``q @ other``, or ``other @ q`` with ``left=False``, for the square product q of the reflections in x and tau.

    They are kept as :func:`geqrf` and :func:`householder_product` have them, and may be fewer than rows and columns of
    x. With ``transpose=True`` q is its adjoint, which is its inverse where the factors are geqrf's.
    """
    if x.ndim < 2:
        raise ValueError(f"[ormqr] x holds matrices, and has two axes or more, not shape {x.shape}")
    if tau.ndim != x.ndim - 1 or tau.shape[:-1] != x.shape[:-2] or tau.shape[-1] > min(x.shape[-2:]):
        raise ValueError(
            f"[ormqr] tau has a number for each column of x, or the first ones, and no more than rows: shapes "
            f"{x.shape} and {tau.shape}"
        )
    size = other.shape[-2 if left else -1] if other.ndim >= 2 else None
    if size != x.shape[-2]:
        raise ValueError(
            f"[ormqr] q is square with the rows of x and does not fit other: shapes {x.shape} and {other.shape}, "
            f"left={left}"
        )
    if not x.dtype == tau.dtype == other.dtype:
        names = f"{x.dtype.name}, {tau.dtype.name} and {other.dtype.name}"
        raise TypeError(f"[ormqr] x, tau and other have one dtype, not {names}")
    # With the vectors v in columns, q is 1 - v s^-1 t v.mH, where s is 1 + t triu(v.mH v, 1) and t is the diagonal of
    # tau: Joffrain et al., Accumulating Householder transformations, revisited (2006).
    steps = tau.shape[-1]
    vectors = _C.tril(x[..., :steps], k=-1) + _unit(x, x.shape[-2], steps)
    factors = tau[..., None]
    system = _C.triu(matmul(vectors.mH, vectors), k=1) * factors
    # What stands on the right is the adjoint of what the adjoint of q gives for its adjoint.
    operand, adjoint = (other, transpose) if left else (other.mH, not transpose)
    parts = matmul(vectors.mH, operand)
    if adjoint:
        weights = _C.conj(factors) * solve_triangular(system.mH, parts, upper=False, unitriangular=True)
    else:
        weights = solve_triangular(system, parts * factors, upper=True, unitriangular=True)
    result = operand - matmul(vectors, weights)
    return result if left else result.mH


def tensorsolve(x1: Tensor, x2: Tensor, /, *, axes: Sequence[int] | None = None) -> Tensor:
    """The y with ``tensordot(x1, y, axes=y.ndim) == x2``.

    As many axes of x1 as x2 has are for x2, the others are those of y; both have as many elements as x2. `axes` of x1
    are moved to its end first.
    """
    if axes is not None:
        x1 = _C.moveaxis(x1, tuple(axes), tuple(range(-len(axes), 0)))
    result = x1.shape[x2.ndim :]
    if x1.ndim < x2.ndim or math.prod(x1.shape[: x2.ndim]) != x2.size or math.prod(result) != x2.size:
        raise ValueError(
            f"[tensorsolve] the first axes of x1 and the others have as many elements as x2: shapes {x1.shape} and "
            f"{x2.shape}"
        )
    matrix = _C.reshape(x1, (x2.size, x2.size))
    return _C.reshape(_C.linalg_solve(matrix, _C.reshape(x2, (x2.size,))), result)


def tensorinv(x: Tensor, /, *, ind: int = 2) -> Tensor:
    """The inverse of ``y -> tensordot(x, y, axes=ind)``; its first axes are those of x from `ind` on.

    The first `ind` axes of x have as many elements as the others.
    """
    first = index(ind)
    if first <= 0:
        raise ValueError(f"[tensorinv] ind: expected how many axes come first, got {first}")
    size = math.prod(x.shape[:first])
    if math.prod(x.shape[first:]) != size:
        raise ValueError(f"[tensorinv] the first {first} axes and the others differ in elements: shape {x.shape}")
    return _C.reshape(_C.linalg_inv(_C.reshape(x, (size, size))), x.shape[first:] + x.shape[:first])


def _unit(x: Tensor, rows: int, columns: int | None = None) -> Tensor:
    """A unit matrix for calculations with x."""
    return _C.eye(rows, columns, dtype=x.dtype, device=str(x.device))
