"""GPUs: their memory, and streams. Without one, what asks for a GPU says so; what waits or frees has nothing to do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import lamella as lm
from lamella import cuda as _cuda
from lamella.compat.front import close_module


def _name(operator: str, device: Any) -> str:
    """Returns the native name of a GPU: by number, by "gpu:0", or by its place.

    Raises:
        ValueError: there is no GPU, or the device is no GPU.
    """
    if not _cuda.is_available():
        raise ValueError(f"[{operator}] there is no GPU: ask paddle.device.is_compiled_with_cuda() first")
    if device is None:
        return "cuda"
    text = f"cuda:{device}" if isinstance(device, int) else str(device).removeprefix("Place(").rstrip(")")
    text = text.replace("gpu", "cuda")
    if not text.startswith("cuda"):
        raise ValueError(f"[{operator}] device is a GPU, not {device!r}")
    return text


def _of_memory(name: str, native: Callable[[str], Any], text: str) -> Callable[..., Any]:
    def function(device: Any = None) -> Any:
        return native(_name(name, device))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


memory_allocated = _of_memory("memory_allocated", lm.memory.memory_allocated, "Bytes of the tensors on a GPU.")
max_memory_allocated = _of_memory(
    "max_memory_allocated", lm.memory.max_memory_allocated, "The most bytes that tensors on a GPU took so far."
)
memory_reserved = _of_memory("memory_reserved", lm.memory.memory_reserved, "Bytes that Lamella has of a GPU's memory.")
max_memory_reserved = _of_memory(
    "max_memory_reserved", lm.memory.memory_reserved, "Bytes that Lamella has of a GPU's memory: it keeps them."
)
reset_max_memory_allocated = _of_memory(
    "reset_max_memory_allocated", lm.memory.reset_peak_memory, "Lets the most bytes of tensors be counted anew."
)
reset_peak_memory_stats = _of_memory(
    "reset_peak_memory_stats", lm.memory.reset_peak_memory, "Lets the most bytes of tensors be counted anew."
)
get_device_name = _of_memory("get_device_name", _cuda.get_device_name, "Returns the name of a GPU.")
get_device_capability = _of_memory(
    "get_device_capability", _cuda.get_device_capability, "Returns the version of a GPU's instructions."
)
get_device_properties = _of_memory("get_device_properties", _cuda.get_device_properties, "Returns what a GPU has.")


def device_count() -> int:
    """Returns the number of GPUs."""
    return int(_cuda.device_count()) if _cuda.is_available() else 0


def empty_cache() -> None:
    """Gives memory that no tensor uses back to the system."""
    if _cuda.is_available():
        lm.memory.empty_cache("cuda")


def synchronize(device: Any = None) -> None:
    """Waits until a GPU has done what it was given.

    Raises:
        ValueError: there is no GPU.
    """
    _cuda.synchronize(_name("synchronize", device))


def current_stream(device: Any = None) -> Any:
    """Returns the stream to which operators give their work.

    Raises:
        ValueError: there is no GPU.
    """
    return _cuda.current_stream(_name("current_stream", device))


def Stream(device: Any = None, priority: Any = 2) -> Any:  # noqa: N802 (Paddle's name of a class)
    """Returns a new stream, which takes work beside others; 1 is the higher priority, and 2 the usual one.

    Raises:
        ValueError: there is no GPU.
    """
    return _cuda.Stream(_name("Stream", device), -1 if priority == 1 else 0)


def Event(  # noqa: N802 (Paddle's name of a class)
    device: Any = None, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
) -> Any:
    """Returns a mark in the work of a stream.

    Raises:
        ValueError: there is no GPU.
    """
    return _cuda.Event(enable_timing, device=_name("Event", device))


@contextlib.contextmanager
def stream_guard(stream: Any) -> Iterator[None]:
    """Gives the work of a ``with`` block to a stream; None changes nothing."""
    if stream is None:
        yield
        return
    with _cuda.stream(stream):
        yield


__getattr__ = close_module(__name__)
