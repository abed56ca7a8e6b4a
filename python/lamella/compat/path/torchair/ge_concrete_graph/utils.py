"""Helpers of converters."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module


def dtype_promote(*tensors: Any, target_dtype: Any) -> Any:
    """Returns tensors, or values of a model, in ``target_dtype``; others stay. One alone is returned by itself."""
    cast = [_cast(x, target_dtype) for x in tensors]
    return cast[0] if len(cast) == 1 else cast


def _cast(x: Any, dtype: Any) -> Any:
    if isinstance(x, Tensor):
        return x.astype(dtype, copy=False)
    is_value = type(x).__module__.startswith("lamella.onnx.")  # without loading what needs the package onnx
    return lm.onnx.cast(x, dtype) if is_value else x


__getattr__ = close_module(__name__)
