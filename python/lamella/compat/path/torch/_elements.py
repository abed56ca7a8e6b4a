"""Methods of PyTorch's tensors that read or write elements in ways that are not native."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import _C, Tensor

from ._indexing import as_masks


def mapped(self: Tensor, *others: Any) -> Tensor:
    """Implements map_() and map2_(): overwrites elements by a function of them and those of other tensors.

    Args:
        self: the tensor.
        others: tensors that broadcast to its shape, and the function, which is called with numbers.

    Raises:
        TypeError: what is last is no function.
        RuntimeError: a tensor wants a gradient, which such functions do not give.
    """
    *tensors, function = others
    if not callable(function):
        raise TypeError(f"[map_] takes a function of numbers, and {type(function).__name__} is not callable")
    if any(x.requires_grad for x in (self, *tensors)):
        raise RuntimeError("[map_] a tensor that wants a gradient is not mapped: functions of numbers have none")
    given = [lm.broadcast_to(x, tuple(self.shape)).reshape(-1).tolist() for x in (self, *tensors)]
    made = [function(*numbers) for numbers in zip(*given, strict=True)]
    return self.copy_(lm.reshape(lm.tensor(made, dtype=self.dtype), tuple(self.shape)))


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """Returns the axes in the order of their strides, the one of the largest first."""
    strides = self.strides
    return tuple(sorted(range(self.ndim), key=lambda axis: -strides[axis]))


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """True if two tensors are the same elements of the same memory, in the same shape."""
    same = tuple(self.shape) == tuple(tensor.shape) and tuple(self.strides) == tuple(tensor.strides)
    return same and self.dtype == tensor.dtype and self.data_ptr() == tensor.data_ptr() != 0


def fill_diagonal(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Implements fill_diagonal_(): a number on the main diagonal of all axes.

    With ``wrap``, the diagonal of a matrix with more rows than columns begins anew below a row of its own.

    Raises:
        RuntimeError: the tensor has fewer than two axes, or more of different sizes.
    """
    shape = tuple(self.shape)
    if self.ndim < 2 or (self.ndim > 2 and len(set(shape)) > 1):
        raise RuntimeError(f"[fill_diagonal_] takes matrices, and more axes of one size, not the shape {list(shape)}")
    value = lm.asarray(fill_value, dtype=self.dtype, device=str(self.device))
    places = lm.arange(min(shape), device=str(self.device))
    if not wrap or self.ndim != 2 or shape[0] <= shape[1]:
        return self.index_put_([places] * self.ndim, value)
    rows = lm.arange(shape[0], device=str(self.device))
    columns = lm.remainder(rows, shape[1] + 1)
    kept = columns < shape[1]
    return self.index_put_([rows[kept], columns[kept]], value)


def flipped(self: Tensor) -> Tensor:
    """Implements ``reversed(x)``: the tensor with the order along its first axis turned around."""
    return lm.flip(self, axis=0) if self.ndim else self


def put_by_index(native: Callable[..., Any]) -> Callable[..., Any]:
    """Returns ``index_put()`` or ``index_put_()``, to which tensors of uint8 are masks."""

    def method(self: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Any:
        return native(self, as_masks(indices), values, accumulate)

    method.__doc__ = native.__doc__
    return method


def _is_dual(x: Tensor) -> bool:
    """True for a tensor with a tangent, which views of memory would lose."""
    try:
        return _C._unpack_dual(x)[1] is not None
    except RuntimeError:  # outside of forward mode
        return False


def strided(x: Tensor, sizes: Any, steps: Any, first: int | None = None) -> Tensor | None:
    """Returns the view of memory at steps, or None for a tensor that has none of its own or is on the tape.

    Args:
        x: any tensor of the memory.
        sizes: the shape.
        steps: the strides, in elements.
        first: the place of the first element in the memory, by default that of ``x``.

    Raises:
        RuntimeError: the elements are not all in the memory.
    """
    if x.device == "meta" or (lm.is_grad_enabled() and x.requires_grad) or _C._recorder() is not None or _is_dual(x):
        return None
    memory = _C._memory_as_bytes(x.detach())  # shares the memory, so that there is a place in it
    place = _C._shared_memory(x)
    if place is None:
        return None
    offset = place[1] if first is None else int(first) * x.dtype.itemsize
    return _C._tensor_in_memory(memory, x.dtype, tuple(map(int, sizes)), tuple(map(int, steps)), offset)
