"""Groups of processes by PyTorch's names: those of :mod:`lamella.distributed`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import lamella.distributed as native
from lamella.distributed import ProcessGroup

from ._stores import MeetingPoint


class Backend(str):
    """The name of a backend, in lower case."""

    GLOO, MPI, NCCL, UCC, UNDEFINED = "gloo", "mpi", "nccl", "ucc", "undefined"

    def __new__(cls, name: str) -> Backend:
        """Makes one of any spelling."""
        return str.__new__(cls, name.lower())


class GroupMember:
    """Stands for groups: the default one, and what a process that is in none gets."""

    NON_GROUP_MEMBER = -100


class _Group:
    @property
    def WORLD(self) -> ProcessGroup | None:  # noqa: N802 (PyTorch's name)
        """The default group; None before there is one."""
        return native.get_group() if native.is_initialized() else None


group = _Group()

#: Limit for connecting and for each operation.
default_pg_timeout = timedelta(minutes=30)


def is_available() -> bool:
    """True if this build has a library for communication between processes."""
    return native.is_available()


def is_gloo_available() -> bool:
    """True if this build has Gloo."""
    return native.is_available("gloo")


def is_mpi_available() -> bool:
    """True if this build has MPI, and the process was not started by ``torchrun``, of which MPI knows nothing."""
    return native.is_available("mpi") and not is_torchelastic_launched()


def is_nccl_available() -> bool:
    """True if this build is for CUDA, and NCCL is here."""
    return native.is_available("nccl")


def is_ucc_available() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """True in a process that ``torchrun`` started."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_initialized() -> bool:
    """True between :func:`init_process_group` and :func:`destroy_process_group`."""
    return native.is_initialized()


def init_process_group(
    backend: Any = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Connects this process to the others of its program; see :func:`lamella.distributed.init_process_group`.

    Args:
        backend: "gloo", "mpi", "nccl", "cpu:gloo,cuda:nccl" or None; a single process may name any.
        init_method: "env://", "tcp://host:port", or "file:///path", at which a folder is made.
        timeout: limit for connecting and for each operation.
        world_size: number of processes, where the environment does not say it.
        rank: the number of this process, likewise.
        store: a :class:`Store` through which the processes meet, in place of `init_method`.
        group_name: accepted; nothing changes.
        pg_options: accepted; nothing changes.
        device_id: accepted; nothing changes.

    Raises:
        RuntimeError: the backend is not there, or other processes have not come in time.
        ValueError: an argument, or a variable of the environment, makes no sense.
    """
    if store is not None and (rank < 0 or world_size < 1 or init_method is not None):
        raise ValueError("[init_process_group] a store goes with rank and world_size, and without init_method")
    size = world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE", "1"))
    where = {"rank": rank if rank >= 0 else int(os.environ.get("RANK", "-1")), "world_size": size}
    if world_size <= 0 and rank < 0:
        where = {}
    elif where["rank"] < 0:
        raise ValueError(f"[init_process_group] of {size} processes, this one has no rank: give rank=, or set RANK")
    names = [name.rpartition(":")[2] for name in str(backend or "").lower().split(",")]
    chosen = next((name for name in names if name in ("gloo", "mpi")), None)
    if "nccl" in names and is_nccl_available():
        chosen = None if chosen else "nccl"  # beside a backend for the CPU, where it can connect the processes
    elif chosen is None and names != [""] and size > 1:
        raise RuntimeError(f"[init_process_group] there is no backend '{backend}' for {size} processes: take 'gloo'")
    limit = {} if timeout is None else {"timeout": timeout}
    met = None if store is None else MeetingPoint(store)
    native.init_process_group(chosen, init_method=init_method, store=met, **where, **limit)  # type: ignore[arg-type]


def destroy_process_group(group: Any = None) -> None:
    """Leaves a group, or all of them."""
    if group is not None or native.is_initialized():
        native.destroy_process_group(group)


def get_rank(group: Any = None) -> int:
    """Returns the rank of this process in a group; -1 where it is no member."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else native.get_rank(group)


def get_world_size(group: Any = None) -> int:
    """Returns the number of processes of a group; -1 where this one is no member."""
    return native.get_world_size(group) if get_rank(group) >= 0 else -1


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Returns the number of this process among those of its machine."""
    return native.get_local_rank()


def get_backend(group: Any = None) -> str:
    """Returns the name of a group's backend, "gloo" for one process alone."""
    name = native.get_group(_name(group)).backend if native.is_initialized() else "gloo"
    return "gloo" if name == "self" else name


def get_default_backend_for_device(device: Any) -> str:
    """Returns "nccl" for CUDA where it is here, and "gloo", through which tensors of any device go, otherwise."""
    return "nccl" if str(device).startswith("cuda") and is_nccl_available() else "gloo"


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: Any = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """Makes a group of some processes, of all by default; all processes call it.

    Returns:
        The group, or ``GroupMember.NON_GROUP_MEMBER`` on a process that is not in it.
    """
    members = list(range(native.get_world_size())) if ranks is None else list(ranks)
    made = native.new_group(members)
    return made if made.rank >= 0 else GroupMember.NON_GROUP_MEMBER


def new_subgroups(group_size: int | None = None, **options: Any) -> tuple[Any, list[Any]]:
    """Makes groups of so many processes each, in the order of ranks. Returns this process's own, and all."""
    size = native.get_world_size()
    each = size if group_size is None else group_size
    if each < 1 or size % each:
        raise ValueError(f"[new_subgroups] {size} processes cannot be shared out in groups of {each}")
    made = [new_group(range(first, first + each)) for first in range(0, size, each)]
    return made[native.get_rank() // each], made


def get_process_group_ranks(group: Any) -> list[int]:
    """Returns the ranks, in the default group, of a group's processes."""
    return list(native.get_group(_name(group)).ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """Returns the rank in a group of a process that has a rank in the default group.

    Raises:
        ValueError: it is no member.
    """
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ValueError(f"[get_group_rank] rank {global_rank} is none of the group's {ranks}")
    return ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """Returns the rank in the default group of a process that has a rank in a group."""
    return get_process_group_ranks(group)[group_rank]


def _name(group: Any) -> str:
    return "" if group is None else group.name
