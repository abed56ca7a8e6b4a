"""GPUs: if there are any, how many, and their memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lamella as lm
from lamella import cuda as _cuda
from lamella.compat.errors import OutOfMemoryError  # noqa: F401
from lamella.compat.front import close_module
from lamella.cuda import (  # noqa: F401
    CUDAGraph,
    Event,
    Stream,
    current_device,
    current_stream,
    default_stream,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_sync_debug_mode,
    graph,
    is_current_stream_capturing,
    mem_get_info,
    memory_stats,
    set_device,
    set_stream,
    set_sync_debug_mode,
    stream,
)

from .. import _functions, _tensor_types, random
from . import amp  # noqa: F401

StreamContext = stream
_missing = close_module(__name__)


def __getattr__(name: str) -> Any:
    if name == "_initialized":
        return is_available()
    if name in _functions.TENSOR_TYPES:  # the types of tensors on a GPU
        return _tensor_types.made(name, "cuda")
    return _missing(name)


def is_available() -> bool:
    """True if there is a GPU that Lamella can use."""
    return _cuda.is_available()


def device_count() -> int:
    """Number of GPUs."""
    return _cuda.device_count()


def synchronize(device: Any = None) -> None:
    """Waits for the work of one, or of all."""
    if _cuda.is_available():
        _cuda.synchronize(device)


def is_initialized() -> bool:
    """True if there is a GPU."""
    return _cuda.is_available()


def init() -> None:
    """Does nothing: GPUs are there once they are used."""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True if there is a GPU: all that Lamella uses compute in bfloat16."""
    return _cuda.is_available()


def manual_seed(seed: int) -> None:
    """Seeds the generators, those of the CPU too."""
    if _cuda.is_available():
        lm.seed(seed)


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Gives memory that no tensor uses back to the system."""
    if _cuda.is_available():
        lm.memory.empty_cache("cuda")


def memory_allocated(device: Any = None) -> int:
    """Bytes of the tensors on a GPU."""
    return lm.memory.memory_allocated(str(device or "cuda")) if _cuda.is_available() else 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors on a GPU took so far."""
    return lm.memory.max_memory_allocated(str(device or "cuda")) if _cuda.is_available() else 0


def memory_reserved(device: Any = None) -> int:
    """Bytes that Lamella has of a GPU's memory."""
    return lm.memory.memory_reserved(str(device or "cuda")) if _cuda.is_available() else 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Lets :func:`max_memory_allocated` begin anew."""
    if _cuda.is_available():
        lm.memory.reset_peak_memory(str(device or "cuda"))


def max_memory_reserved(device: Any = None) -> int:
    """Bytes that Lamella has of a GPU's memory, which it gives back when asked to only."""
    return memory_reserved(device)


reset_max_memory_allocated = reset_peak_memory_stats


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Returns a text of the memory of a GPU."""
    return (
        f"allocated {memory_allocated(device)} bytes, at most {max_memory_allocated(device)}; "
        f"reserved {memory_reserved(device)}"
    )


def get_rng_state_all() -> list[lm.Tensor]:
    """Returns the states of the generators of all GPUs, which follow that of the CPU."""
    return [random.get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Puts the generators into states that :func:`get_rng_state_all` returned."""
    for state in new_states:
        random.set_rng_state(state)


def get_rng_state(device: Any = "cuda") -> lm.Tensor:
    """Returns the state of a GPU's generator.

    Raises:
        RuntimeError: there is no GPU.
    """
    if not _cuda.is_available():
        raise RuntimeError("[get_rng_state] there is no GPU")
    return random.get_rng_state()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Puts a GPU's generator into a state; where there is no GPU, nothing happens."""
    if _cuda.is_available():
        random.set_rng_state(new_state)


device = _cuda.device
