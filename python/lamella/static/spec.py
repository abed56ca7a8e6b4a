"""Dtype and shape of a variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamella as lm


def checked_dtype(op: str, dtype: Any, name: str | None = None) -> Any:
    """Returns the dtype that ``dtype`` names; a dtype of lamella's or of numpy's, or a name.

    Raises:
        TypeError: it names none.
    """
    if dtype is None:
        return lm.float32
    try:
        return lm.empty((0,), dtype=dtype).dtype
    except (TypeError, ValueError):
        pass
    try:
        import numpy as np

        return lm.asarray(np.empty((0,), dtype)).dtype
    except (TypeError, ValueError) as error:
        of = "" if name is None else f" of '{name}'"
        raise TypeError(f"[{op}] the dtype{of} is {dtype!r}, which is no dtype: take 'float32', say") from error


def checked_shape(op: str, shape: Any, name: str | None = None) -> tuple[int, ...]:
    """Returns a shape in which -1 (or None) stands for a size that is known only when the program runs.

    Raises:
        TypeError: ``shape`` is no sequence of ints.
        ValueError: a size is below -1.
    """
    of = "" if name is None else f" of '{name}'"
    if isinstance(shape, int) and not isinstance(shape, bool):
        shape = [shape]
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
        raise TypeError(f"[{op}] the shape{of} is a list of ints, not {type(shape).__name__}")
    sizes = []
    for size in shape:
        if size is None or hasattr(size, "known_later"):
            size = -1
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise TypeError(f"[{op}] the shape{of} is a list of ints, it holds {type(size).__name__}")
        if int(size) < -1:
            raise ValueError(f"[{op}] the shape{of} is {list(shape)}: sizes are at least 0, or -1 for one known later")
        sizes.append(int(size))
    return tuple(sizes)


def fits(shape: Sequence[int], declared: Sequence[int]) -> bool:
    """True if a tensor of ``shape`` can be a variable that was declared with a shape in which -1 is any size."""
    return len(shape) == len(declared) and all(b in (-1, a) for a, b in zip(shape, declared, strict=True))


class InputSpec:
    """Name, dtype and shape of a variable that does not exist yet.

    Args:
        shape: sizes; -1 or None for one that is known later.
        dtype: the dtype.
        name: the variable's name.
        stop_gradient: True if it wants no gradient.
    """

    def __init__(self, shape: Any, dtype: Any = "float32", name: str | None = None, stop_gradient: bool = False):
        self.shape = checked_shape("InputSpec", shape, name)
        self.dtype = checked_dtype("InputSpec", dtype, name)
        self.name = name
        self.stop_gradient = stop_gradient

    @classmethod
    def from_tensor(cls, tensor: lm.Tensor, name: str | None = None) -> InputSpec:
        """Returns what ``tensor`` looks like."""
        return cls(tuple(tensor.shape), tensor.dtype, name or getattr(tensor, "name", None))

    @classmethod
    def from_numpy(cls, ndarray: Any, name: str | None = None) -> InputSpec:
        """Returns what an array looks like."""
        return cls(ndarray.shape, ndarray.dtype, name)

    def batch(self, batch_size: int) -> InputSpec:
        """Puts an axis of ``batch_size`` in front and returns the spec itself."""
        self.shape = (*checked_shape("InputSpec.batch", [batch_size]), *self.shape)
        return self

    def unbatch(self) -> InputSpec:
        """Takes the first axis away and returns the spec itself.

        Raises:
            ValueError: there is none.
        """
        if not self.shape:
            raise ValueError("[InputSpec.unbatch] the shape has no axis to take away")
        self.shape = self.shape[1:]
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InputSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.shape, str(self.dtype), self.name, self.stop_gradient

    def __repr__(self) -> str:
        return (
            f"InputSpec(shape={self.shape}, dtype={self.dtype}, name={self.name}, stop_gradient={self.stop_gradient})"
        )
