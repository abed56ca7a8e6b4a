"""GPUs: if there are any, and how many."""

from __future__ import annotations

from lamella import cuda as _cuda
from lamella.compat.front import close_module

from . import amp  # noqa: F401


def is_available() -> bool:
    """True if there is a GPU that Lamella can use."""
    return _cuda.is_available()


def device_count() -> int:
    """Number of GPUs."""
    return _cuda.device_count()


def synchronize() -> None:
    """Waits for the work of all."""
    _cuda.synchronize()


__getattr__ = close_module(__name__)
