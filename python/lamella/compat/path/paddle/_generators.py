"""Random generators, and settings that change nothing here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lamella as lm
from lamella.static.program import paused


class Generator:
    """A generator of random numbers: one of its own, beside that of :func:`seed`."""

    def __init__(self, device: Any = None) -> None:
        self.native = lm.Generator()

    @classmethod
    def of(cls, native: Any) -> Generator:
        """Returns the generator that stands for one of Lamella's."""
        made = cls.__new__(cls)
        made.native = native
        return made

    def manual_seed(self, seed: int) -> Generator:
        """Begins the numbers of a seed."""
        self.native.manual_seed(seed)
        return self

    def initial_seed(self) -> int:
        """Returns the seed."""
        return int(self.native.initial_seed())

    def get_state(self) -> Any:
        """Returns the state, for :meth:`set_state`."""
        return self.native.get_state()

    def set_state(self, state: Any) -> None:
        """Goes on from a state."""
        self.native.set_state(state)


def seed(seed: int) -> Generator:
    """Begins the numbers of a seed anew, on all devices, and returns the generator of the CPU."""
    lm.seed(int(seed))
    return Generator.of(lm.random.default_generator("cpu"))


class Size(list[int]):
    """Sizes of axes: a list, which equals tuples of the same numbers, too."""

    def numel(self) -> int:
        """Returns the number of elements."""
        return math.prod(self)

    def __eq__(self, other: object) -> bool:
        return list.__eq__(self, list(other) if isinstance(other, tuple) else other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Any:
        return Size(list.__add__(self, list(other)))

    def __radd__(self, other: Any) -> Any:
        return Size([*other, *self])

    def __mul__(self, count: Any) -> Size:
        return Size(list.__mul__(self, count))

    def __getitem__(self, place: Any) -> Any:
        found = list.__getitem__(self, place)
        return Size(found) if isinstance(place, slice) else found

    def __repr__(self) -> str:
        return f"paddle.Size({list(self)})"


class LazyGuard:
    """Changes nothing: parameters have values when their layer is made."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: Any) -> None:
        return None


@contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Computes at once within a ``with`` block, as programs of this front do everywhere but in recorded programs."""
    with paused():
        yield


def check_shape(
    shape: Any,
    op_name: str,
    expected_shape_type: Any = (list, tuple, lm.Tensor),
    expected_element_type: Any = (int, lm.Tensor),
    expected_tensor_dtype: Any = ("int32", "int64"),
) -> None:
    """Raises ``TypeError`` if ``shape``, of which ``op_name`` makes a tensor, is none."""
    if not isinstance(shape, expected_shape_type):
        raise TypeError(f"[{op_name}] shape is a list or a tensor of integers, not {type(shape).__name__}")
    if isinstance(shape, lm.Tensor):
        if shape.dtype.name not in expected_tensor_dtype:
            raise TypeError(f"[{op_name}] shape is of {' or '.join(expected_tensor_dtype)}, not {shape.dtype.name}")
    elif not all(isinstance(each, expected_element_type) for each in shape):
        raise TypeError(f"[{op_name}] shape holds integers, not {list(shape)}")


def disable_signal_handler() -> None:
    """Changes nothing: no signals are handled."""


def enable_compat(
    *, scope: Any = None, blocked_modules: Any = None, backend: str = "torch", silent: bool = False
) -> None:
    """Changes nothing: ``import torch`` finds the front of PyTorch."""


def disable_compat() -> None:
    """Changes nothing, see :func:`enable_compat`."""
