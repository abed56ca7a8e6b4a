"""CUDA devices: how many there are, what they are, and which one is current."""

from __future__ import annotations

from typing import NamedTuple

from .. import _C


def is_available() -> bool:
    """True if there is a CUDA device to compute on."""
    return _C.cuda_is_available()


def device_count() -> int:
    """Returns the number of CUDA devices; 0 where there are none, or the build has no CUDA."""
    return _C.cuda_device_count()


def current_device() -> int:
    """Returns the index of the device that ``"cuda"`` stands for on this thread; initially 0."""
    return _C._cuda_device()


def index_of(device: str | int | None, function: str) -> int:
    """Returns the index of a device that a user named: an index, ``"cuda"``, ``"cuda:1"``, or None for the current one.

    Raises:
        TypeError: it is none of these.
        ValueError: it is no CUDA device's name.
    """
    if device is None or device == "cuda":
        return current_device()
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if not isinstance(device, str):
        raise TypeError(f"[{function}] device is an index or a name such as 'cuda:1', not {type(device).__name__}")
    kind, _, index = device.partition(":")
    if kind not in ("cuda", "gpu") or not index.isdecimal():
        raise ValueError(f"[{function}] device is a CUDA device, such as 'cuda:1', not '{device}'")
    return int(index)


def name_of(device: str | int | None, function: str) -> str:
    """Returns the full name of a device that a user named, see :func:`index_of`."""
    return f"cuda:{index_of(device, function)}"


def set_device(device: str | int) -> None:
    """Makes another device the one that ``"cuda"`` stands for, on this thread.

    Raises:
        RuntimeError: there is no such device.
    """
    _C._cuda_set_device(index_of(device, "set_device"))


class device:  # noqa: N801 (PyTorch's name)
    """A scope in which ``"cuda"`` stands for another device, on this thread.

    Args:
        device: an index, or a name such as ``"cuda:1"``; None changes nothing.
    """

    def __init__(self, device: str | int | None) -> None:
        self.idx = None if device is None else index_of(device, "device")
        self._before: list[int] = []

    def __enter__(self) -> device:
        self._before.append(current_device())
        if self.idx is not None:
            _C._cuda_set_device(self.idx)
        return self

    def __exit__(self, *error: object) -> None:
        before = self._before.pop()
        if before != current_device():
            _C._cuda_set_device(before)


def synchronize(device: str | int | None = None) -> None:
    """Waits for all work on a device; on every device for None. Errors of kernels are raised here at the latest."""
    if device is None:
        _C.cuda_synchronize()
    else:
        _C._stream_synchronize_device(name_of(device, "synchronize"))


class DeviceProperties(NamedTuple):
    """Name, memory and compute capability of a device.

    Attributes:
        name: "NVIDIA H200", say.
        total_memory: Bytes.
        major, minor: Its compute capability.
        multi_processor_count: Number of multiprocessors.
    """

    name: str
    total_memory: int
    major: int
    minor: int
    multi_processor_count: int


def get_device_properties(device: str | int | None = None) -> DeviceProperties:
    """Returns what a device is.

    Raises:
        RuntimeError: there is no such device.
    """
    return DeviceProperties(*_C._device_properties(name_of(device, "get_device_properties")))


def get_device_name(device: str | int | None = None) -> str:
    """Returns the name of a device."""
    return get_device_properties(device).name


def get_device_capability(device: str | int | None = None) -> tuple[int, int]:
    """Returns the compute capability of a device, ``(9, 0)`` say."""
    properties = get_device_properties(device)
    return properties.major, properties.minor
