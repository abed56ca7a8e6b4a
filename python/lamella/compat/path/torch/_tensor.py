"""Differences of PyTorch's tensors from Lamella's: ``dim``, ``keepdim``, other names.

Every function gives Lamella's own Tensor, so the type itself learns the dialect: in this process, once the front has
been imported.
"""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella import Tensor

from . import _functions as F  # noqa: N812

_native_size: Any = Tensor.__dict__["size"]
_native_to: Any = Tensor.to
_native_device: Any = Tensor.__dict__["device"]


class _Size:
    """``x.size()`` and ``x.size(dim)``; to Lamella, which counts elements by this name, a number as before."""

    def __get__(self, x: Tensor | None, owner: type) -> Any:
        return self if x is None else _SizeOf(_native_size.__get__(x), x)


class _SizeOf(int):
    tensor: Tensor

    def __new__(cls, count: int, x: Tensor) -> _SizeOf:
        made = super().__new__(cls, count)
        made.tensor = x
        return made

    def __call__(self, dim: int | None = None) -> Any:
        return self.tensor.shape if dim is None else self.tensor.shape[dim]


def _to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Implements Tensor.to(): a dtype, a device, both, or those of another tensor."""
    kwargs.pop("non_blocking", None)
    kwargs.pop("copy", None)
    kwargs.pop("memory_format", None)
    result = self
    for target in args:
        if isinstance(target, Tensor):
            result = _native_to(result, dtype=target.dtype, device=target.device)
        elif isinstance(target, bool):
            continue  # non_blocking
        else:
            result = _native_to(result, target)
    return _native_to(result, **kwargs) if kwargs else result


def _view(self: Tensor, *shape: Any) -> Tensor:
    return lm.reshape(self, F._dims(shape))


def _expand(self: Tensor, *shape: Any) -> Tensor:
    dims = F._dims(shape)
    added = len(dims) - self.ndim
    return lm.broadcast_to(self, tuple(self.shape[i - added] if n == -1 else n for i, n in enumerate(dims)))


def _cast(dtype: Any) -> Any:
    return lambda self: self.astype(dtype, copy=False)


def _new(name: str) -> Any:
    def method(self: Tensor, *size: Any, **kwargs: Any) -> Tensor:
        kwargs = {"dtype": self.dtype, "device": self.device, **kwargs}
        return getattr(F, name)(*size, **kwargs)

    return method


def _put(name: str, value: Any) -> None:
    setattr(Tensor, name, value)


def _method(function: Any) -> Any:
    """Makes a function a method: functions of the compiled module do not bind by themselves."""
    return lambda self, *args, **kwargs: function(self, *args, **kwargs)


_put("size", _Size())
_put("device", property(lambda self: F.device(_native_device.__get__(self)), doc="Where the tensor is."))
_put("to", _to)
_put("view", _view)
_put("reshape", _view)
_put("expand", _expand)
_put("expand_as", lambda self, other: lm.broadcast_to(self, other.shape))
_put("view_as", lambda self, other: lm.reshape(self, other.shape))
_put("permute", lambda self, *axes: lm.permute_dims(self, F._dims(axes)))
_put("t", lambda self: self if self.ndim < 2 else lm.swapaxes(self, 0, 1))
_put("dim", lambda self: self.ndim)
_put("numel", lambda self: math.prod(self.shape))
_put("type_as", lambda self, other: self.astype(other.dtype, copy=False))
_put("is_cuda", property(lambda self: self.device.startswith("cuda"), doc="True if the tensor is on a GPU."))
_put("is_cpu", property(lambda self: self.device == "cpu", doc="True if the tensor is on the CPU."))
_put("data", property(lambda self: self.detach(), doc="A tensor on the same memory, off the tape."))
_put("clamp_", Tensor.clip_)
for _name in ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum"):
    _put(_name, _method(getattr(F, _name)))
for _name in (
    *("add", "sub", "mul", "div", "neg", "eq", "ne", "lt", "le", "gt", "ge", "mm", "bmm", "mv", "addmm", "clamp"),
    *("chunk", "softmax", "split", "squeeze", "transpose", "unbind", "unsqueeze"),
):
    _put(_name, _method(getattr(F, _name)))
for _name, _dtype in (
    *(("float", lm.float32), ("double", lm.float64), ("half", lm.float16), ("bfloat16", lm.bfloat16)),
    *(("long", lm.int64), ("int", lm.int32), ("short", lm.int16), ("bool", lm.bool)),
):
    _put(_name, _cast(_dtype))
for _name in ("zeros", "ones", "empty", "full"):
    _put(f"new_{_name}", _new(_name))
