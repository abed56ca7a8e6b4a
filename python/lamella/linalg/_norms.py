"""Norms and condition numbers of matrices, whose orders are numbers or names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from .. import _C
from .._arguments import expect_tensors
from .._C import Tensor
from .._C import linalg_svdvals as svdvals
from .._C import linalg_vector_norm as vector_norm
from .._names import explain_arguments_of


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Tensor:
    """Returns the norms of matrices.

    "fro" (or None) is the root of the sum of squares, "nuc" the sum of the singular values, 2 and -2 the largest and
    the smallest one, 1 and -1 the largest and the smallest sum of magnitudes in a column, inf and -inf in a row.
    """
    if ord is None:
        ord = "fro"
    if not isinstance(ord, str):
        number = float(ord)
        ord = str(int(number)) if math.isfinite(number) and number == int(number) else str(number)  # type: ignore[assignment]
    return _C.linalg_matrix_norm(x, keepdims=keepdims, ord=str(ord))


@explain_arguments_of
def norm(
    x: Tensor,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float | Literal["fro", "nuc"] | None = None,
) -> Tensor:
    """Returns :func:`vector_norm` of vectors along one axis, or :func:`matrix_norm` of matrices in two.

    Without `ord` it is the root of the sum of squares, along any axes: all of them where `axis` is None. With it, and
    without `axis`, x is to be a vector or a matrix.
    """
    expect_tensors("norm", x=x)
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
    """Returns the condition numbers of matrices, norm(x) norm(inv(x)) in the norm p of :func:`matrix_norm`.

    2 (or None) and -2 stand for the largest singular value by the smallest, and the other way round, for matrices that
    need not be square. In the other norms a singular matrix has the number inf. Matrices without elements have 0.
    """
    expect_tensors("cond", x=x)
    if x.ndim < 2:
        raise ValueError(f"[cond] x holds matrices in its last two axes, not the shape {x.shape}")
    if 0 in x.shape[-2:]:
        return _C.sum(_C.abs(x), axis=(-2, -1))
    if p in (None, 2, -2):
        values = svdvals(x)
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    inverse, info = _C.linalg_inv_ex(x)
    singular = info != 0
    product = matrix_norm(x, ord=p) * matrix_norm(_C.where(singular[..., None, None], 0, inverse), ord=p)
    return _C.where(singular, math.inf, product)
