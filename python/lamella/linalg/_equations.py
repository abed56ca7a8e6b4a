"""Equations and matrices that lamella.linalg composes of other functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index

from .. import _C
from .._arguments import expect_tensors
from .._C import Tensor


def logdet(x: Tensor, /) -> Tensor:
    """Returns the logarithms of the determinants of square matrices.

    It is NaN for a real matrix whose determinant is negative, and -inf for a singular one.
    """
    sign, logarithm = _C.linalg_slogdet(x)
    if _C.isdtype(x.dtype, "complex floating"):
        return _C.log(sign) + logarithm
    return _C.where(sign < 0, math.nan, logarithm)


def vander(x: Tensor, /, *, N: int | None = None) -> Tensor:  # noqa: N803
    """Matrices of Vandermonde: the powers of the numbers in the last axis, from 0 on, along a new one.

    N says how many there are, which is as many as numbers where it is not given. (numpy's fall from left to right.)
    """
    expect_tensors("vander", x=x)
    if x.dtype == _C.bool:
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


def tensorsolve(x1: Tensor, x2: Tensor, /, *, axes: Sequence[int] | None = None) -> Tensor:
    """Returns the y with ``tensordot(x1, y, axes=y.ndim) == x2``.

    As many axes of x1 as x2 has are for x2, the others are those of y; both have as many elements as x2. `axes` of x1
    are moved to its end first.
    """
    expect_tensors("tensorsolve", x1=x1, x2=x2)
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
    """Returns the inverse of ``y -> tensordot(x, y, axes=ind)``; its first axes are those of x from `ind` on.

    The first `ind` axes of x have as many elements as the others.
    """
    expect_tensors("tensorinv", x=x)
    first = index(ind)
    if first <= 0:
        raise ValueError(f"[tensorinv] ind: expected how many axes come first, got {first}")
    size = math.prod(x.shape[:first])
    if math.prod(x.shape[first:]) != size:
        raise ValueError(f"[tensorinv] the first {first} axes and the others differ in elements: shape {x.shape}")
    return _C.reshape(_C.linalg_inv(_C.reshape(x, (size, size))), x.shape[first:] + x.shape[:first])
