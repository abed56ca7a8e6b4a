"""Types in converters' signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lamella import Tensor  # noqa: F401
from lamella.compat.front import close_module


@dataclass(frozen=True)
class TensorSpec:
    """Shape and dtype of a tensor that is not computed yet."""

    dtype: Any
    size: tuple[int, ...]


__getattr__ = close_module(__name__)
