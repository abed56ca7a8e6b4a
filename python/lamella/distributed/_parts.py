"""Parts of tensors that lie over many processes: boxes of elements, whose places in the whole are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import _C
from .._C import Tensor
from . import sbp as sbps
from .mesh import part


@dataclass(frozen=True)
class Box:
    """A box of elements of a tensor, or of the tensor as one long row.

    Attributes:
        shape: The tensor's shape.
        space: The shape in which the box lies: that of the tensor, or the number of its elements.
        starts: Where the box begins along each axis.
        sizes: Its sizes.
    """

    shape: tuple[int, ...]
    space: tuple[int, ...]
    starts: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def slices(self) -> tuple[slice, ...]:
        """Slices of the box's elements in a tensor of the shape of the space."""
        return tuple(slice(i, i + n) for i, n in zip(self.starts, self.sizes, strict=True))

    def shared(self, other: Box) -> Box | None:
        """Returns the elements that are in both of two boxes of one space; None if there are none."""
        starts = tuple(map(max, self.starts, other.starts))
        stops = (
            min(a + n, b + m) for a, n, b, m in zip(self.starts, self.sizes, other.starts, other.sizes, strict=True)
        )
        sizes = tuple(stop - start for start, stop in zip(starts, stops, strict=True))
        return Box(self.shape, self.space, starts, sizes) if all(n > 0 for n in sizes) else None

    def within(self, outer: Box) -> tuple[slice, ...]:
        """Returns where the box lies in a larger one, as slices of that."""
        return tuple(slice(a - b, a - b + n) for a, b, n in zip(self.starts, outer.starts, self.sizes, strict=True))


@dataclass(frozen=True)
class Part:
    """This process's part of a tensor.

    Attributes:
        values: The elements, of shape ``box.sizes``.
        box: Which they are.
    """

    values: Tensor
    box: Box

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole tensor."""
        return self.box.shape


def flat_part(values: Tensor, shape: Sequence[int], start: int) -> Part:
    """Returns the part of a tensor of some shape that begins with an element of it as one long row."""
    return Part(values, Box(tuple(shape), (math.prod(shape),), (start,), (values.size,)))


def global_part(x: Any) -> Part:
    """Returns this process's part of a global tensor; of what is partial, the whole, which all ask for together."""
    if any(one.is_partial for one in x.sbp):
        x = x.to_global(sbp=[sbps.broadcast if one.is_partial else one for one in x.sbp])
    shape = tuple(x.shape)
    starts, sizes = [0] * len(shape), list(shape)
    for one, count, index in zip(x.sbp, x.placement.shape, x.placement.coordinate(), strict=True):
        if one.is_split:
            first, last = part(sizes[one.axis], count, index)
            starts[one.axis] += first
            sizes[one.axis] = last - first
    return Part(x.detach().to_local(), Box(shape, shape, tuple(starts), tuple(sizes)))


def assemble(pieces: Sequence[tuple[Box, Tensor]], wanted: Box, name: str) -> Tensor:
    """Returns the elements of a box, put together from parts of the tensor.

    Args:
        pieces: Boxes with their elements, in any spaces.
        wanted: The box.
        name: The tensor's, for an error.

    Raises:
        ValueError: The parts lack elements.
    """
    if any(box.space != wanted.space for box, _ in pieces):
        full = Box(wanted.shape, wanted.shape, (0,) * len(wanted.shape), wanted.shape)
        whole = _assembled_whole(pieces, wanted.shape, name)
        return whole if wanted == full else whole.reshape(wanted.space)[wanted.slices].contiguous()
    out = _C.empty(wanted.sizes, dtype=pieces[0][1].dtype, device=pieces[0][1].device)
    found = 0
    with _C.no_grad():
        for box in dict.fromkeys(box for box, _ in pieces):  # several processes may have one
            shared = box.shared(wanted)
            if shared is not None:
                values = next(values for other, values in pieces if other == box)
                out[shared.within(wanted)] = values[shared.within(box)]
                found += math.prod(shared.sizes)
    if found != out.size:
        raise ValueError(f"[distributed] the parts of '{name}' have {found} of the {out.size} elements that are wanted")
    return out


def _assembled_whole(pieces: Sequence[tuple[Box, Tensor]], shape: tuple[int, ...], name: str) -> Tensor:
    """Returns the whole of pieces, all of which are in one space or another."""
    space = pieces[0][0].space
    if any(box.space != space for box, _ in pieces):
        raise ValueError(f"[distributed] the parts of '{name}' are cut in more than one way")
    return assemble(pieces, Box(shape, space, (0,) * len(space), space), name).reshape(shape)
