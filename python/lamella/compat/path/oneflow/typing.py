"""The types of jobs' arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamella import DType
from lamella.compat.front import close_module

__all__ = ["Numpy", "Placeholder"]

__getattr__ = close_module(__name__)


class Placeholder:
    """An array of one shape and dtype."""

    def __init__(self, shape: Sequence[int], dtype: DType) -> None:
        self.shape = tuple(int(size) for size in shape)
        self.dtype = np.dtype(str(dtype).rpartition(".")[2])

    def check(self, value: Any, job: str, argument: str) -> None:
        """TypeError or ValueError that names job and argument where ``value`` is no such array."""
        where = f"[{job}] argument '{argument}'"
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{where}: expected a numpy array, got {type(value).__name__}")
        if value.dtype != self.dtype:
            raise TypeError(f"{where}: expected dtype {self.dtype}, got {value.dtype}")
        if value.shape != self.shape:
            raise ValueError(f"{where}: expected shape {self.shape}, got {value.shape}")

    def __repr__(self) -> str:
        return f"Numpy.Placeholder({self.shape}, dtype={self.dtype})"


class Numpy:
    """As a result: a numpy array. As an argument: ``Numpy.Placeholder(shape, dtype)``."""

    Placeholder = Placeholder
