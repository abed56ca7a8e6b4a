"""The device that computes fastest: a GPU, where there is one that Lamella can use."""

from __future__ import annotations

from lamella import cuda as _cuda
from lamella.compat.front import close_module

from ._device import device


def is_available() -> bool:
    """True if there is a GPU that Lamella can use."""
    return _cuda.is_available()


def device_count() -> int:
    """Number of GPUs."""
    return _cuda.device_count()


def current_accelerator(check_available: bool = False) -> device | None:
    """Returns the device "cuda", or None where there is none."""
    return device("cuda") if _cuda.is_available() else None


def current_device_index() -> int:
    """Returns the number of the GPU that "cuda" means."""
    return _cuda.current_device()


def set_device_index(device: str | int) -> None:
    """Makes another GPU the one that "cuda" means, on this thread."""
    _cuda.set_device(device)


def synchronize(device: object = None) -> None:
    """Waits for the work of all GPUs."""
    if _cuda.is_available():
        _cuda.synchronize()


__getattr__ = close_module(__name__)
