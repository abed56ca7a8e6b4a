"""Several processes: groups and collective operations of :mod:`lamella.distributed`, with PyTorch's signatures."""

# The names below are the module's surface: F401 does not see that.
# ruff: noqa: F401

from __future__ import annotations

from importlib import import_module

from lamella.compat.front import add_paths, close_module
from lamella.distributed import ProcessGroup

from . import _collectives, _groups, _point_to_point, _stores
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
from ._data_parallel import GradBucket
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
from ._point_to_point import P2POp, batch_isend_irecv, recv_object_list, send_object_list
from ._stores import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    FileStore,
    HashStore,
    PrefixStore,
    Store,
    TCPStore,
)
from .device_mesh import DeviceMesh, init_device_mesh

__all__ = sorted(
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "") in {one.__name__ for one in (_groups, _collectives, _point_to_point, _stores)}
)
__all__ += ["DeviceMesh", "DistBackendError", "DistError", "GradBucket", "ProcessGroup", "group", "init_device_mesh"]

_missing = close_module(__name__)


def __getattr__(name: str) -> object:
    if name in ("_functional_collectives", "nn", "optim"):
        return import_module(f"{__name__}.{name}")
    return _missing(name)


add_paths("torch", {f"{__name__}.distributed_c10d": {__name__: " ".join(__all__)}})
add_paths("torch", {f"{__name__}.constants": {f"{__name__}._groups": "default_pg_timeout"}})
add_paths("torch", {f"{__name__}.elastic": {}})
add_paths("torch", {f"{__name__}.elastic.multiprocessing": {}})
add_paths("torch", {f"{__name__}.elastic.multiprocessing.errors": {f"{__name__}.run": "record"}})
_TENSORS = "DTensor Shard Replicate Partial distribute_tensor distribute_module zeros ones empty full rand randn"
_CUT = "fully_shard register_fsdp_forward_method FSDPModule MixedPrecisionPolicy OffloadPolicy CPUOffloadPolicy"
add_paths(
    "torch",
    {
        f"{__name__}._tensor": {
            f"{__name__}.tensor": _TENSORS,
            f"{__name__}.device_mesh": "DeviceMesh init_device_mesh",
        },
        f"{__name__}._composable": {f"{__name__}.fsdp": "fully_shard"},
    },
)
add_paths("torch", {f"{__name__}._composable.fsdp": {f"{__name__}.fsdp": _CUT}})
