"""Constants and inspection of the namespace, as the Python array API standard defines them."""

from __future__ import annotations

import math
from typing import Final

from ._C import (
    DType,
    bool,
    complex64,
    complex128,
    cuda_device_count,
    float32,
    float64,
    get_default_device,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

__array_api_version__: Final = "2024.12"
#: Versions of the standard that the namespace implements: each contains the ones before it.
VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12")

#: The base of the natural logarithm.
e: Final = math.e
#: Infinity.
inf: Final = math.inf
#: No number.
nan: Final = math.nan
#: The ratio of a circle's circumference to its diameter.
pi: Final = math.pi
#: In an index, None: a new axis of size 1.
newaxis: Final = None

# Dtypes of the standard by kind; float16 and bfloat16 go beyond it.
_KINDS: Final[dict[str, tuple[DType, ...]]] = {
    "bool": (bool,),
    "signed integer": (int8, int16, int32, int64),
    "unsigned integer": (uint8, uint16, uint32, uint64),
    "real floating": (float32, float64),
    "complex floating": (complex64, complex128),
}
_UNIONS: Final = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}
# Largest number of axes that an elementwise loop runs over if none can be merged.
_MAX_DIMENSIONS: Final = 16


def _kinds_of(kind: str | tuple[str, ...] | None) -> list[str]:
    if kind is None:
        return list(_KINDS)
    if isinstance(kind, tuple):
        return [name for part in kind for name in _kinds_of(part)]
    if kind in _UNIONS:
        return list(_UNIONS[kind])
    if kind not in _KINDS:
        raise ValueError(f"[dtypes] kind must be None, a tuple, or one of {[*_KINDS, *_UNIONS]}, got {kind!r}")
    return [kind]


class __array_namespace_info__:  # noqa: N801 (the standard's name)
    """Capabilities of the namespace, as the Python array API standard (2024.12) defines them."""

    def capabilities(self) -> dict[str, object]:
        """Features that the standard leaves open, and the largest number of axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": _MAX_DIMENSIONS}

    def default_device(self) -> str:
        """Returns the device of new tensors."""
        return get_default_device()

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """Returns the dtypes of new tensors where none is given; the same on all devices."""
        self._check_device("default_dtypes", device)
        return {"real floating": float32, "complex floating": complex64, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """Returns the standard's dtypes by their names, those of a kind (or of several) where one is given."""
        self._check_device("dtypes", device)
        return {dtype.name: dtype for name in _kinds_of(kind) for dtype in _KINDS[name]}

    def devices(self) -> list[str]:
        """Returns the devices that a tensor with values can be on here."""
        return ["cpu", *(f"cuda:{i}" for i in range(cuda_device_count()))]

    def _check_device(self, function: str, device: str | None) -> None:
        if device is not None and device not in self.devices():
            raise ValueError(f"[{function}] device must be None or one of {self.devices()}, got {device!r}")
