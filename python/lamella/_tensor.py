"""The methods of Tensor that are written in Python: printing, copying, pickling."""

from __future__ import annotations

import copy
import weakref
from typing import Any

from . import _names
from ._C import (
    Tensor,
    _hidden_axes,
    _memory_as_bytes,
    _numpy_to_print,
    _shared_memory,
    _stream_current,
    _tensor_in_memory,
    _unpack_dual,
    asarray,
    empty,
    is_grad_enabled,
    no_grad,
)
from ._dtypes import for_numpy

#: numpy's letters of kinds that are not the first ones of their dtypes' names.
_KINDS = {"bfloat16": "V"}
_SUMMARIZED_FROM = 1000  # number of elements from which on a tensor is printed with its edges only


def _text(tensor: Tensor) -> str:
    """Returns the elements as numpy prints them."""
    import numpy as np

    return np.array2string(
        _numpy_to_print(for_numpy(tensor)), separator=", ", prefix="Tensor(", threshold=_SUMMARIZED_FROM
    )


def _repr(self: Tensor) -> str:
    """Returns the elements, the dtype, and whatever differs from a plain tensor on the CPU."""
    with no_grad():
        device = str(self.device)
        parts = []
        hidden = _hidden_axes(self)
        parts += [f"<one of {size} examples of vmap>" for _, size in hidden]
        if device == "meta" or hidden:
            parts.append(f"shape={list(self.shape)}")
        else:
            parts.append(_text(self))
            if 0 in self.shape:
                parts.append(f"shape={list(self.shape)}")
        parts.append(f"dtype={self.dtype.name}")
        if device != "cpu":
            parts.append(f"device='{device}'")
        if self.grad_fn is not None:
            parts.append(f"grad_fn={self.grad_fn!r}")
        elif not self.stop_gradient:
            parts.append("stop_gradient=False")
        return f"Tensor({', '.join(parts)})"


def _repr_html(self: Tensor) -> str:
    """Returns the tensor as notebooks show it."""
    from ._html import tensor

    return tensor(self)


def _format(self: Tensor, spec: str) -> str:
    """Formats the number of a tensor with one element; without a format, any tensor."""
    if not spec:
        return str(self)
    if self.size != 1:
        raise TypeError(
            f"[format] only a tensor with one element can be formatted by '{spec}', this one has {self.size}"
        )
    return format(_numpy_to_print(for_numpy(self)).item(), spec)


class _Memory:
    """Memory that several tensors show. Copied or pickled once, however many of them are: they share it afterwards."""

    __slots__ = ("__weakref__", "bytes")

    def __init__(self, memory: Tensor) -> None:
        self.bytes = memory

    def __deepcopy__(self, memo: dict[int, Any]) -> _Memory:
        return _Memory(self.bytes.clone())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_memory, (self.bytes.cpu().numpy(), str(self.bytes.device))


#: Memories by their storage's address. One pickle, or one deepcopy, keeps alive those that it meets, and so meets them
#: again.
_memories: weakref.WeakValueDictionary[int, _Memory] = weakref.WeakValueDictionary()


def memory_of(tensor: Tensor) -> tuple[_Memory, int] | None:
    """Returns the memory that the tensor has in common with another, and the byte where it begins there."""
    found = _shared_memory(tensor)
    if found is None:
        return None
    address, offset = found
    memory = _memories.get(address)
    if memory is None:
        memory = _memories[address] = _Memory(_memory_as_bytes(tensor.detach()))
    return memory, offset


def _rebuild_memory(values: Any, device: str) -> _Memory:
    return _Memory(asarray(values, copy=True).to(device))


def _check_copied(tensor: Tensor, op: str) -> None:
    if not tensor.is_leaf:
        raise RuntimeError(
            f"[{op}] a result of recorded operations has a graph that cannot be copied with it: {op} x.detach()"
        )
    if _unpack_dual(tensor, None)[1] is not None:
        raise RuntimeError(f"[{op}] a tangent of forward mode cannot be copied: {op} x.detach()")


def _state(tensor: Tensor) -> Any:
    if str(tensor.device) == "meta":
        return tuple(tensor.shape)
    if (place := memory_of(tensor)) is not None:
        memory, offset = place
        return memory, tuple(tensor.shape), tuple(tensor.strides), offset
    return for_numpy(tensor).contiguous().numpy()


def _rebuild(cls: type[Tensor] | None, values: Any, dtype: str, device: str, stop_gradient: bool) -> Tensor:
    """Makes a tensor from what :func:`_reduce` kept of it."""
    if device == "meta":
        plain = empty(values, dtype=dtype, device=device)
    elif isinstance(values, tuple):
        memory, shape, strides, offset = values
        plain = _tensor_in_memory(memory.bytes, dtype, shape, strides, offset)
    else:
        plain = asarray(values, copy=True).astype(dtype, copy=False).to(device)
    tensor = plain if cls is None or cls is Tensor else Tensor.__new__(cls, plain)
    tensor.stop_gradient = stop_gradient
    return tensor


