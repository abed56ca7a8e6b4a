"""``torch.FloatTensor`` and its kin: older names of tensors of a dtype, which are called to make one."""

from __future__ import annotations

from typing import Any

import lamella as lm

from ._functions import TENSOR_TYPES, tensor


class _AnyTensor(type):
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
        return legacy(args, lm.float32) if _is_the_type(cls) else type.__call__(cls, *args, **kwargs)


def _is_the_type(cls: type) -> bool:
    return cls.__dict__.get("_stands_for_all", False)


class Tensor(lm.Tensor, metaclass=_AnyTensor):
    """The type of tensors. ``Tensor(2, 3)`` is one of these sizes whose elements are not set."""

    __module__ = "torch"
    _stands_for_all = True


class _TensorType(type):
    """Type of the classes below: tensors of the dtype are instances."""

    dtype: Any
    #: The kind of device; of tensors of the module ``torch`` any.
    kind: str | None

    def __instancecheck__(cls, value: object) -> bool:
        return (
            isinstance(value, lm.Tensor)
            and value.dtype == cls.dtype
            and (cls.kind is None or value.device.startswith(cls.kind))
        )

    def __call__(cls, *args: Any) -> lm.Tensor:
        """Returns a tensor of data, or one of the given sizes whose elements are not set."""
        made = legacy(args, cls.dtype)
        return made if cls.kind is None else made.to(cls.kind)


def legacy(args: tuple[Any, ...], dtype: Any) -> lm.Tensor:
    """Returns what ``torch.Tensor(*args)`` makes: sizes one by one, or data."""
    if len(args) == 1 and not isinstance(args[0], int):
        return tensor(args[0], dtype=dtype)
    return lm.empty(tuple(args) if args else (0,), dtype=dtype)


def made(name: str, kind: str | None = None) -> Any:
    """Returns the class of a name, of tensors on any device or on those of a kind."""
    module = "torch" if kind is None else f"torch.{kind}"
    members = {"dtype": TENSOR_TYPES[name], "kind": kind, "__module__": module, "__doc__": f"See {__name__}."}
    return _TensorType(name, (), members)
