"""The machines that a program runs on: this one."""

from __future__ import annotations

import os
from typing import Any

from lamella import distributed
from lamella.compat.front import close_module

__getattr__ = close_module(__name__)


def init() -> bool:
    """Returns True: there is nothing to do."""
    return True


def machine(*machines: Any) -> None:
    """Accepts a list of one machine.

    Raises:
        NotImplementedError: there are several.
    """
    listed = list(machines[0]) if len(machines) == 1 and isinstance(machines[0], (list, tuple)) else list(machines)
    if len(listed) > 1:
        raise NotImplementedError(f"[env.machine] jobs run on one machine, got {len(listed)}")


def ctrl_port(value: int) -> None:
    """Accepted: no machine talks to another one.

    Raises:
        TypeError: the port is no int.
    """
    if not isinstance(value, int):
        raise TypeError(f"[env.ctrl_port] expected an int, got {type(value).__name__}")


data_port = ctrl_port


def grpc_use_no_signal(value: bool = True) -> None:
    """Accepted, without an effect."""


def log_dir(value: str) -> None:
    """Accepted: nothing is written there."""


def logtostderr(value: int) -> None:
    """Accepted, without an effect."""


logbuflevel = logtostderr


def current_machine_id() -> int:
    """Returns 0."""
    return 0


def get_node_size() -> int:
    """Returns the number of machines: 1."""
    return 1


def get_rank() -> int:
    """Returns the number of this process, which a launcher has told it before there is a group of processes."""
    return distributed.get_rank() if distributed.is_initialized() else int(os.environ.get("RANK", 0))


def get_local_rank() -> int:
    """Returns the number of this process on its machine, the only one."""
    return get_rank()


def get_world_size() -> int:
    """Returns the number of processes, which a launcher has told them before they are a group."""
    return distributed.get_world_size() if distributed.is_initialized() else int(os.environ.get("WORLD_SIZE", 1))