def _restore(tensor: Tensor, state: tuple[Tensor | None, dict[str, Any] | None]) -> None:
    """Gives a tensor that :func:`_rebuild` made what may lead back to it: its gradient and its attributes."""
    gradient, attributes = state
    if gradient is not None:
        tensor.grad = gradient
    if attributes:
        tensor.__dict__.update(attributes)


def _reduce(self: Tensor, protocol: Any = None) -> tuple[Any, ...]:
    """Pickles values, dtype, device, stop_gradient, gradient and attributes. A place on the tape cannot be kept."""
    _check_copied(self, "pickle")
    # Plain tensors do not name their class, which a front calls otherwise.
    kind = None if type(self) is Tensor else type(self)
    made = kind, _state(self), self.dtype.name, str(self.device), self.stop_gradient
    gradient = None if self.grad is None else self.grad.detach()
    return _rebuild, made, (gradient, getattr(self, "__dict__", None)), None, None, _restore


def _copy(self: Tensor) -> Tensor:
    """Returns a leaf of its own with a copy of the values and of the gradient; attributes are the same objects."""
    copied = _without_attributes(self, {})
    if attributes := getattr(self, "__dict__", None):
        copied.__dict__.update(attributes)
    return copied


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Returns a leaf of its own with a copy of the values, the gradient and the attributes."""
    copied = _without_attributes(self, memo)
    if attributes := getattr(self, "__dict__", None):
        copied.__dict__.update(copy.deepcopy(attributes, memo))
    return copied


def _without_attributes(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    _check_copied(tensor, "copy")
    with no_grad():
        if (place := memory_of(tensor)) is not None:
            memory, offset = place
            copied_memory = copy.deepcopy(memory, memo)
            plain = _tensor_in_memory(
                copied_memory.bytes, tensor.dtype, tuple(tensor.shape), tuple(tensor.strides), offset
            )
        else:
            plain = tensor.detach().clone()
        copied = plain if type(tensor) is Tensor else Tensor.__new__(type(tensor), plain)
        copied.stop_gradient = tensor.stop_gradient
        memo[id(tensor)] = copied
        if tensor.grad is not None:
            copied.grad = copy.deepcopy(tensor.grad.detach(), memo)
    return copied


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """Returns the module lamella, which is a namespace of the Python array API standard itself."""
    import lamella

    from ._array_api import VERSIONS

    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"[__array_namespace__] api_version {api_version!r} is not supported: expected None or one of {VERSIONS}"
        )
    return lamella


def _to_global(self: Tensor, placement: Any = None, sbp: Any = None) -> Tensor:
    """Makes a global tensor, of which this is the process's part; see :func:`lamella.distributed.to_global`."""
    from .distributed import to_global

    return to_global(self, placement, sbp)


def _cuda_array_interface(self: Tensor) -> dict[str, Any]:
    """Shows the memory to other libraries of CUDA arrays, by version 3 of their protocol.

    Raises:
        AttributeError: the tensor is not on a CUDA device.
        RuntimeError: it wants a gradient while gradients are recorded.
    """
    device = str(self.device)
    if not device.startswith("cuda"):
        raise AttributeError(f"[__cuda_array_interface__] the tensor is on {device}, not on a CUDA device")
    if not self.stop_gradient and is_grad_enabled():
        raise RuntimeError("[__cuda_array_interface__] the tensor wants a gradient: call detach() first")
    name = self.dtype.name
    kind = _KINDS.get(name, name[0])
    return {
        "shape": tuple(self.shape),
        "typestr": f"{'<' if self.itemsize > 1 else '|'}{kind}{self.itemsize}",
        "strides": None if self.is_contiguous() else tuple(self.itemsize * stride for stride in self.strides),
        "data": (self.data_ptr() if self.size else 0, False),
        "stream": _stream_current(device) or 1,  # 1 is the default stream
        "version": 3,
    }


def _dir(self: Tensor) -> list[str]:
    return [name for name in object.__dir__(self) if name not in _elsewhere]


_elsewhere: dict[str, _names.Elsewhere] = {}


def install() -> None:
    """Gives Tensor its methods; called once, when the package is imported."""
    methods = {
        "__repr__": _repr,
        "_repr_html_": _repr_html,
        "__format__": _format,
        "__reduce_ex__": _reduce,
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
        "__array_namespace__": _array_namespace,
        "__dir__": _dir,
        "to_global": _to_global,
    }
    for name, method in methods.items():
        method.__name__ = name
        method.__qualname__ = f"Tensor.{name}"
        setattr(Tensor, name, method)
    setattr(Tensor, "__cuda_array_interface__", property(_cuda_array_interface))  # noqa: B010 (mypy knows the stub)
    _elsewhere.update(_names.of_tensors(Tensor))
    for name, stand_in in _elsewhere.items():
        setattr(Tensor, name, stand_in)
