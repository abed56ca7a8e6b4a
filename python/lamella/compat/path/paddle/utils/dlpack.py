"""Memory shared with other libraries by DLPack."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat.front import close_module


def to_dlpack(x: lm.Tensor) -> Any:
    """Returns a capsule that others make their tensors of."""
    return x.__dlpack__()


def from_dlpack(dlpack: Any) -> lm.Tensor:
    """Returns a tensor on the memory of a capsule, or of an object of another library."""
    return lm.from_dlpack(dlpack)


__getattr__ = close_module(__name__)
