"""Functions of fronts on the elements of tensors that are not native: other shapes in place, other steps."""

from __future__ import annotations

from collections.abc import Sequence

import lamella as lm
from lamella import _C, Tensor


def become(x: Tensor, made: Tensor) -> Tensor:
    """Makes the object ``x`` stand for ``made``, which nobody else holds.

    A leaf that wants a gradient stays one, with its hooks. Its gradient stays where it has the shape of ``made``.
    """
    if made is x:
        return x
    if type(x) is not Tensor or type(made) is not Tensor:
        from lamella.graph import Symbol  # which programs without graphs do not load

        if isinstance(x, Symbol):
            x._become(made)
            return x
        if isinstance(made, Symbol):
            raise RuntimeError(
                f"[data] a tensor cannot become {made.name!r}, which has elements only when a graph runs"
            )
    _C._exchange_tensors(x, made)
    return x


def strided(x: Tensor, sizes: Sequence[int], steps: Sequence[int], first: int = 0) -> Tensor:
    """Returns a copy of the elements of the memory of ``x`` at steps of ``steps``, from element ``first`` on.

    Raises:
        RuntimeError: the elements are others than those of ``x``, which has to be contiguous in some order of axes.
    """
    if not x.is_contiguous():
        held = x.strides
        x = lm.permute_dims(x, tuple(sorted(range(x.ndim), key=lambda axis: -held[axis])))
    places: lm.Tensor | int = first
    for axis, (count, step) in enumerate(zip(sizes, steps, strict=True)):
        along = lm.arange(count) * step
        places = places + lm.reshape(along, (count,) + (1,) * (len(sizes) - 1 - axis))
    elements = lm.reshape(x, (-1,))
    last = first + sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))
    if not x.is_contiguous() or (0 not in sizes and last >= elements.shape[0]):
        raise RuntimeError(
            f"[as_strided] reaches element {last} of {elements.shape[0]}, or x is not contiguous in any order of axes: "
            "only elements of x itself are taken here"
        )
    return elements[places]
