"""Tensors that lie over many processes: global tensors of :mod:`lamella.distributed` by PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
import lamella.distributed as native
from lamella import Tensor, sbp
from lamella.compat.front import add_paths, close_module
from lamella.distributed import GlobalTensor
from lamella.distributed.mesh import part as part_along
from lamella.nn import Module, Parameter
from lamella.sbp import Sbp

from ..device_mesh import DeviceMesh, init_device_mesh

#: ``isinstance(x, DTensor)`` is true of every global tensor.
DTensor = GlobalTensor


class Placement:
    """Layout of a tensor along an axis of a mesh."""

    sbp: Sbp

    def is_shard(self, dim: int | None = None) -> bool:
        """True if each process has a part, along an axis if one is named."""
        return self.sbp.is_split and dim in (None, self.sbp.axis)

    def is_replicate(self) -> bool:
        """True if each process has the whole."""
        return self.sbp.is_broadcast

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """True if the processes' tensors joined are the whole, by ``reduce_op`` unless that is None."""
        return self.sbp.is_partial and reduce_op in (None, getattr(self, "reduce_op", None))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and self.sbp == other.sbp

    def __hash__(self) -> int:
        return hash(self.sbp)


class Shard(Placement):
    """Each process has a part along an axis."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.sbp = sbp.split(dim)

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"


class Replicate(Placement):
    """Each process has the whole."""

    def __init__(self) -> None:
        self.sbp = sbp.broadcast

    def __repr__(self) -> str:
        return "Replicate()"


class _StridedShard(Placement):
    """Each process has a part of each of several stretches along an axis, which no tensor has here.

    Raises:
        NotImplementedError: a tensor is to be cut so.
    """

    def __init__(self, dim: int, *, split_factor: int) -> None:
        self.dim, self.split_factor = dim, split_factor

    @property
    def sbp(self) -> Sbp:  # type: ignore[override]
        """Is not there."""
        raise NotImplementedError("[_StridedShard] parts of several stretches are not there: take Shard")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _StridedShard) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.dim, self.split_factor))

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"


class Partial(Placement):
    """The processes' tensors joined are the whole.

    Raises:
        NotImplementedError: they are joined otherwise than by "sum", "max" or "min".
    """

    def __init__(self, reduce_op: str = "sum") -> None:
        if reduce_op not in ("sum", "max", "min"):
            raise NotImplementedError(f"[Partial] reduce_op is 'sum', 'max' or 'min' here, not {reduce_op!r}")
        self.reduce_op = reduce_op
        self.sbp = getattr(sbp, f"partial_{reduce_op}")

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


def placement_of(one: Sbp) -> Placement:
    """Returns PyTorch's name of a signature."""
    if one.is_split:
        return Shard(one.axis)
    return Replicate() if one.is_broadcast else Partial(one.op)


def signature_of(placements: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int) -> list[Sbp]:
    """Returns the signatures that placements stand for; without any, those of what every process has whole."""
    if placements is None:
        return [sbp.broadcast] * mesh.ndim
    return [sbp.split(one.sbp.axis % ndim) if one.sbp.is_split and one.sbp.axis < 0 else one.sbp for one in placements]


def _from_local(
    local_tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    run_check: bool = False,
    shape: Any = None,
    stride: Any = None,
) -> Tensor:
    """Makes one of this process's part; with ``run_check`` the first process's values are every process's."""
    mesh = _mesh(device_mesh)
    signature = signature_of(placements, mesh, local_tensor.ndim)
    if shape is not None:  # parts may be uneven
        return native.to_global(local_tensor, mesh.placement, signature)
    return native.to_global(local_tensor, mesh.placement, signature, synchronize=run_check)


def _to_local(self: GlobalTensor, *, grad_placements: Any = None) -> Tensor:
    """Returns this process's part."""
    return _own_part(self)


def _full_tensor(self: GlobalTensor, *, grad_placements: Any = None) -> Tensor:
    """Returns the whole tensor, on every process."""
    return _own_part(self.to_global(sbp=[sbp.broadcast] * self.placement.ndim))


def _redistribute(
    self: GlobalTensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    async_op: bool = False,
    forward_dtype: Any = None,
    backward_dtype: Any = None,
) -> GlobalTensor:
    """Returns the tensor under other placements."""
    mesh = self.placement if device_mesh is None else device_mesh.placement
    wanted = self.sbp if placements is None else signature_of(placements, DeviceMesh.of(mesh), self.ndim)
    return self.to_global(mesh, wanted)


