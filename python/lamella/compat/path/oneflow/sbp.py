"""Signatures of global tensors, see :mod:`lamella.sbp`."""

from __future__ import annotations

from lamella.compat.front import close_module
from lamella.sbp import Sbp as sbp  # noqa: N813 (OneFlow's name of the class)
from lamella.sbp import broadcast, partial_sum
from lamella.sbp import split as _split

__getattr__ = close_module(__name__)

__all__ = ["broadcast", "partial_sum", "sbp", "split"]


def split(dim: int | None = None, *, axis: int | None = None) -> sbp:
    """Returns the signature in which each process holds a part along an axis.

    Args:
        dim: the axis.
        axis: the same, under the name that older versions have for it.

    Raises:
        TypeError: not exactly one of them is given, or it is no int.
    """
    if (dim is None) == (axis is None):
        raise TypeError("[sbp.split] takes one axis: split(0)")
    return _split(dim if axis is None else axis)  # type: ignore[arg-type]
