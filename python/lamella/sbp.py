"""Signatures of global tensors: how a tensor lies over the processes along one axis of a mesh.

The three kinds are those of OneFlow (J. Yuan et al., "OneFlow: Redesign the Distributed Deep Learning Framework from
Scratch", arXiv:2110.15032, section 3.1): *split* along an axis, *broadcast* to every process, and *partial*, where the
tensor is the sum (or maximum, or minimum) of what the processes hold::

    lm.sbp.split(0)  # lamella.sbp.split(axis=0)
    lm.sbp.broadcast  # lamella.sbp.broadcast
    lm.sbp.partial_sum  # lamella.sbp.partial_sum
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["Sbp", "broadcast", "parse", "partial_max", "partial_min", "partial_sum", "split"]


class Sbp:
    """Signature of a tensor along one axis of a mesh of processes. Equal ones are the same object.

    Attributes:
        kind: ``"split"``, ``"broadcast"`` or ``"partial"``.
        axis: the axis that a split cuts; -1 for the others.
        op: what joins partial values, ``"sum"``, ``"max"`` or ``"min"``; empty for the others.
    """

    __slots__ = ("axis", "kind", "op")

    kind: str
    axis: int
    op: str

    def __init__(self, kind: str, axis: int = -1, op: str = "") -> None:
        self.kind, self.axis, self.op = kind, axis, op

    @property
    def is_split(self) -> bool:
        """True if each process holds a part along :attr:`axis`."""
        return self.kind == "split"

    @property
    def is_broadcast(self) -> bool:
        """True if each process holds the whole."""
        return self.kind == "broadcast"

    @property
    def is_partial(self) -> bool:
        """True if the tensor is what :attr:`op` makes of all processes' values."""
        return self.kind == "partial"

    def __call__(self) -> Sbp:
        """Returns the signature itself: OneFlow's programs write both ``sbp.broadcast`` and ``sbp.broadcast()``.

        Raises:
            TypeError: it is a split.
        """
        if self.is_split:
            raise TypeError("[sbp] a split signature takes no further argument")
        return self

    def __repr__(self) -> str:
        if self.is_split:
            return f"lamella.sbp.split(axis={self.axis})"
        return f"lamella.sbp.{self.kind}" + (f"_{self.op}" if self.op else "")

    @property
    def short(self) -> str:
        """The short form: ``S(0)``, ``B``, ``P``, ``P(max)``."""
        if self.is_split:
            return f"S({self.axis})"
        return "B" if self.is_broadcast else "P" if self.op == "sum" else f"P({self.op})"

    def __reduce__(self) -> tuple[object, ...]:
        return parse, (self.short,)


#: What functions take where they take signatures: one, or one for each axis of the mesh, or their short forms.
SbpLike: TypeAlias = "Sbp | str | Sequence[Sbp | str]"

#: Each process holds the whole tensor.
broadcast = Sbp("broadcast")
#: The tensor is the sum of what the processes hold.
partial_sum = Sbp("partial", op="sum")
#: The tensor is the elementwise maximum of what the processes hold.
partial_max = Sbp("partial", op="max")
#: The tensor is the elementwise minimum of what the processes hold.
partial_min = Sbp("partial", op="min")

PARTIAL = {one.op: one for one in (partial_sum, partial_max, partial_min)}


@functools.cache
def _split(axis: int) -> Sbp:
    return Sbp("split", axis)


def split(axis: int) -> Sbp:
    """Returns the signature in which each process holds a part along an axis; sizes are those of numpy.array_split.

    Args:
        axis: the axis; a negative one counts from the end, of the tensor that the signature is given to.

    Raises:
        TypeError: the axis is no int.
    """
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise TypeError(f"[sbp.split] axis is an int, not {type(axis).__name__}")
    return _split(axis)


_SHORT = {one.short: one for one in (broadcast, *PARTIAL.values())} | {"P(sum)": partial_sum}


def parse(text: str) -> Sbp:
    """Returns the signature of a short form: ``"S(0)"``, ``"B"``, ``"P"``, ``"P(max)"``.

    Raises:
        ValueError: it is none.
    """
    if text in _SHORT:
        return _SHORT[text]
    if found := re.fullmatch(r"S\((-?\d+)\)", text):
        return _split(int(found[1]))
    raise ValueError(f"[sbp] {text!r} is no signature: expected one like 'S(0)', 'B', 'P', 'P(max)' or 'P(min)'")


def signature(given: SbpLike, mesh_ndim: int, ndim: int, op: str) -> tuple[Sbp, ...]:
    """Returns one signature for each axis of a mesh.

    Args:
        given: a signature or a sequence of them.
        mesh_ndim: the number of axes of the mesh.
        ndim: the number of axes of the tensor.
        op: the name in errors.

    Raises:
        TypeError: something else was given.
        ValueError: the number differs from the mesh's, or an axis does not exist.
    """
    listed = [given] if isinstance(given, (Sbp, str)) else list(given)
    if len(listed) != mesh_ndim:
        raise ValueError(f"[{op}] there are {len(listed)} signatures for a mesh of {mesh_ndim} axes: give one for each")
    made = []
    for one in listed:
        if isinstance(one, str):
            one = parse(one)
        if not isinstance(one, Sbp):
            raise TypeError(f"[{op}] a signature is lamella.sbp.split(axis), broadcast or partial_sum, not {one!r}")
        if one.is_split:
            if not -ndim <= one.axis < ndim:
                raise ValueError(f"[{op}] {one!r} is out of range for a tensor of {ndim} axes")
            one = _split(one.axis % ndim)
        made.append(one)
    return tuple(made)
