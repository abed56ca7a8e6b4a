"""Tensors over many processes: PyTorch's DTensors, which are Lamella's global tensors under other names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
import lamella.distributed as native
from lamella import sbp
from lamella.compat.front import add_paths, close_module
from lamella.distributed.global_tensor import GlobalParameter, GlobalTensor
from lamella.distributed.making import part_of
from lamella.distributed.mesh import part

from .._stand_ins import TensorType, Uninhabited
from .device_mesh import DeviceMesh, init_device_mesh, mesh_of

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "init_device_mesh",
]


class Placement:
    """How a tensor lies along one axis of a mesh: one of the three classes below."""

    signature: sbp.Sbp

    def is_shard(self, dim: int | None = None) -> bool:
        """True if processes have parts, along the axis ``dim`` where one is given."""
        return self.signature.is_split and dim in (None, self.signature.axis)

    def is_replicate(self) -> bool:
        """True if every process has the whole."""
        return self.signature.is_broadcast

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """True if the tensor is what a reduction makes of the processes' values."""
        return self.signature.is_partial and reduce_op in (None, self.signature.op)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and self.signature is other.signature

    def __hash__(self) -> int:
        return hash(self.signature)


class Shard(Placement):
    """Each process has a part along an axis; sizes are those of numpy.array_split."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.signature = sbp.split(dim)

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """Returns the size of a part of an axis, and where it begins."""
        start, stop = part(curr_local_size, num_chunks, rank)
        return stop - start, start

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"


class Replicate(Placement):
    """Each process has the whole tensor."""

    signature = sbp.broadcast

    def __repr__(self) -> str:
        return "Replicate()"


class Partial(Placement):
    """The tensor is the sum, the maximum or the minimum of what the processes have.

    Raises:
        ValueError: the reduction is another.
    """

    def __init__(self, reduce_op: str = "sum") -> None:
        if reduce_op not in sbp.PARTIAL:
            raise ValueError(f"[Partial] reduce_op is one of {sorted(sbp.PARTIAL)}, not {reduce_op!r}")
        self.reduce_op = reduce_op
        self.signature = sbp.PARTIAL[reduce_op]

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


class _StridedShard(metaclass=Uninhabited):
    """Parts of an axis that is cut twice in another order than that of the mesh; no tensor lies so here."""


class DTensor(metaclass=TensorType):
    """The type of tensors over many processes: global tensors are instances."""

    native = GlobalTensor

    @staticmethod
    def from_local(
        local_tensor: lm.Tensor,
        device_mesh: DeviceMesh,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        **options: Any,
    ) -> GlobalTensor:
        """Makes one of every process's part; see :func:`lamella.distributed.to_global`."""
        return native.to_global(local_tensor, device_mesh.placement, _signatures(device_mesh, placements))


def _signatures(mesh: DeviceMesh, placements: Sequence[Placement] | None) -> list[sbp.Sbp]:
    if placements is None:
        return [sbp.broadcast] * mesh.ndim
    return [each.signature for each in placements]


def _placement_of(signature: sbp.Sbp) -> Placement:
    if signature.is_split:
        return Shard(signature.axis)
    return Replicate() if signature.is_broadcast else Partial(signature.op)


def _redistribute(
    self: GlobalTensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, **_: Any
) -> GlobalTensor:
    """Implements DTensor.redistribute(): the tensor under other signatures."""
    mesh = mesh_of(self.placement) if device_mesh is None else device_mesh
    return self.to_global(mesh.placement, _signatures(mesh, placements))


def _full_tensor(self: GlobalTensor, **_: Any) -> lm.Tensor:
    """Implements DTensor.full_tensor(): the whole on every process, on the tape."""
    return self.to_global(sbp=[sbp.broadcast] * self.placement.ndim).to_local()


_native_to_local: Any = GlobalTensor.to_local
_global: Any = GlobalTensor
_global.device_mesh = property(lambda self: mesh_of(self.placement))
_global.placements = property(lambda self: tuple(map(_placement_of, self.sbp)))
_global.redistribute = _redistribute
_global.full_tensor = _full_tensor
_global.to_local = lambda self, grad_placements=None: _native_to_local(self)


def distribute_tensor(
    tensor: lm.Tensor, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, **_: Any
) -> GlobalTensor:
    """Makes one of a tensor that every process has whole; see :func:`lamella.distributed.distribute`."""
    return native.distribute(tensor, device_mesh.placement, _signatures(device_mesh, placements))


def distribute_module(
    module: Any,
    device_mesh: DeviceMesh,
    partition_fn: Callable[[str, Any, DeviceMesh], None] | None = None,
    input_fn: Callable[[Any, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Any, Any, DeviceMesh], Any] | None = None,
) -> Any:
    """Makes a module's parameters global, in place.

    Args:
        module: the module.
        device_mesh: the processes.
        partition_fn: is called with the name of each module in it, the module and the mesh, and replaces its
            parameters; those that it leaves are whole on every process.
        input_fn: is called with the module, its inputs and the mesh, and returns the inputs in their place.
        output_fn: the same for outputs.
    """
    for name, each in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, each, device_mesh)
        for key, parameter in each._parameters.items():
            if parameter is not None and not isinstance(parameter, GlobalTensor):
                whole = (sbp.broadcast,) * device_mesh.ndim
                local = part_of(parameter, device_mesh.placement, whole)
                made = GlobalParameter._of(local, parameter.shape, device_mesh.placement, whole)
                made.stop_gradient = parameter.stop_gradient
                each._parameters[key] = made
    if input_fn is not None:
        module.register_forward_pre_hook(lambda module, inputs: input_fn(module, inputs, device_mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda module, inputs, outputs: output_fn(module, outputs, device_mesh))
    return module


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the shape of this process's part of a tensor, and where it begins along each axis."""
    shape, offset = list(global_shape), [0] * len(global_shape)
    for each, count, at in zip(placements, mesh.shape, mesh.get_coordinate() or (), strict=True):
        if isinstance(each, Shard):
            start, stop = part(shape[each.dim], count, at)
            shape[each.dim] = stop - start
            offset[each.dim] += start
    return tuple(shape), tuple(offset)


__getattr__ = close_module(__name__)
add_paths(
    "torch",
    {
        f"{__name__}.placement_types": {__name__: "Partial Placement Replicate Shard _StridedShard"},
        f"{__name__}._utils": {__name__: "compute_local_shape_and_global_offset"},
    },
)
