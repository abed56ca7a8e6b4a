"""Devices on which programs run."""

from __future__ import annotations

import os
from typing import Any

import lamella as lm


class Place:
    """A device; two places of one device are equal."""

    device: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"Place({self.device})"

    def is_cpu_place(self) -> bool:
        """True for the CPU."""
        return self.device == "cpu"

    def is_gpu_place(self) -> bool:
        """True for a CUDA device."""
        return self.device.startswith("cuda")


class CPUPlace(Place):
    """The CPU."""

    device = "cpu"


class CUDAPlace(Place):
    """A CUDA device.

    Args:
        id: the device's number.

    Raises:
        TypeError: ``id`` is not an int.
        RuntimeError: there is no such device.
    """

    def __init__(self, id: int = 0) -> None:
        if not isinstance(id, int) or isinstance(id, bool):
            raise TypeError(f"[CUDAPlace] id is an int, not {type(id).__name__}")
        count = lm.cuda.device_count()
        if not 0 <= id < count:
            raise RuntimeError(f"[CUDAPlace] there is no CUDA device {id}: {count} were found; use CPUPlace()")
        self.device = f"cuda:{id}"


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """Returns ``device_count`` times the CPU; by default as often as the variable ``CPU_NUM`` says, or once."""
    if device_count is None:
        device_count = int(os.environ.get("CPU_NUM", "1"))
    return [CPUPlace() for _ in range(device_count)]


def cuda_places(device_ids: list[int] | None = None) -> list[CUDAPlace]:
    """Returns the CUDA devices of these numbers; by default all."""
    return [CUDAPlace(i) for i in (range(lm.cuda.device_count()) if device_ids is None else device_ids)]


def device_of(op: str, place: Any) -> str:
    """Returns the device of a place, which may be given by a device's name; None is the CPU.

    Raises:
        TypeError: ``place`` is neither.
    """
    if place is None:
        return "cpu"
    if isinstance(place, Place):
        return place.device
    if isinstance(place, str):
        return place
    raise TypeError(f"[{op}] place is CPUPlace(), CUDAPlace(0) or a device's name, not {type(place).__name__}")
