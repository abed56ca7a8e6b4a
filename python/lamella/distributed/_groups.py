"""Groups of processes: making, finding and leaving them."""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import os
import re
import urllib.parse
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from .. import _C
from .._C import _ProcessGroup as ProcessGroup
from . import _environment
from ._store import HttpStore

#: Backends for the host's memory, in the order in which they are tried where none is named.
_BACKENDS = ("gloo", "mpi")
#: Backends for the memory of devices, which work beside one for the host.
_DEVICE_BACKENDS = ("nccl",)
_DEFAULT_TIMEOUT = 300.0

#: The place of this process, once it has been asked for.
_place: _environment.Place | None = None
_numbers = itertools.count(1)
#: The process that has made the groups: a copy that fork() makes of it has no part in them.
_owner = 0


class Store(Protocol):
    """A table of values that processes share."""

    def set(self, key: str, value: bytes) -> None:
        """Stores a value."""

    def get(self, key: str, seconds: float) -> bytes:
        """Returns a value as soon as it is there; TimeoutError after these seconds."""


def is_available(backend: str | None = None) -> bool:
    """True if this build has a backend that loads here: the named one, or any."""
    for name in (backend,) if backend else _BACKENDS:
        try:
            _load(name)
        except RuntimeError:
            continue
        return True
    return False


def init_process_group(
    backend: str | None = None,
    *,
    timeout: float | timedelta = _DEFAULT_TIMEOUT,
    rank: int | None = None,
    world_size: int | None = None,
    init_method: str | None = None,
    store: Store | None = None,
    address: str | None = None,
    interface: str | None = None,
    debug: bool | None = None,
) -> ProcessGroup:
    """Connects this process to the others of its program, and makes them the default group.

    The rank and the number of processes come from who started the program: ``python -m lamella.distributed.launch``,
    ``torchrun`` and its like (``RANK``, ``WORLD_SIZE``, ``MASTER_ADDR``, ``MASTER_PORT``), ``mpirun`` or ``srun``. A
    program on its own is a group of one process.

    Args:
        backend: ``"gloo"`` (over TCP) or ``"mpi"``: by default the first that is here for tensors of the CPU, and NCCL
            for those of CUDA devices where it is here and each process has a device of its own. ``"nccl"`` makes it an
            error where that is not so; with a backend named for the CPU, other tensors are copied there and back.
            ``"meta"`` makes a group of any size in one process, which moves no data, for operations on tensors of the
            device ``meta``.
        timeout: Limit for connecting, and for each operation: seconds, or a ``timedelta``.
        rank: The number of this process, where the environment does not say it.
        world_size: The number of processes, likewise.
        init_method: Where the processes meet: ``"file:///folder"``, a folder of the program that all see, or
            ``"http://host:port"``, an address of the machine of rank 0; ``"redis://host:port"`` where Gloo has it. By
            default what the environment says.
        store: A table through which they meet instead: an object with ``set(key, value)`` and ``get(key, seconds)``, of
            bytes; the latter waits for a value, and raises TimeoutError where none comes.
        address: The address that Gloo listens on; by default ``LAMELLA_DISTRIBUTED_ADDRESS``, or else 127.0.0.1.
        interface: The network interface whose address it listens on, in place of `address`; by default
            ``GLOO_SOCKET_IFNAME``.
        debug: True to compare all processes' calls before each operation, which names those that do not fit together;
            by default ``LAMELLA_DISTRIBUTED_DEBUG=1`` says so.

    Returns:
        The group, which operations take by default.

    Raises:
        RuntimeError: There is a default group already, no backend is here, or other processes have not come in time.
        TypeError: An argument is of another type.
        ValueError: An argument, or a variable of the environment, makes no sense.
    """
    global _place, _owner
    if is_initialized():
        raise RuntimeError("[init_process_group] there is a default group already: call destroy_process_group() first")
    seconds = _seconds(timeout)
    where = _place_of(rank, world_size)
    if debug is None:
        debug = os.environ.get("LAMELLA_DISTRIBUTED_DEBUG", "0") not in ("", "0")
    address = address or os.environ.get("LAMELLA_DISTRIBUTED_ADDRESS", "")
    interface = interface or ("" if address else os.environ.get("GLOO_SOCKET_IFNAME", ""))
    store_address, served = "", None  # the one that is served here while they connect
    devices = "if_there" if backend is None else "none"
    if backend in _DEVICE_BACKENDS:
        _load(backend)
        devices, backend = "required", None
    if backend != "meta":
        backend = "self" if where.world_size == 1 else backend or _first_backend()
        if backend not in ("mpi", "self"):
            _check_address(where, address, interface)
            if store is None:
                store_address, served = _meet(where, init_method, seconds)
    try:
        group = _C._distributed_init(
            backend,
            where.rank,
            where.world_size,
            seconds,
            bool(debug),
            store_address,
            store or served,
            address,
            interface,
            devices,
            _library(),
        )
    except (RuntimeError, TimeoutError) as error:
        text = str(error)
        if not re.match(r"\[\w+\] ", text):  # Gloo's own messages begin with a place in its source
            text = f"[init_process_group] {backend}: {text}"
        raise RuntimeError(text) from error
    finally:
        if served is not None:
            served.close()
    if not _owner:
        atexit.register(_leave_at_exit)
    _place, _owner = where, os.getpid()
    return group


