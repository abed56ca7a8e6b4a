"""Several processes: groups and collective operations of :mod:`lamella.distributed`, with PyTorch's signatures."""

# The names below are the module's surface: F401 does not see that.
# ruff: noqa: F401

from __future__ import annotations

from importlib import import_module

from lamella.compat.front import add_paths, close_module
from lamella.distributed import ProcessGroup

from . import _collectives, _groups
from ._collectives import (
    ReduceOp,
    Work,
    all_gather,
    all_gather_into_tensor,
    all_gather_object,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    broadcast_object_list,
    gather,
    gather_object,
    irecv,
    isend,
    monitored_barrier,
    recv,
    reduce,
    reduce_op,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    scatter_object_list,
    send,
)
from ._groups import (
    Backend,
    GroupMember,
    destroy_process_group,
    get_backend,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    new_group,
    new_subgroups,
)

__all__ = sorted(
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "") in (_groups.__name__, _collectives.__name__)
)
__all__ += ["ProcessGroup", "group"]

_missing = close_module(__name__)
#: Modules that are imported when they are asked for.
_LATER = frozenset(["_functional_collectives", "algorithms", "device_mesh", "fsdp", "launch", "nn", "run", "tensor"])


def __getattr__(name: str) -> object:
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(import_module(f"{__name__}.device_mesh"), name)
    if name in _LATER:
        return import_module(f"{__name__}.{name}")
    return _missing(name)


add_paths("torch", {f"{__name__}.distributed_c10d": {__name__: " ".join(__all__)}})
add_paths("torch", {f"{__name__}.elastic": {}})
add_paths("torch", {f"{__name__}.elastic.multiprocessing": {}})
add_paths("torch", {f"{__name__}.elastic.multiprocessing.errors": {f"{__name__}.run": "record"}})
add_paths("torch", {f"{__name__}._composable": {}})
add_paths(
    "torch",
    {
        f"{__name__}._composable.fsdp": {
            f"{__name__}.fsdp": "CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy fully_shard"
        }
    },
)
add_paths("torch", {f"{__name__}._tensor": {f"{__name__}.tensor": "DTensor Replicate Shard distribute_tensor"}})
