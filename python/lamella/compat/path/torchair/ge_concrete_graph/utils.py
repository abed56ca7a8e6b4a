"""Helpers of converters."""

from __future__ import annotations

from typing import Any

from lamella import Tensor
from lamella.compat.front import close_module


def dtype_promote(*tensors: Any, target_dtype: Any) -> Any:
    """Returns the tensors in ``target_dtype``; what is no tensor stays. One alone is returned by itself."""
    cast = [x.astype(target_dtype, copy=False) if isinstance(x, Tensor) else x for x in tensors]
    return cast[0] if len(cast) == 1 else cast


__getattr__ = close_module(__name__)
