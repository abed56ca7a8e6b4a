"""``torch.FloatTensor`` and its kin: older names of tensors of a dtype, which are called to make one."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat import tensor_types
from lamella.compat.elements import become
from lamella.nn.parameter import is_buffer

from . import _asking
from ._default_dtype import get_default_dtype
from ._functions import TENSOR_TYPES, tensor


class AnyTensor(type):
    """Type of :class:`Tensor`: all tensors, sparse ones too, are instances of it, and it equals the type of them."""

    def __new__(meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        """Makes a class; those of programs ask their ``__torch_function__``, but for parameters that have none."""
        own = namespace.get("__module__", "").partition(".")[0] in ("torch", "lamella")
        asks = "__torch_function__" in namespace or any(base.__dict__.get("_stands_for_all") for base in bases)
        if asks and not own and not any(issubclass(base, _asking.Asking) for base in bases):
            place = bases.index(object) if object in bases else len(bases)
            bases = (*bases[:place], _asking.Asking, *bases[place:])
        return super().__new__(meta, name, bases, namespace, **options)

    def __instancecheck__(cls, value: object) -> bool:
        if _is_the_type(cls):
            return isinstance(value, lm.Tensor) or is_buffer(value)
        return type.__instancecheck__(cls, value)

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
            return tensor_types.legacy(args, get_default_dtype(), tensor)
        if issubclass(cls, _asking.Asking):
            _asking.begin()
        return type.__call__(cls, *args, **kwargs)


def _is_the_type(cls: type) -> bool:
    return cls.__dict__.get("_stands_for_all", False)


class Tensor(lm.Tensor, metaclass=AnyTensor):
    """The type of tensors. ``Tensor(2, 3)`` is one of these sizes whose elements are not set."""

    __module__ = "torch"
    _stands_for_all = True
    __torch_function__ = classmethod(_asking.of_class)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]
        """Makes an object of a subclass as one of :class:`Tensor` is made: of data, or of sizes one by one."""
        kwargs.pop("device", None)
        if kwargs:
            return lm.Tensor.__new__(cls, *args, **kwargs)
        return _make_subclass(cls, tensor_types.legacy(args, get_default_dtype(), tensor))


_native_detach: Any = lm.Tensor.detach


def _make_subclass(cls: type, data: lm.Tensor, require_grad: bool = False, *args: Any) -> Any:
    """Returns a leaf of a subclass of tensors on the memory of ``data``."""
    if issubclass(cls, _asking.Asking):
        _asking.begin()
    return lm.Tensor.__new__(cls, _native_detach(data), stop_gradient=not require_grad)


def _as_subclass(self: lm.Tensor, cls: type) -> Any:
    """Returns the tensor as one of a subclass, which is on the tape where the tensor is."""
    if cls in (Tensor, lm.Tensor):
        if type(self) is lm.Tensor:
            return self
        cls = lm.Tensor
    made: Any = _make_subclass(cls, self)
    if self.stop_gradient:
        return made
    with _asking.Disabled():
        return become(made, self[...])


_tensors: Any = lm.Tensor
_tensors._make_subclass = staticmethod(_make_subclass)
_tensors.as_subclass = _as_subclass
# Programs tell whose a tensor is by the module of its type.
_tensors.__module__ = "torch"


def made(name: str, kind: str | None = None) -> Any:
    """Returns the class of a name, of tensors on any device or on those of a kind."""
    return tensor_types.made(name, TENSOR_TYPES[name], "torch" if kind is None else f"torch.{kind}", tensor, kind)
