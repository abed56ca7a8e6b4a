"""Products whose arguments take more than one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from .. import _C
from .._arguments import expect_tensors
from .._C import Tensor


def einsum(subscripts: str, *operands: Tensor) -> Tensor:
    """Sums of products of tensors, by Einstein's convention: ``einsum("ij,jk->ik", a, b)`` is the matrix product.

    Each tensor has a letter for each axis, and axes of the same letter have the same length (or length 1, which is
    repeated). What the result does not name is summed over; without ``->`` it has the letters that occur once, in
    alphabetical order. A letter that a tensor has twice takes its diagonal; ``...`` stands for any axes, which
    broadcast. Several tensors are multiplied in the order that keeps intermediate results small.

    ValueError where the subscripts are malformed, or do not fit the shapes; TypeError for bools.
    """
    return _C.einsum(subscripts, operands)


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: SupportsIndex | tuple[Sequence[SupportsIndex], Sequence[SupportsIndex]] = 2
) -> Tensor:
    """Returns the sum of products over pairs of axes; the result has the other axes of x1, then those of x2.

    `axes` names the axes of x1 and those of x2, in pairs, or says how many: the last ones of x1 and the first ones of
    x2. ValueError where their lengths differ.
    """
    expect_tensors("tensordot", x1=x1, x2=x2)
    if isinstance(axes, tuple | list):
        if len(axes) != 2:
            raise ValueError(f"[tensordot] axes: expected a number or two sequences, got {len(axes)} items")
        first, second = axes
        return _C.tensordot(x1, x2, first, second)
    if not isinstance(axes, SupportsIndex):
        raise TypeError(f"[tensordot] axes: expected a number or two sequences, got {type(axes).__name__}")
    count = axes.__index__()
    if not 0 <= count <= min(x1.ndim, x2.ndim):
        raise ValueError(f"[tensordot] axes: {count} pairs for tensors with {x1.ndim} and {x2.ndim} axes")
    return _C.tensordot(x1, x2, tuple(range(x1.ndim - count, x1.ndim)), tuple(range(count)))