def is_initialized() -> bool:
    """True if there is a default group."""
    return _C._distributed_has_default()


def destroy_process_group(group: ProcessGroup | str | None = None) -> None:
    """Leaves a group, and gives up what it still does: the given one, or the default one and all others with it."""
    _C._distributed_remove(name_of(group))


def get_group(name: str = "") -> ProcessGroup:
    """Returns a group by its name; the default one without a name. The group ``"self"`` is this process alone.

    Raises:
        RuntimeError: There is none of that name.
    """
    return _C._distributed_group(name)


def get_rank(group: ProcessGroup | str | None = None) -> int:
    """Returns the rank of this process in a group, the default one if None; -1 where it is not a member.

    Without a default group, it is the rank that the environment gives: 0 for a program on its own.
    """
    if group is None and not is_initialized():
        return _environment.place().rank
    return group_of(group).rank


def get_world_size(group: ProcessGroup | str | None = None) -> int:
    """Returns the number of processes of a group, the default one if None.

    Without a default group, it is the number that the environment gives: 1 for a program on its own.
    """
    if group is None and not is_initialized():
        return _environment.place().world_size
    return group_of(group).size


def get_local_rank() -> int:
    """Returns the number of this process among those of its machine: the number of the device to take, say."""
    return (_place or _environment.place()).local_rank


def new_group(ranks: Sequence[int], *, name: str | None = None) -> ProcessGroup:
    """Makes a group of some processes. All processes of the default group call it, in the same order.

    Args:
        ranks: The members by their ranks in the default group; in the new one they are numbered in this order.
        name: A name for the group, by default ``"group-1"`` and so on.

    Returns:
        The group. On a process that is not a member its rank is -1, and operations with it are errors.

    Raises:
        ValueError: A rank is none of the default group's, or comes twice.
        RuntimeError: There is no default group.
    """
    parent = get_group()
    members = [int(rank) for rank in ranks]
    if not members or len(set(members)) < len(members) or not all(0 <= rank < parent.size for rank in members):
        raise ValueError(
            f"[new_group] ranks are different numbers of the {parent.size} processes, from 0 to {parent.size - 1}, at "
            f"least one; got {members}"
        )
    # Counted by all processes, members or not, so that they give it one name.
    number = next(_numbers)
    return _C._distributed_new_group(parent.name, name or f"group-{number}", members)


def name_of(group: ProcessGroup | str | None) -> str:
    """Returns the name by which operators find a group, "" for the default one.

    Raises:
        TypeError: It is no group, name of one, or None.
    """
    if group is None:
        return ""
    if isinstance(group, str):
        return group
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"[distributed] group is a ProcessGroup, its name or None, not {type(group).__name__}")
    return group.name


