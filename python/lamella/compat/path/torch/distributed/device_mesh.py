"""Arrays of processes: :class:`lamella.distributed.placement` by PyTorch's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamella as lm
import lamella.distributed as native
from lamella.compat.front import close_module

#: The mesh that was made with names, by what it is of.
_NAMED: dict[native.placement, DeviceMesh] = {}


class DeviceMesh:
    """Processes in an array, with names of its axes.

    Args:
        device_type: the kind of device.
        mesh: the ranks, nested lists or a tensor.
        mesh_dim_names: names of the axes.

    Raises:
        ValueError: there are not as many names as axes, or the ranks make no sense.
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None) -> None:
        ranks = mesh.tolist() if isinstance(mesh, lm.Tensor) else mesh
        self._start(native.placement(device_type, ranks), mesh_dim_names)
        for axis in range(self.ndim):
            self.placement.group(axis)

    def _start(self, placement: native.placement, names: Sequence[str] | None) -> None:
        if names is not None and len(names) != placement.ndim:
            raise ValueError(f"[DeviceMesh] a mesh of {placement.ndim} axes has as many names, not {tuple(names)}")
        self.placement = placement
        self.mesh_dim_names = None if names is None else tuple(names)
        _NAMED[placement] = self

    @classmethod
    def of(cls, placement: native.placement, names: Sequence[str] | None = None) -> DeviceMesh:
        """Returns the mesh of a placement, with the names that it was given."""
        if names is None and placement in _NAMED:
            return _NAMED[placement]
        made = cls.__new__(cls)
        made._start(placement, names)
        return made

    @property
    def device_type(self) -> str:
        """The kind of device."""
        return self.placement.type

    @property
    def mesh(self) -> lm.Tensor:
        """The ranks."""
        return lm.asarray(list(self.placement.ranks)).reshape(self.placement.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self.placement.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.placement.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """Returns the number of processes, or of those along an axis."""
        return self.placement.size if mesh_dim is None else self.placement.shape[mesh_dim]

    def _axis(self, dim: int | str | None, caller: str) -> int:
        if dim is None:
            if self.ndim > 1:
                raise RuntimeError(f"[{caller}] a mesh of {self.ndim} axes wants to be told which")
            return 0
        if isinstance(dim, int):
            return dim
        if dim not in (self.mesh_dim_names or ()):
            raise KeyError(f"[{caller}] the axes are called {self.mesh_dim_names}, none of them {dim!r}")
        return (self.mesh_dim_names or ()).index(dim)

    def __getitem__(self, name: str | tuple[str, ...]) -> DeviceMesh:
        """Returns the mesh of the processes that differ from this one only in their place along an axis."""
        if isinstance(name, tuple):
            if name == self.mesh_dim_names:
                return self
            if len(name) > 1:
                raise NotImplementedError(f"[DeviceMesh] of a mesh take one axis or all of {self.mesh_dim_names}")
            (name,) = name
        line = self.placement.along(self._axis(name, "DeviceMesh"))
        return self if line == self.placement else DeviceMesh.of(line, (name,))

    def get_group(self, mesh_dim: int | str | None = None) -> native.ProcessGroup:
        """Returns this process's group along an axis."""
        found: native.ProcessGroup = self.placement.group(self._axis(mesh_dim, "get_group"))
        return found

    def get_all_groups(self) -> list[native.ProcessGroup]:
        """Returns this process's groups along all axes."""
        return [self.get_group(axis) for axis in range(self.ndim)]

    def get_coordinate(self) -> list[int] | None:
        """Returns this process's place; None where it is not in the mesh."""
        return list(self.placement.coordinate()) if self.get_rank() in self.placement else None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Returns this process's place along an axis."""
        return self.placement.coordinate()[self._axis(mesh_dim, "get_local_rank")]

    def get_rank(self) -> int:
        """Returns the rank of this process among all."""
        return native.get_rank()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self.placement == other.placement

    def __hash__(self) -> int:
        return hash(self.placement)

    def __reduce__(self) -> tuple[Any, ...]:
        return DeviceMesh.of, (self.placement, self.mesh_dim_names)

    def __repr__(self) -> str:
        names = "" if self.mesh_dim_names is None else f", mesh_dim_names={self.mesh_dim_names}"
        return f"DeviceMesh('{self.device_type}', {self.mesh.tolist()}{names})"


def init_device_mesh(
    device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None, **options: Any
) -> DeviceMesh:
    """Returns the mesh of all processes, in the order of their ranks; makes the default group where there is none.

    Raises:
        RuntimeError: the shape is of another number of processes.
    """
    if not native.is_initialized():
        native.init_process_group()
    shape = tuple(mesh_shape)
    count = 1
    for size in shape:
        count *= size
    if count != native.get_world_size():
        raise RuntimeError(
            f"[init_device_mesh] a mesh of shape {shape} is not of the {native.get_world_size()} processes"
        )
    return DeviceMesh(device_type, lm.arange(count).reshape(shape), mesh_dim_names=mesh_dim_names)


__getattr__ = close_module(__name__)
