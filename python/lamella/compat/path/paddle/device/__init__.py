"""Devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import lamella as lm
from lamella import cuda as _cuda
from lamella.compat.front import close_module

from .._functions import get_device, is_compiled_with_cuda
from .._more import set_device
from .._parts import get_rng_state, set_rng_state  # noqa: F401
from . import cuda
from .cuda import (  # noqa: F401
    Event,
    Stream,
    current_stream,
    empty_cache,
    get_device_capability,
    get_device_name,
    get_device_properties,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
    stream_guard,
)

device_count = cuda.device_count
StreamContext = stream_guard


def is_available() -> bool:
    """True if there is a GPU."""
    return device_count() > 0


def get_all_device_type() -> list[str]:
    """Returns the kinds of devices that programs can name."""
    return ["cpu", "gpu"] if is_compiled_with_cuda() else ["cpu"]


def get_available_device() -> list[str]:
    """Returns the devices of this machine."""
    return ["cpu", *(f"gpu:{number}" for number in range(device_count()))]


def get_all_custom_device_type() -> list[str]:
    """Returns no kinds: there are no devices beside CPU and GPU."""
    return []


get_available_custom_device = get_all_custom_device_type


def _never(name: str) -> Any:
    def function(*args: Any) -> bool:
        return False

    function.__name__ = name
    function.__doc__ = "False: such devices, and such builds, are not served."
    return function


is_compiled_with_xpu = _never("is_compiled_with_xpu")
is_compiled_with_ipu = _never("is_compiled_with_ipu")
is_compiled_with_cinn = _never("is_compiled_with_cinn")
is_compiled_with_rocm = _never("is_compiled_with_rocm")
is_compiled_with_distribute = _never("is_compiled_with_distribute")
is_compiled_with_custom_device = _never("is_compiled_with_custom_device")


def get_cudnn_version() -> None:
    """Returns None: cuDNN is not used."""


def synchronize(device: Any = None) -> None:
    """Waits until the GPU has done what it was given."""
    if is_available():
        _cuda.synchronize()


def set_stream(stream: Any = None) -> Any:
    """Gives work to another stream from here on, and returns the one before.

    Raises:
        ValueError: there is no GPU.
    """
    before = current_stream()
    _cuda.set_stream(stream)
    return before


def ipc_collect() -> None:
    """Does nothing: memory of GPUs is not shared by processes here."""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True if there is a GPU: all compute in bfloat16, some by way of float32."""
    return is_available()


def is_current_stream_capturing() -> bool:
    """True while a graph of a GPU's work is recorded."""
    return is_available() and _cuda.is_current_stream_capturing()


def manual_seed(seed: int) -> None:
    """Begins the numbers of a seed anew."""
    lm.seed(int(seed))


@contextmanager
def device_guard(device: Any = "cpu") -> Iterator[None]:
    """Makes new tensors on a device within a ``with`` block."""
    before = get_device()
    set_device(device)
    try:
        yield
    finally:
        set_device(before)


device = device_guard


#: Names of tensors of a dtype, which the package has, too.
_OF_DTYPES = ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
_missing = close_module(__name__)


def __getattr__(name: str) -> Any:
    if name in [f"{each}Tensor" for each in _OF_DTYPES]:
        return getattr(import_module("paddle"), name)
    return _missing(name)
