"""GPUs: if there are any, how many, and their memory."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import lamella as lm
from lamella import cuda as _cuda
from lamella.compat.front import close_module

from .. import _functions as _F  # noqa: N812
from . import amp  # noqa: F401


def is_available() -> bool:
    """True if there is a GPU that Lamella can use."""
    return _cuda.is_available()


def device_count() -> int:
    """Number of GPUs."""
    return _cuda.device_count()


def synchronize(device: Any = None) -> None:
    """Waits for the work of all."""
    if _cuda.is_available():
        _cuda.synchronize()


def is_initialized() -> bool:
    """True if there is a GPU."""
    return _cuda.is_available()


def init() -> None:
    """Does nothing: GPUs are there once they are used."""


def current_device() -> int:
    """Returns 0, the GPU that "cuda" means."""
    return 0


def set_device(device: Any) -> None:
    """Takes the GPU that "cuda" means, which is the first.

    Raises:
        RuntimeError: for another one: name it where tensors are made, "cuda:1".
    """
    index = _F.device(device).index or 0
    if index:
        raise RuntimeError(f"[set_device] 'cuda' is the first GPU here: name 'cuda:{index}' where tensors are made")


@contextmanager
def device(device: Any) -> Any:
    """A block in which "cuda" is the GPU of that number, which is the first."""
    set_device(device)
    yield


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


__getattr__ = close_module(__name__)
