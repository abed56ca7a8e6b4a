"""Groups of processes: this front has the one that the program is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamella.compat.front import add_paths, close_module

from ._parallel import DataParallel  # noqa: F401


def init_parallel_env() -> None:
    """Does nothing: there is one process."""


def is_initialized() -> bool:
    """False."""
    return False


def is_available() -> bool:
    """False."""
    return False


def get_rank(group: Any = None) -> int:
    """0."""
    return 0


def get_world_size(group: Any = None) -> int:
    """1."""
    return 1


def barrier(group: Any = None) -> None:
    """Waits for the one process."""


def all_reduce(tensor: Any, op: Any = None, group: Any = None, sync_op: bool = True) -> Any:
    """Returns the tensor itself, the sum over one process."""
    return tensor


def spawn(func: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = -1, **options: Any) -> None:
    """Calls a function in this process.

    Raises:
        NotImplementedError: several processes are asked for.
    """
    if nprocs > 1:
        raise NotImplementedError(f"[spawn] Lamella's paddle front runs one process, not nprocs={nprocs}")
    func(*args)


class ParallelEnv:
    """Tells which process this is."""

    rank = local_rank = device_id = 0
    world_size = nranks = 1


__getattr__ = close_module(__name__)
add_paths(
    "paddle",
    {
        f"{__name__}.fleet": {},
        f"{__name__}.fleet.recompute": {"paddle._recompute": "recompute recompute_sequential"},
        f"{__name__}.fleet.utils": {"paddle._recompute": "recompute"},
    },
)
