"""Several processes: there is one here. Groups of one process are made, larger ones are refused."""

from __future__ import annotations

import os
from typing import Any

from lamella.compat.front import close_module

_initialized = False


class ReduceOp:
    """Names of what groups compute; of one process all give its own tensor."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor")


def is_nccl_available() -> bool:
    """False: there are no collective operations between GPUs."""
    return False


def get_backend(group: Any = None) -> str:
    """Returns "gloo", as of groups on the CPU."""
    return "gloo"


def get_default_backend_for_device(device: Any) -> str:
    """Returns "gloo", as of groups on the CPU."""
    return "gloo"


def is_available() -> bool:
    """False: there are no collective operations between processes."""
    return False


def is_initialized() -> bool:
    """True after :func:`init_process_group`."""
    return _initialized


def init_process_group(backend: Any = None, init_method: Any = None, world_size: int = -1, **options: Any) -> None:
    """Begins a group of this process alone.

    Raises:
        RuntimeError: the group is to have more processes.
    """
    global _initialized
    size = world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE", "1"))
    if size != 1:
        raise RuntimeError(f"[init_process_group] {size} processes are asked for; Lamella trains in one")
    _initialized = True


def destroy_process_group(group: Any = None) -> None:
    """Ends the group."""
    global _initialized
    _initialized = False


def get_rank(group: Any = None) -> int:
    """Returns 0."""
    return 0


def get_world_size(group: Any = None) -> int:
    """Returns 1."""
    return 1


def barrier(group: Any = None) -> None:
    """Waits for nothing."""


def all_reduce(tensor: Any, op: Any = None, group: Any = None, async_op: bool = False) -> None:
    """Leaves the sum over one process, which is the tensor itself."""


def broadcast(tensor: Any, src: int = 0, group: Any = None, async_op: bool = False) -> None:
    """Leaves the tensor as it is."""


__getattr__ = close_module(__name__)
