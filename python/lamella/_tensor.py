"""The methods of Tensor that are written in Python: printing, copying, pickling."""

from __future__ import annotations

from typing import Any

from ._C import Tensor, _hidden_axes, asarray, no_grad

_SUMMARIZED_FROM = 1000  # elements; larger tensors are printed with their edges only


def _text(tensor: Tensor) -> str:
    """The elements as numpy prints them."""
    import numpy as np

    values = tensor.detach().cpu()
    if values.dtype.name == "bfloat16":
        values = values.astype("float32")
    return np.array2string(values.numpy(), separator=", ", prefix="Tensor(", threshold=_SUMMARIZED_FROM)


def _repr(self: Tensor) -> str:
    """The elements, the dtype, and what else is not as in a plain tensor on the CPU."""
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


def _format(self: Tensor, spec: str) -> str:
    """A tensor with one element takes the format of its number."""
    if not spec:
        return str(self)
    if self.size != 1:
        raise TypeError(
            f"[format] only a tensor with one element can be formatted by '{spec}', this one has {self.size}"
        )
    return format(self.detach().item(), spec)


def _state(tensor: Tensor) -> tuple[Any, ...]:
    device = str(tensor.device)
    values: Any
    if device == "meta":
        values = tuple(tensor.shape)
    else:
        plain = tensor.detach().cpu()
        # numpy has no bfloat16: float32 holds every one of its values.
        values = (plain.astype("float32") if plain.dtype.name == "bfloat16" else plain).contiguous().numpy()
    return values, tensor.dtype.name, device


def _rebuild(
    cls: type[Tensor], values: Any, dtype: str, device: str, stop_gradient: bool, attributes: dict[str, Any] | None
) -> Tensor:
    """Makes a tensor from what :func:`_reduce` kept of it."""
    from ._C import empty

    if device == "meta":
        plain = empty(values, dtype=dtype, device=device)
    else:
        plain = asarray(values, copy=True).astype(dtype, copy=False).to(device)
    tensor = plain if cls is Tensor else Tensor.__new__(cls, plain)
    tensor.stop_gradient = stop_gradient
    if attributes:
        tensor.__dict__.update(attributes)
    return tensor


def _reduce(self: Tensor, protocol: Any = None) -> tuple[Any, ...]:
    """Pickles values, dtype, device and stop_gradient. A place on the tape cannot be kept, a gradient is not."""
    if not self.is_leaf:
        raise RuntimeError(
            "[pickle] a result of recorded operations has a graph that cannot be kept: pickle x.detach()"
        )
    return _rebuild, (type(self), *_state(self), self.stop_gradient, getattr(self, "__dict__", None))


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf of its own with a copy of the values and of the gradient."""
    import copy

    if not self.is_leaf:
        raise RuntimeError(
            "[deepcopy] a result of recorded operations cannot be copied with its graph: copy x.detach()"
        )
    with no_grad():
        plain = self.detach().clone()
        copied = plain if type(self) is Tensor else Tensor.__new__(type(self), plain)
        copied.stop_gradient = self.stop_gradient
        memo[id(self)] = copied
        if self.grad is not None:
            copied.grad = copy.deepcopy(self.grad.detach(), memo)
        if attributes := getattr(self, "__dict__", None):
            copied.__dict__.update(copy.deepcopy(attributes, memo))
    return copied


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """The module lamella, which is a namespace of the Python array API standard itself."""
    import lamella

    from ._array_api import VERSIONS

    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"[__array_namespace__] api_version {api_version!r} is not supported: expected None or one of {VERSIONS}"
        )
    return lamella


def install() -> None:
    """Gives Tensor its methods; called once, when the package is imported."""
    methods = {
        "__repr__": _repr,
        "__format__": _format,
        "__reduce_ex__": _reduce,
        "__deepcopy__": _deepcopy,
        "__array_namespace__": _array_namespace,
    }
    for name, method in methods.items():
        method.__name__ = name
        method.__qualname__ = f"Tensor.{name}"
        setattr(Tensor, name, method)