_own_part: Callable[[GlobalTensor], Tensor] = GlobalTensor.to_local
_METHODS: dict[str, Any] = {
    "from_local": staticmethod(_from_local),
    "to_local": _to_local,
    "full_tensor": _full_tensor,
    "redistribute": _redistribute,
    "placements": property(lambda self: tuple(placement_of(one) for one in self.sbp)),
    "device_mesh": property(lambda self: DeviceMesh.of(self.placement)),
    "_local_tensor": property(lambda self: self._local),
}
for _name, _method in _METHODS.items():
    setattr(GlobalTensor, _name, _method)


def _mesh(given: DeviceMesh | None) -> DeviceMesh:
    if given is not None:
        return given
    return init_device_mesh("cpu", (native.get_world_size(),))


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Tensor:
    """Returns a tensor, of which the first process's values count, under placements: each process keeps its part.

    Args:
        tensor: the whole tensor, a leaf.
        device_mesh: the processes; all of them by default.
        placements: one for each axis of the mesh; the whole on every process by default.
        src_data_rank: None where the processes have the same values already.
    """
    mesh = _mesh(device_mesh)
    signature = signature_of(placements, mesh, tensor.ndim)
    if isinstance(tensor, GlobalTensor):
        return tensor.to_global(mesh.placement, signature)
    whole = tensor.detach()
    if src_data_rank is not None:
        whole = native.to_global(whole, mesh.placement, [sbp.broadcast] * mesh.ndim).to_local()
    made: Tensor = native.distribute(whole, mesh.placement, signature)
    if isinstance(tensor, Parameter):
        made = Parameter(made)
    made.stop_gradient = tensor.stop_gradient
    return made


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> Module:
    """Makes a module's parameters and buffers tensors over many processes, as a function of its parts says.

    Args:
        module: the module.
        device_mesh: the processes.
        partition_fn: called with the name of each part, the part and the mesh; what it leaves is whole everywhere.
        input_fn: called with the module, its inputs and the mesh before each call; returns the inputs.
        output_fn: called with the module, its outputs and the mesh after each call; returns the outputs.
    """
    mesh = _mesh(device_mesh)
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for table in (part._parameters, part._buffers):
            for key, x in list(table.items()):
                if x is not None and not isinstance(x, GlobalTensor):
                    table[key] = distribute_tensor(x, mesh)  # type: ignore[assignment]
    if input_fn is not None:
        module.register_forward_pre_hook(lambda part, inputs: input_fn(part, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda part, inputs, outputs: output_fn(part, outputs, mesh))
    return module


def _maker(name: str) -> Callable[..., Tensor]:
    make = getattr(lm, name)

    def made(*size: Any, device_mesh: DeviceMesh | None = None, placements: Any = None, **options: Any) -> Tensor:
        shape = size[0] if len(size) == 1 and isinstance(size[0], Sequence) else size
        wants = options.pop("requires_grad", False)
        found = distribute_tensor(make(list(shape), **options), device_mesh, placements)
        found.stop_gradient = not wants
        return found

    made.__name__ = name
    made.__doc__ = f"Returns what ``torch.{name}`` gives, of the first process, as a tensor over many processes."
    return made


zeros, ones, empty, rand, randn = map(_maker, ("zeros", "ones", "empty", "rand", "randn"))


def full(size: Sequence[int], fill_value: Any, **options: Any) -> Tensor:
    """Returns a tensor over many processes of one value."""
    made = zeros(size, **options)
    with lm.no_grad():
        made += fill_value
    return made


__getattr__ = close_module(__name__)


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the shape of this process's part of a tensor, and where it begins along each axis."""
    shape, offset = list(global_shape), [0] * len(global_shape)
    for each, count, at in zip(placements, mesh.shape, mesh.get_coordinate() or (), strict=True):
        if isinstance(each, Shard):
            start, stop = part_along(shape[each.dim], count, at)
            shape[each.dim] = stop - start
            offset[each.dim] += start
    return tuple(shape), tuple(offset)


add_paths(
    "torch",
    {
        f"{__name__}._utils": {__name__: "compute_local_shape_and_global_offset"},
        f"{__name__}.placement_types": {__name__: "Placement Shard Replicate Partial _StridedShard"},
    },
)
