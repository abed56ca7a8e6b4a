"""Methods that give a tensor another shape in place.

A tensor's shape never changes natively. Here the object comes to stand for another tensor, which shows the same memory
in the new shape, and keeps its attributes. What was computed from it before goes on with the tensor that it stood for.
"""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.elements import become

from . import _functions as F  # noqa: N812
from ._matrices import as_strided
from ._memory import TypedStorage, UntypedStorage, contiguous_strides


def _in_place(name: str, reshape: Any) -> Any:
    def method(self: Tensor, *args: Any, **named: Any) -> Tensor:
        if lm.is_grad_enabled() and self.is_leaf and self.requires_grad:
            raise RuntimeError(
                f"[{name}] a leaf tensor that wants a gradient cannot be changed in place while recording is on: "
                "write under torch.no_grad()"
            )
        return become(self, reshape(self, *args, **named))

    method.__name__ = name
    method.__doc__ = f"Implements Tensor.{name}()."
    return method


def resize(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Implements Tensor.resize_(): the first elements in another shape; further ones are not set.

    Raises:
        RuntimeError: the tensor wants a gradient.
    """
    if self.requires_grad:
        raise RuntimeError("[resize_] a tensor that wants a gradient cannot be resized: write x = x.reshape(...)")
    shape = F._sizes(size)
    with lm.no_grad():
        old, count = self.detach().reshape(-1), math.prod(shape)
        if count > old.shape[0]:
            memory = lm.empty((count,), dtype=self.dtype, device=str(self.device))
            memory[: old.shape[0]].copy_(old)
        else:
            memory = old[:count]
        return become(self, lm.reshape(memory, shape).detach())


def set_(
    self: Tensor,
    source: Tensor | UntypedStorage | TypedStorage | None = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Implements Tensor.set_(): the memory and shape of another tensor, a place in memory, or no elements.

    Raises:
        RuntimeError: the tensor is computed from others that want a gradient, or wants one itself while recording; or
            the source has another dtype.
    """
    if source is not None and source.dtype not in (self.dtype, None):
        raise RuntimeError(f"[set_] a tensor of dtype {self.dtype.name} keeps it, the source has {source.dtype.name}")
    if isinstance(source, (UntypedStorage, TypedStorage)) or size is not None:
        source = _placed(self.dtype, source, storage_offset, size, stride)
    if self.requires_grad and (lm.is_grad_enabled() or not self.is_leaf):
        raise RuntimeError("[set_] a tensor that wants a gradient cannot be set: write under torch.no_grad()")
    if source is None:
        return become(self, lm.empty((0,), dtype=self.dtype, device=str(self.device)))
    return become(self, source.detach())


def _placed(dtype: Any, source: Any, offset: int, size: Any, stride: Any) -> Tensor:
    """Returns the tensor at a place in memory: by default, all of it, and without gaps."""
    memory = lm._C._memory_as_bytes(source.detach()) if isinstance(source, Tensor) else source.untyped()._bytes
    shape = (memory.shape[0] // dtype.itemsize - offset,) if size is None else F._sizes((size,))
    steps = contiguous_strides(shape) if stride is None else F._sizes((stride,))
    return lm._C._tensor_in_memory(memory, dtype, shape, steps, offset * dtype.itemsize)


class _Instead(lm.PyLayer):
    """Puts other elements in place of those of a tensor, whose gradients stay."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, value: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


def set_data(self: Tensor, value: Tensor) -> None:
    """Implements ``x.data = y``: the memory of ``x`` becomes that of ``y``; a result gets a copy of it, on the tape.

    Raises:
        RuntimeError: ``x`` is computed from others, and ``y`` has another shape or dtype.
        TypeError: ``y`` is no tensor.
    """
    if not isinstance(value, Tensor):
        raise TypeError(f"[data] x.data takes a tensor, not {type(value).__name__}")
    if value is self:
        return
    with lm.no_grad():
        if self.is_leaf:
            grad = self.grad
            become(self, value.detach())
            if grad is not None and self.grad is None and grad.shape == self.shape:  # of another dtype or device
                self.grad = grad.to(self.device).astype(self.dtype)
            return
    if value.shape != self.shape or value.dtype != self.dtype:
        raise RuntimeError(
            "[data] x.data takes a tensor of the shape and dtype of x, which is computed from others: write x = y"
        )
    if type(self) is not Tensor and isinstance(self, lm.graph.Symbol):
        with lm.no_grad():
            self.detach().copy_(value)
        return
    retained = self.retains_grad
    with lm.enable_grad():
        become(self, _Instead.apply(self, value.detach()))
    if retained:
        self.retain_grad()


#: The methods by their names.
METHODS: dict[str, Any] = {
    "squeeze_": _in_place("squeeze_", F.squeeze),
    "t_": _in_place("t_", F.t),
    "as_strided_": _in_place("as_strided_", as_strided),
    "resize_": resize,
    "resize_as_": lambda self, the_template, *, memory_format=None: resize(self, the_template.shape),
    "set_": set_,
    "unsqueeze_": _in_place("unsqueeze_", lambda self, dim: lm.expand_dims(self, axis=dim)),
    **{
        name: _in_place(name, lambda self, dim0, dim1: lm.swapaxes(self, dim0, dim1))
        for name in ("transpose_", "swapdims_")
    },
    "swapaxes_": _in_place("swapaxes_", lambda self, axis0, axis1: lm.swapaxes(self, axis0, axis1)),
}
