"""The types of jobs' arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import lamella as lm
from lamella import DType
from lamella.compat.front import close_module

__all__ = ["ListNumpy", "Numpy", "Placeholder"]

__getattr__ = close_module(__name__)


class Placeholder:
    """An array of one shape and dtype."""

    def __init__(self, shape: Sequence[int], dtype: DType = lm.float32) -> None:
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

    def tensor(self, value: Any) -> lm.Tensor:
        """Returns an array that was checked, as the job's function gets it."""
        return lm.asarray(value)

    def __repr__(self) -> str:
        return f"Numpy.Placeholder({self.shape}, dtype={self.dtype})"


class ListPlaceholder(Placeholder):
    """A list of one array, for the one device that there is; its sizes are at most those of the shape."""

    def check(self, value: Any, job: str, argument: str) -> None:
        """TypeError or ValueError that names job and argument where ``value`` is no such list."""
        where = f"[{job}] argument '{argument}'"
        if not isinstance(value, list) or len(value) != 1:
            raise TypeError(f"{where}: expected a list of one numpy array, got {type(value).__name__}")
        shape = getattr(value[0], "shape", ())
        if len(shape) != len(self.shape) or any(a > b for a, b in zip(shape, self.shape, strict=False)):
            raise ValueError(f"{where}: expected a shape within {self.shape}, got {shape}")
        Placeholder(shape, lm.DType(self.dtype.name)).check(value[0], job, argument)

    def tensor(self, value: Any) -> lm.Tensor:
        """Returns the one array."""
        return super().tensor(value[0])


class Numpy:
    """Type of a result: a numpy array; of an argument: ``Numpy.Placeholder(shape, dtype)``."""

    Placeholder = Placeholder


class ListNumpy:
    """Type of a result: a list of one numpy array; of an argument: ``ListNumpy.Placeholder(shape, dtype)``."""

    Placeholder = ListPlaceholder
