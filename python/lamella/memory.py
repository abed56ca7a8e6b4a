"""Memory held by tensors, by device."""

from __future__ import annotations

from ._C import (
    empty_cache,
    max_memory_allocated,
    memory_allocated,
    memory_reserved,
    reset_peak_memory,
)

__all__ = ["empty_cache", "max_memory_allocated", "memory_allocated", "memory_reserved", "reset_peak_memory"]
