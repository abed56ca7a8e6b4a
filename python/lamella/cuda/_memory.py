"""Memory of CUDA devices."""

from __future__ import annotations

from .. import _C
from ._device import name_of


def mem_get_info(device: str | int | None = None) -> tuple[int, int]:
    """Returns the bytes of a device that nobody holds, other processes included, and all of them."""
    return _C._device_memory(name_of(device, "mem_get_info"))


def memory_allocated(device: str | int | None = None) -> int:
    """Bytes that tensors hold on a device."""
    return _C.memory_allocated(name_of(device, "memory_allocated"))


def max_memory_allocated(device: str | int | None = None) -> int:
    """Returns the most bytes that tensors have held on a device since the last :func:`reset_peak_memory_stats`."""
    return _C.max_memory_allocated(name_of(device, "max_memory_allocated"))


def memory_reserved(device: str | int | None = None) -> int:
    """Bytes taken from a device: those that tensors hold, and those kept for reuse."""
    return _C.memory_reserved(name_of(device, "memory_reserved"))


def reset_peak_memory_stats(device: str | int | None = None) -> None:
    """Starts :func:`max_memory_allocated` anew, from what is held now."""
    _C.reset_peak_memory(name_of(device, "reset_peak_memory_stats"))


def empty_cache() -> None:
    """Gives the devices the memory back that no tensor holds. Waits for their work."""
    for index in range(_C.cuda_device_count()):
        _C.empty_cache(f"cuda:{index}")


def memory_stats(device: str | int | None = None) -> dict[str, int]:
    """Returns what this process holds of a device, in bytes, by name."""
    name = name_of(device, "memory_stats")
    return {
        "allocated_bytes.current": _C.memory_allocated(name),
        "allocated_bytes.peak": _C.max_memory_allocated(name),
        "reserved_bytes.current": _C.memory_reserved(name),
    }
