"""What carries global tensors' collectives: the process groups of this package, or a stand-in that only counts.

Each thread has its own, so that a plan (:mod:`lamella.distributed.plan`) leaves the processes' groups alone.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from lamella._C import Tensor

if TYPE_CHECKING:
    from .mesh import placement


class Collectives(Protocol):
    """Differentiable collectives of tensors, and the groups they run in."""

    def rank(self) -> int:
        """Returns the rank of this process."""

    def world_size(self) -> int:
        """Returns the number of processes."""

    def group_of(self, mesh: placement, axis: int) -> Any:
        """Returns this process's group along an axis of a mesh."""

    def all_reduce(self, x: Tensor, op: str, group: Any) -> Tensor:
        """Returns what ``op`` makes of all processes' tensors."""

    def all_gather(self, x: Tensor, axis: int, group: Any) -> Tensor:
        """Returns all processes' tensors, one after the other along an axis; their sizes may differ."""

    def reduce_scatter(self, x: Tensor, op: str, axis: int, group: Any) -> Tensor:
        """Returns this process's part along an axis of what ``op`` makes of all processes' tensors."""

    def all_to_all(self, x: Tensor, split_axis: int, concat_axis: int, group: Any) -> Tensor:
        """Returns the parts along one axis that all processes hold for this one, put together along another."""

    def broadcast(self, x: Tensor, group: Any) -> Tensor:
        """Returns the first process's tensor."""


class ProcessCollectives:
    """The collectives of :mod:`lamella.distributed`, over its process groups."""

    def __init__(self) -> None:
        self._groups: dict[tuple[placement, int], Any] = {}

    def rank(self) -> int:
        """Returns the rank of this process."""
        from lamella import distributed

        return distributed.get_rank()

    def world_size(self) -> int:
        """Returns the number of processes."""
        from lamella import distributed

        return distributed.get_world_size()

    def group_of(self, mesh: placement, axis: int) -> Any:
        """Returns this process's group along an axis of a mesh; all processes of the mesh call it together."""
        if (mesh, axis) not in self._groups:
            from lamella import distributed

            rank = self.rank()
            for ranks in mesh.fibers(axis):
                group = distributed.new_group(ranks)
                if rank in ranks:
                    self._groups[mesh, axis] = group
        return self._groups[mesh, axis]

    def all_reduce(self, x: Tensor, op: str, group: Any) -> Tensor:
        """Returns what ``op`` makes of all processes' tensors."""
        from lamella import distributed

        return distributed.all_reduce(x, op, group)

    def all_gather(self, x: Tensor, axis: int, group: Any) -> Tensor:
        """Returns all processes' tensors, one after the other along an axis."""
        from lamella import distributed

        return distributed.all_gather(x, axis, group)

    def reduce_scatter(self, x: Tensor, op: str, axis: int, group: Any) -> Tensor:
        """Returns this process's part of what ``op`` makes of all processes' tensors."""
        from lamella import distributed

        return distributed.reduce_scatter(x, op, axis, group)

    def all_to_all(self, x: Tensor, split_axis: int, concat_axis: int, group: Any) -> Tensor:
        """Returns all processes' parts for this one, put together along ``concat_axis``."""
        from lamella import distributed

        return distributed.all_to_all(x, split_axis, concat_axis, None, group)

    def broadcast(self, x: Tensor, group: Any) -> Tensor:
        """Returns the first process's tensor."""
        from lamella import distributed

        return distributed.broadcast(x, group.ranks[0], group)


_processes = ProcessCollectives()
_local = threading.local()


def current() -> Collectives:
    """Returns what carries this thread's collectives."""
    found: Collectives | None = getattr(_local, "collectives", None)
    return _processes if found is None else found


@contextlib.contextmanager
def using(collectives: Collectives) -> Iterator[None]:
    """Has this thread's collectives carried by something else."""
    before = getattr(_local, "collectives", None)
    _local.collectives = collectives
    try:
        yield
    finally:
        _local.collectives = before
