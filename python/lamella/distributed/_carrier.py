"""Carriers of global tensors' collectives: the process groups of this package, or a stand-in that only counts.

Each thread has its own, so that a plan (:mod:`lamella.distributed.plan`) leaves the processes' groups alone.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lamella import _C
from lamella._C import Tensor
from lamella._C import _ProcessGroup as ProcessGroup

from . import _groups

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

    def connect(self, mesh: placement) -> None:
        """Makes the groups of a mesh."""

    def adopt(self, mesh: placement, axis: int, group: Any) -> None:
        """Has a mesh communicate along an axis in a group that is there, of the same processes."""

    def all_reduce(self, x: Tensor, op: str, group: Any) -> Tensor:
        """Returns what ``op`` makes of all processes' tensors."""

    def all_gather(self, x: Tensor, axis: int, sizes: Sequence[int], group: Any) -> Tensor:
        """Returns all processes' tensors, of these sizes along an axis, one after the other."""

    def reduce_scatter(self, x: Tensor, op: str, axis: int, group: Any) -> Tensor:
        """Returns this process's part along an axis of what ``op`` makes of all processes' tensors."""

    def all_to_all(self, x: Tensor, split_axis: int, concat_axis: int, sizes: Sequence[int], group: Any) -> Tensor:
        """Returns the parts along one axis that all processes hold for this one, of ``sizes`` along another."""

    def broadcast(self, x: Tensor, group: Any) -> Tensor:
        """Returns the first process's tensor."""


class ProcessCollectives:
    """The collectives of this package's process groups."""

    def __init__(self) -> None:
        self._groups: dict[tuple[placement, int], ProcessGroup] = {}
        #: What was made, also of meshes that this process is not in.
        self._made: set[tuple[placement, int]] = set()
        self._place: object = None

    def rank(self) -> int:
        """Returns the rank of this process."""
        return _groups.get_rank()

    def world_size(self) -> int:
        """Returns the number of processes."""
        return _groups.get_world_size()

    def group_of(self, mesh: placement, axis: int) -> ProcessGroup:
        """Returns this process's group along an axis of a mesh; all processes of the mesh call it together.

        Raises:
            ValueError: a rank of the mesh is none of the processes'.
            RuntimeError: the mesh has a part of the processes, and they have not connected it.
        """
        world = self._world()
        self._forget()
        if (mesh, axis) not in self._groups:
            if mesh.size < world.size:
                raise RuntimeError(
                    f"[placement] {mesh!r} has {mesh.size} of {world.size} processes: let all call its connect()"
                )
            self._make(mesh, axis)
        return self._groups[mesh, axis]

    def connect(self, mesh: placement) -> None:
        """Makes the groups of a mesh; all processes call it together, whether or not they are in the mesh."""
        self._forget()
        for axis in range(mesh.ndim):
            if (mesh, axis) not in self._made:
                self._make(mesh, axis)

    def adopt(self, mesh: placement, axis: int, group: ProcessGroup) -> None:
        """Has a mesh communicate along an axis in a group that is there, of the same processes."""
        self._forget()
        self._groups[mesh, axis] = group

    @staticmethod
    def _world() -> ProcessGroup:
        # One process needs no group to compute with global tensors.
        return _groups.get_group("" if _groups.is_initialized() else "self")

    def _make(self, mesh: placement, axis: int) -> None:
        world = self._world()
        if max(mesh.ranks) >= world.size:
            raise ValueError(f"[placement] {mesh!r} has ranks beyond those of the {world.size} processes")
        self._made.add((mesh, axis))
        for ranks in mesh.fibers(axis):
            # Along its only axis, a mesh of all processes in order is the default group.
            group = world if ranks == list(range(world.size)) else _groups.new_group(ranks)
            if world.rank in ranks:
                self._groups[mesh, axis] = group

    def _forget(self) -> None:
        """Drops groups of an earlier default group: a new one has another place."""
        if _groups._place is not self._place:
            self._groups.clear()
            self._made.clear()
            self._place = _groups._place

    def all_reduce(self, x: Tensor, op: str, group: ProcessGroup) -> Tensor:
        """Returns what ``op`` makes of all processes' tensors."""
        return _C.distributed_all_reduce(x, op=op, group=group.name)

    def all_gather(self, x: Tensor, axis: int, sizes: Sequence[int], group: ProcessGroup) -> Tensor:
        """Returns all processes' tensors, one after the other along an axis."""
        return _C.distributed_all_gather(x, axis=axis, sizes=list(sizes), group=group.name)

    def reduce_scatter(self, x: Tensor, op: str, axis: int, group: ProcessGroup) -> Tensor:
        """Returns this process's part of what ``op`` makes of all processes' tensors."""
        return _C.distributed_reduce_scatter(x, op=op, axis=axis, group=group.name)

    def all_to_all(
        self, x: Tensor, split_axis: int, concat_axis: int, sizes: Sequence[int], group: ProcessGroup
    ) -> Tensor:
        """Returns all processes' parts for this one, put together along ``concat_axis``."""
        return _C.distributed_all_to_all(
            x, split_axis=split_axis, concat_axis=concat_axis, received=list(sizes), group=group.name
        )

    def broadcast(self, x: Tensor, group: ProcessGroup) -> Tensor:
        """Returns the first process's tensor."""
        return _C.distributed_broadcast(x, root=0, group=group.name)


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
