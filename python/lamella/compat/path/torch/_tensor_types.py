"""``torch.FloatTensor`` and its kin: older names of tensors of a dtype, which are called to make one."""

from __future__ import annotations

import warnings
from typing import Any

import lamella as lm

from ._functions import TENSOR_TYPES, tensor
from ._reshaped import become


class AnyTensor(type):
    """Type of :class:`Tensor`: all tensors are instances of it, and it equals the type of them."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, lm.Tensor) if _is_the_type(cls) else type.__instancecheck__(cls, value)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, lm.Tensor) if _is_the_type(cls) else type.__subclasscheck__(cls, other)

    def __eq__(cls, other: object) -> bool:
        return cls is other or (_is_the_type(cls) and other is lm.Tensor)

    def __hash__(cls) -> int:
        return hash(lm.Tensor) if _is_the_type(cls) else type.__hash__(cls)

    def __setattr__(cls, name: str, value: Any) -> None:
        """Gives all tensors an attribute."""
        type.__setattr__(lm.Tensor if _is_the_type(cls) else cls, name, value)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Makes a tensor: of data, or of sizes given one by one; of subclasses, as they say."""
        if _is_the_type(cls):
            return legacy(args, lm.float32)
        _tell_of_calls(cls)
        return type.__call__(cls, *args, **kwargs)


def _is_the_type(cls: type) -> bool:
    return cls.__dict__.get("_stands_for_all", False)


class Tensor(lm.Tensor, metaclass=AnyTensor):
    """The type of tensors. ``Tensor(2, 3)`` is one of these sizes whose elements are not set."""

    __module__ = "torch"
    _stands_for_all = True


#: Subclasses that a warning has told of.
_told: set[type] = set()


def _tell_of_calls(cls: type) -> None:
    """Warns, once, of a subclass of tensors that wants to take calls of functions over."""
    found = next((vars(each)["__torch_function__"] for each in cls.__mro__ if "__torch_function__" in vars(each)), None)
    taken = getattr(found, "__func__", found)
    if taken is None or cls in _told or getattr(taken, "__name__", "") == "_disabled_torch_function_impl":
        return
    _told.add(cls)
    warnings.warn(
        f"[{cls.__name__}] functions do not ask the __torch_function__ of a subclass of tensors: they take its objects "
        "as the tensors that they are, and return plain ones",
        stacklevel=3,
    )


def _make_subclass(cls: type, data: lm.Tensor, require_grad: bool = False, *args: Any) -> Any:
    """Returns a leaf of a subclass of tensors on the memory of ``data``."""
    _tell_of_calls(cls)
    return lm.Tensor.__new__(cls, data.detach(), stop_gradient=not require_grad)


def _as_subclass(self: lm.Tensor, cls: type) -> Any:
    """Returns the tensor as one of a subclass, which is on the tape where the tensor is."""
    if cls in (Tensor, lm.Tensor):
        return self
    made: Any = _make_subclass(cls, self)
    return made if self.stop_gradient else become(made, self[...])


_tensors: Any = lm.Tensor
_tensors._make_subclass = staticmethod(_make_subclass)
_tensors.as_subclass = _as_subclass


class _TensorType(type):
    """Type of the classes below: tensors of the dtype are instances."""

    dtype: Any

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, lm.Tensor) and value.dtype == cls.dtype

    def __call__(cls, *args: Any) -> lm.Tensor:
        """Returns a tensor of data, or one of the given sizes whose elements are not set."""
        return legacy(args, cls.dtype)


def legacy(args: tuple[Any, ...], dtype: Any) -> lm.Tensor:
    """Returns what ``torch.Tensor(*args)`` makes: sizes one by one, or data."""
    if len(args) == 1 and not isinstance(args[0], int):
        return tensor(args[0], dtype=dtype)
    return lm.empty(tuple(args) if args else (0,), dtype=dtype)


def made(name: str) -> Any:
    """Returns the class of a name."""
    return _TensorType(name, (), {"dtype": TENSOR_TYPES[name], "__module__": "torch", "__doc__": f"See {__name__}."})
