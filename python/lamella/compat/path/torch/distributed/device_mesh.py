"""Arrays of processes: PyTorch's meshes, which are Lamella's placements with names for their axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import lamella as lm
import lamella.distributed as native
from lamella.compat.front import close_module

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Processes in an array of one or more axes; see :class:`lamella.placement`.

    Args:
        device_type: the kind of device, "cpu" or "cuda".
        mesh: the processes' ranks, as nested sequences or an integer tensor.
        mesh_dim_names: a name for each axis.

    Raises:
        ValueError: the ranks are no array of different numbers.
        RuntimeError: there is not one name for each axis.
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None) -> None:
        self.placement = lm.placement(str(device_type), mesh)
        if mesh_dim_names is not None and len(mesh_dim_names) != self.placement.ndim:
            raise RuntimeError(
                f"[DeviceMesh] there are {self.placement.ndim} axes, and mesh_dim_names is {list(mesh_dim_names)}"
            )
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        _OF_PLACEMENTS[self.placement] = self

    @property
    def device_type(self) -> str:
        """The kind of device."""
        return self.placement.type

    @property
    def mesh(self) -> lm.Tensor:
        """The ranks."""
        return lm.reshape(lm.tensor(list(self.placement.ranks)), self.placement.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self.placement.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.placement.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """Returns the number of processes, or that along an axis."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def get_rank(self) -> int:
        """Returns the rank of this process."""
        return native.get_rank()

    def get_coordinate(self) -> list[int] | None:
        """Returns where this process stands; None if it is not in the mesh."""
        rank = self.get_rank()
        return list(self.placement.coordinate(rank)) if rank in self.placement else None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Returns the place of this process along an axis; that of a mesh with one axis needs no name."""
        return self.placement.coordinate()[self._axis("get_local_rank", mesh_dim)]

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """Returns the group of the processes that stand with this one along an axis."""
        return self.placement.group(self._axis("get_group", mesh_dim))

    def get_all_groups(self) -> list[Any]:
        """Returns the groups of this process along all axes."""
        return [self.placement.group(axis) for axis in range(self.ndim)]

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """Returns the part of the mesh along named axes in which this process stands."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        axes = [self._axis("DeviceMesh", name) for name in names]
        if axes == list(range(self.ndim)):
            return self
        at = self.placement.coordinate()
        key = tuple(slice(None) if axis in axes else at[axis] for axis in range(self.ndim))
        ranks = lm.permute_dims(self.mesh[key], tuple(sorted(axes).index(axis) for axis in axes))
        return DeviceMesh(self.device_type, ranks, mesh_dim_names=names)

    def _axis(self, op: str, name: int | str | None) -> int:
        if name is None and self.ndim == 1:
            return 0
        if isinstance(name, int) and -self.ndim <= name < self.ndim:
            return name % self.ndim
        if name in (self.mesh_dim_names or ()):
            return (self.mesh_dim_names or ()).index(str(name))
        raise KeyError(f"[{op}] {name!r} is no axis of {self!r}")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeviceMesh)
            and self.placement == other.placement
            and self.mesh_dim_names == other.mesh_dim_names
        )

    def __hash__(self) -> int:
        return hash((self.placement, self.mesh_dim_names))

    def __enter__(self) -> DeviceMesh:
        """Returns the mesh; global tensors name theirs."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Ends the block."""

    def __repr__(self) -> str:
        names = "" if self.mesh_dim_names is None else f", mesh_dim_names={self.mesh_dim_names}"
        return f"DeviceMesh({self.device_type!r}, {self.mesh.tolist()}{names})"


#: The mesh that was last made of a placement, which has the names of the axes.
_OF_PLACEMENTS: dict[lm.placement, DeviceMesh] = {}


def mesh_of(placement: lm.placement) -> DeviceMesh:
    """Returns the mesh of a global tensor's processes."""
    return _OF_PLACEMENTS.get(placement) or DeviceMesh(placement.type, placement._nested(0, placement.ranks))


def init_device_mesh(
    device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None, **options: Any
) -> DeviceMesh:
    """Returns a mesh of all processes, in the order of their ranks; makes the default group where there is none.

    Args:
        device_type: the kind of device, "cpu" or "cuda".
        mesh_shape: sizes of the axes, whose product is the number of processes.
        mesh_dim_names: a name for each axis.
        options: ``backend_override``, which changes nothing.

    Raises:
        RuntimeError: the product of the sizes is another than the number of processes.
    """
    if not native.is_initialized():
        native.init_process_group()
    count = native.get_world_size()
    if math.prod(mesh_shape) != count:
        raise RuntimeError(f"[init_device_mesh] a mesh of {tuple(mesh_shape)} has not the {count} processes")
    return DeviceMesh(device_type, lm.reshape(lm.arange(count), tuple(mesh_shape)), mesh_dim_names=mesh_dim_names)


__getattr__ = close_module(__name__)
