"""Placements: the processes, in an array of one or more axes, over which global tensors lie."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from . import _carrier

__all__ = ["part", "placement"]


def part(size: int, count: int, index: int) -> tuple[int, int]:
    """Returns where part ``index`` of ``count`` begins and ends along an axis, as numpy.array_split cuts it."""
    quotient, larger = divmod(size, count)
    start = index * quotient + min(index, larger)
    return start, start + quotient + (index < larger)


def sizes_of(size: int, count: int) -> list[int]:
    """Returns the sizes of all parts of an axis."""
    quotient, larger = divmod(size, count)
    return [quotient + (i < larger) for i in range(count)]


def _nested(ranks: Any) -> tuple[list[int], tuple[int, ...]]:
    """Returns the numbers of a nested sequence and its shape."""
    if hasattr(ranks, "tolist"):
        ranks = ranks.tolist()
    if isinstance(ranks, int) and not isinstance(ranks, bool):
        return [ranks], ()
    if not isinstance(ranks, (list, tuple, range)):
        raise TypeError(f"[placement] ranks is a nested sequence of ints, not {type(ranks).__name__}")
    if not ranks:
        raise ValueError("[placement] there are no ranks")
    inner = [_nested(item) for item in ranks]
    if len({shape for _, shape in inner}) > 1:
        raise ValueError("[placement] the rows of ranks differ in length")
    return [rank for row, _ in inner for rank in row], (len(inner), *inner[0][1])


class placement:  # noqa: N801 (OneFlow's name)
    """Processes in an array: the mesh over which global tensors lie, each of its axes with a signature of its own.

    Args:
        type: the kind of device, ``"cpu"`` or ``"cuda"``.
        ranks: the processes' ranks, as nested sequences or an array of any number of axes; a number is one process.

    Raises:
        TypeError: ``type`` is no str, or ``ranks`` no ints.
        ValueError: a rank is negative or there twice, there are none, or rows differ in length.

    Example::

        lm.placement("cpu", [0, 1, 2, 3])
        lm.placement("cuda", [[0, 1], [2, 3]])  # two rows (data parallel) of two (tensor parallel)
    """

    __slots__ = ("_hash", "_positions", "ranks", "shape", "type")

    #: The kind of device.
    type: str
    #: All ranks, in order.
    ranks: tuple[int, ...]
    #: Sizes of the mesh's axes.
    shape: tuple[int, ...]

    def __init__(self, type: str, ranks: Any) -> None:
        if not isinstance(type, str):
            raise TypeError(f"[placement] type is a str such as 'cpu', not {type.__class__.__name__}")
        flat, shape = _nested(ranks)
        if min(flat) < 0 or len(set(flat)) != len(flat):
            raise ValueError(f"[placement] ranks are different numbers from 0, not {flat}")
        self.type, self.ranks, self.shape = type, tuple(flat), shape or (1,)
        self._positions = {rank: i for i, rank in enumerate(flat)}
        self._hash = hash((self.type, self.ranks, self.shape))

    @classmethod
    def all(cls, type: str) -> placement:
        """Returns the mesh of one axis of all processes."""
        return cls(type, range(_carrier.current().world_size()))

    @property
    def ndim(self) -> int:
        """Number of the mesh's axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of processes."""
        return len(self.ranks)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, placement)
            and self._hash == other._hash
            and (self.type, self.ranks, self.shape) == (other.type, other.ranks, other.shape)
        )

    def __hash__(self) -> int:
        return self._hash

    def __contains__(self, rank: int) -> bool:
        return rank in self._positions

    def __reduce__(self) -> tuple[Any, ...]:
        return placement, (self.type, self._nested(0, self.ranks))

    def _nested(self, axis: int, ranks: Sequence[int]) -> Any:
        if axis == self.ndim - 1:
            return list(ranks)
        step = len(ranks) // self.shape[axis]
        return [self._nested(axis + 1, ranks[i * step : (i + 1) * step]) for i in range(self.shape[axis])]

    def __repr__(self) -> str:
        return f"lamella.placement(type={self.type!r}, ranks={self._nested(0, self.ranks)})"

    def coordinate(self, rank: int | None = None) -> tuple[int, ...]:
        """Returns where a process, by default this one, stands in the mesh.

        Raises:
            RuntimeError: it is not among the ranks.
        """
        rank = _carrier.current().rank() if rank is None else rank
        if rank not in self._positions:
            raise RuntimeError(f"[placement] process {rank} is none of {self!r}: only those compute with its tensors")
        return _coordinate(self._positions[rank], self.shape)

    def fibers(self, axis: int) -> list[list[int]]:
        """Returns the groups of ranks that differ only in their place along an axis of the mesh."""
        inner = math.prod(self.shape[axis + 1 :])
        step = inner * self.shape[axis]
        return [
            [self.ranks[outer + i + k * inner] for k in range(self.shape[axis])]
            for outer in range(0, self.size, step)
            for i in range(inner)
        ]

    def connect(self) -> None:
        """Makes the process groups of a placement of some of the processes; all processes call it together.

        Those of a placement of all processes are made when they first communicate.
        """
        _carrier.current().connect(self)

    def along(self, axis: int) -> placement:
        """Returns the placement of the processes that differ from this one only in their place along an axis.

        It communicates in the groups of this placement: all processes ask for it together the first time.
        """
        at = self.coordinate()
        ranks = next(ranks for ranks in self.fibers(axis) if self.ranks[self._position(at)] in ranks)
        found = placement(self.type, ranks)
        if found != self:
            _carrier.current().adopt(found, 0, self.group(axis))
        return found

    def _position(self, at: Sequence[int]) -> int:
        position = 0
        for place, size in zip(at, self.shape, strict=True):
            position = position * size + place
        return position

    def group(self, axis: int) -> Any:
        """Returns the process group of this process along an axis of the mesh.

        All processes of the mesh ask for it together when they first communicate along the axis.
        """
        return _carrier.current().group_of(self, axis)


@functools.lru_cache(maxsize=4096)
def _coordinate(position: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    found = []
    for size in reversed(shape):
        position, place = divmod(position, size)
        found.append(place)
    return tuple(reversed(found))
