"""CUDA devices. All of this works, and says that there are none, in a build without CUDA."""

from __future__ import annotations

from .. import _lazy
from ._cudnn import cudnn_version, is_cudnn_enabled, set_cudnn_enabled
from ._device import (
    DeviceProperties,
    current_device,
    device,
    device_count,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    set_device,
    synchronize,
)
from ._graphs import CUDAGraph, graph, is_current_stream_capturing
from ._kernels import Kernel, kernel
from ._memory import (
    empty_cache,
    max_memory_allocated,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_peak_memory_stats,
)
from ._streams import (
    Event,
    Stream,
    current_stream,
    default_stream,
    get_sync_debug_mode,
    set_stream,
    set_sync_debug_mode,
    stream,
)

__all__ = [
    "CUDAGraph",
    "DeviceProperties",
    "Event",
    "Kernel",
    "Stream",
    "cudnn_version",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_sync_debug_mode",
    "graph",
    "is_available",
    "is_cudnn_enabled",
    "is_current_stream_capturing",
    "kernel",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_cudnn_enabled",
    "set_device",
    "set_stream",
    "set_sync_debug_mode",
    "stream",
    "synchronize",
]

__getattr__, _ = _lazy.loader(__name__, {})