def group_of(group: ProcessGroup | str | None) -> ProcessGroup:
    """Returns the group that an argument stands for.

    Raises:
        TypeError: It is no group, name of one, or None.
        RuntimeError: There is none of that name.
    """
    return group if isinstance(group, ProcessGroup) else get_group(name_of(group))


def _seconds(timeout: float | timedelta) -> float:
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if not isinstance(seconds, int | float):
        raise TypeError(f"[init_process_group] timeout is a number of seconds or a timedelta, not {timeout!r}")
    if not 0.001 <= seconds < 1e9:
        raise ValueError(f"[init_process_group] timeout is at least a millisecond, not {timeout!r}")
    return float(seconds)


def _place_of(rank: int | None, world_size: int | None) -> _environment.Place:
    if rank is None and world_size is None:
        return _environment.place()
    if rank is None or world_size is None:
        raise ValueError("[init_process_group] rank and world_size are given together, or neither is")
    if type(rank) is not int or type(world_size) is not int:
        raise TypeError(f"[init_process_group] rank and world_size are ints, not {rank!r} and {world_size!r}")
    if not 0 <= rank < world_size:
        raise ValueError(
            f"[init_process_group] rank is from 0 to {world_size - 1} for {world_size} processes, not {rank}"
        )
    local = _environment.place()
    local_size = local.local_world_size if local.world_size == world_size else None
    return _environment.Place(rank, world_size, local.local_rank, local_size, "given")


def _library() -> str:
    """Returns where a package of PyPI has NCCL, which is loaded where the system has none; "" if there is none."""
    try:
        found = importlib.util.find_spec("nvidia.nccl")
    except (ImportError, ValueError):
        return ""
    places = found.submodule_search_locations if found else None
    files = (os.path.join(place, "lib", "libnccl.so.2") for place in places or ())
    return next(filter(os.path.isfile, files), "")


def _load(backend: str) -> None:
    """Loads a backend; RuntimeError where it is not here."""
    if backend in _DEVICE_BACKENDS:
        _C._distributed_load_devices(backend, _library())
    else:
        _C._distributed_load(backend)


def _first_backend() -> str:
    reasons = []
    for name in _BACKENDS:
        try:
            _load(name)
        except RuntimeError as error:
            reasons.append(str(error).removeprefix("[distributed] "))
        else:
            return name
    raise RuntimeError(
        "[init_process_group] there is no library for communication between processes (Debian: libgloo-dev, "
        "libopenmpi-dev when Lamella is built): " + "; ".join(reasons)
    )


def _check_address(where: _environment.Place, address: str, interface: str) -> None:
    elsewhere = where.local_world_size is not None and where.local_world_size < where.world_size
    if elsewhere and not address and not interface:
        raise ValueError(
            "[init_process_group] some of the processes are on other machines, which do not reach 127.0.0.1: name this "
            "machine's address by LAMELLA_DISTRIBUTED_ADDRESS, or its network interface by GLOO_SOCKET_IFNAME"
        )


def _meet(where: _environment.Place, init_method: str | None, seconds: float) -> tuple[str, HttpStore | None]:
    """Returns an address for Gloo's own stores, or a store."""
    if init_method in (None, "env://"):
        init_method = _environment.meeting_point(where)
    url = urllib.parse.urlsplit(init_method)
    try:
        port = url.port
    except ValueError as error:
        raise ValueError(f"[init_process_group] {init_method!r} has no port: {error}") from error
    if url.scheme == "file" and url.path.startswith("/") and not url.netloc:
        os.makedirs(url.path, mode=0o700, exist_ok=True)
        return f"file://{os.path.join(url.path, 'rendezvous')}", None
    if url.scheme == "redis" and url.hostname:
        return init_method, None
    if url.scheme in ("http", "tcp") and url.hostname and port is not None:
        return "", HttpStore(url.hostname, port, serve=where.rank == 0, seconds=seconds)
    raise ValueError(
        f"[init_process_group] init_method is 'file:///folder', 'http://host:port' or 'redis://host:port', "
        f"not {init_method!r}"
    )


def _leave_at_exit() -> None:
    if os.getpid() == _owner and is_initialized():
        destroy_process_group()
