"""Functions of sets whose results take more than one form."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Returns the distinct elements of x in ascending order, or with an axis the distinct slices along it.

    Slices are in the order of their first elements that differ. A tuple where more is asked for: behind the values with
    `return_inverse` the place of each element (of x's shape), or slice (one axis), among them, and with `return_counts`
    how often each occurs. The values are always sorted, whatever `sorted` says. Each NaN, and a slice that has one, is
    a value of its own. ``unique_all`` and its kin are the array API standard's, with results of one form.

    The number of values is not known beforehand: RuntimeError on meta and under vmap. No gradient.
    """
    parts = _C.unique(x, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts, axis=axis)
    return parts[0] if len(parts) == 1 else tuple(parts)


@overload
def unique_consecutive(
    x: Tensor,
    /,
    *,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: SupportsIndex | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    x: Tensor,
    /,
    *,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: SupportsIndex | None = None,
) -> Tensor | tuple[Tensor, ...]: ...
def unique_consecutive(
    x: Tensor,
    /,
    *,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: SupportsIndex | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Returns the first of each run of equal neighbors: of x's elements, flattened, or of the slices along an axis.

    A tuple where more is asked for: behind the values with `return_inverse` the number of the run that each element (in
    x's shape), or slice (one axis), belongs to, and with `return_counts` the lengths of the runs. NaN is equal to
    nothing. The gradient goes to the elements that stand for their runs.

    The number of values is not known beforehand: RuntimeError on meta and under vmap.
    """
    parts = _C.unique_consecutive(x, return_inverse=return_inverse, return_counts=return_counts, axis=axis)
    return parts[0] if len(parts) == 1 else tuple(parts)


def histogramdd(
    x: Tensor,
    /,
    bins: int | Tensor | Sequence[int | Tensor] = 10,
    *,
    range: Sequence[float] | Sequence[tuple[float, float]] | None = None,
    weights: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """Counts the points x, [..., dimensions], in each cell of a grid; also returns the edges of each dimension's bins.

    `bins` says how many there are, all of one width, or is a tensor of their edges in ascending order: one for all
    dimensions, or one for each. `range` holds the ends of each dimension, as pairs or all in one sequence, for bins of
    one width; x's own ends are taken where it is not given, or where they agree. A bin holds its left edge, the last
    one its right edge too; points outside and with NaN do not count. With `weights`, of x's shape without its last
    axis, the sums of those; with `density`, divided by the sum of all and the cells' sizes.

    The results are in x's dtype, float32 for integers. RuntimeError on meta and under vmap. No gradient.
    """
    ends: list[float] | None = None
    if range is not None:
        ends = []
        for part in range:
            ends.extend(part if isinstance(part, tuple | list) else [part])
    counts, *edges = _C.histogramdd(x, bins, range=ends, weights=weights, density=density)
    return counts, edges
