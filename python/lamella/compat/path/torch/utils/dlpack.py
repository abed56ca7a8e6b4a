"""Exchange of memory with other libraries by DLPack."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module


def to_dlpack(tensor: Tensor) -> Any:
    """Returns a capsule of the tensor's memory, which can be read once."""
    return tensor.__dlpack__()


class _Capsule:
    """A capsule as an object of the protocol, whose memory is on the CPU."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def from_dlpack(ext_tensor: Any) -> Tensor:
    """Returns a tensor on the memory of another library's array, or of a capsule of memory of the CPU."""
    return lm.from_dlpack(ext_tensor if hasattr(ext_tensor, "__dlpack__") else _Capsule(ext_tensor))


__getattr__ = close_module(__name__)
