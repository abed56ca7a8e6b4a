"""The types of jobs' arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np

import lamella as lm
from lamella import DType
from lamella.compat.front import close_module

__all__ = ["Bundle", "Callback", "ListNumpy", "Numpy", "Placeholder"]

__getattr__ = close_module(__name__)

_T = TypeVar("_T")


class Placeholder:
    """An array of one shape and dtype."""

    def __init__(self, shape: Sequence[int], dtype: DType = lm.float32) -> None:
        if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
            raise TypeError(f"[Placeholder] shape is a tuple of ints, not {type(shape).__name__}")
        self.shape = tuple(int(size) for size in shape)
        if any(size < 0 for size in self.shape):
            raise ValueError(f"[Placeholder] sizes are at least 0, the shape is {self.shape}")
        self.tensor_dtype = dtype
        self.dtype = np.dtype(str(dtype).rpartition(".")[2])

    @property
    def recorded_shape(self) -> tuple[int, ...]:
        """The shape that the job is recorded with: -1 for a size that each call decides on."""
        return self.shape

    def check(self, value: Any, job: str, argument: str) -> None:
        """TypeError or ValueError that names job and argument where ``value`` is no such array."""
        where = f"[{job}] argument '{argument}'"
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{where}: expected a numpy array, got {type(value).__name__}")
        if value.dtype != self.dtype:
            raise TypeError(f"{where}: expected dtype {self.dtype}, got {value.dtype}")
        if value.shape != self.shape:
            raise ValueError(f"{where}: expected shape {self.shape}, got {value.shape}")

    def array(self, value: Any) -> Any:
        """Returns the array of a value that was checked."""
        return value

    def __repr__(self) -> str:
        return f"Numpy.Placeholder({self.shape}, dtype={self.dtype})"


class ListPlaceholder(Placeholder):
    """A list of one array, for the one device that there is; its sizes are at most those of the shape."""

    @property
    def recorded_shape(self) -> tuple[int, ...]:
        """A shape of -1 for every size."""
        return (-1,) * len(self.shape)

    def check(self, value: Any, job: str, argument: str) -> None:
        """TypeError or ValueError that names job and argument where ``value`` is no such list."""
        where = f"[{job}] argument '{argument}'"
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"{where}: expected a list of one numpy array, got {type(value).__name__}")
        if len(value) != 1:
            raise ValueError(f"{where}: expected a list of one numpy array, for the one device, got {len(value)}")
        shape = getattr(value[0], "shape", ())
        if isinstance(value[0], np.ndarray) and (
            len(shape) != len(self.shape) or any(a > b for a, b in zip(shape, self.shape, strict=True))
        ):
            raise ValueError(f"{where}: expected a shape within {self.shape}, got {shape}")
        Placeholder(shape, self.tensor_dtype).check(value[0], job, argument)

    def array(self, value: Any) -> Any:
        """Returns the one array."""
        return value[0]

    def __repr__(self) -> str:
        return f"List{super().__repr__()}"


class Numpy:
    """Type of a result: a numpy array; of an argument: ``Numpy.Placeholder(shape, dtype)``."""

    Placeholder = Placeholder


class ListNumpy:
    """Type of a result: a list of one numpy array; of an argument: ``ListNumpy.Placeholder(shape, dtype)``."""

    Placeholder = ListPlaceholder


class Callback(Generic[_T]):
    """Type of a result, ``Callback[Numpy]``: the call gives a function, which takes what to call with the result."""


class Bundle(Generic[_T]):
    """Type of a result, ``Bundle[Numpy]``: values of that type, or tuples, lists and dicts of them."""
