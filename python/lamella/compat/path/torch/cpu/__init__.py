"""The CPU, by the names that modules of devices have."""

from __future__ import annotations

import contextlib
from typing import Any

from lamella.compat.front import close_module


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """Returns the device's name."""
    return "cpu"


def set_device(device: Any) -> None:
    """Does nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Does nothing: what was computed is there."""


def empty_cache() -> None:
    """Does nothing."""


def stream(stream: Any) -> Any:
    """Returns a block that changes nothing."""
    return contextlib.nullcontext()


__getattr__ = close_module(__name__)
