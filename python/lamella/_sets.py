"""Functions of sets whose results take more than one form."""

from __future__ import annotations

from typing import Literal, SupportsIndex, overload

from . import _C
from ._C import Tensor


@overload
def unique(
    x: Tensor,
    /,
    *,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: SupportsIndex | None = None,
) -> Tensor: ...
@overload
def unique(
    x: Tensor,
    /,
    *,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: SupportsIndex | None = None,
) -> Tensor | tuple[Tensor, ...]: ...
def unique(
    x: Tensor,
    /,
    *,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: SupportsIndex | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """What occurs in x, each once, in ascending order: of its elements, or with an axis of the slices along it.

    Slices are in the order of their first elements that differ. A tuple where more is asked for: behind the values with
    `return_inverse` the place of each element (of x's shape), or slice (one axis), among them, and with `return_counts`
    how often each occurs. The values are always sorted, whatever `sorted` says. Each NaN, and a slice that has one, is
    a value of its own. ``unique_all`` and its kin are the array API standard's, with results of one form.

    The number of values is not known beforehand: RuntimeError on meta and under vmap. No gradient.
    """
    parts = _C.unique(x, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, axis=axis)
    return parts[0] if len(parts) == 1 else tuple(parts)
