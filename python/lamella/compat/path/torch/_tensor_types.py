"""``torch.FloatTensor`` and its kin: older names of tensors of a dtype, which are called to make one."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat import tensor_types

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
        if _is_the_type(cls):
            return tensor_types.legacy(args, lm.float32, tensor)
        return type.__call__(cls, *args, **kwargs)


def _is_the_type(cls: type) -> bool:
    return cls.__dict__.get("_stands_for_all", False)


class Tensor(lm.Tensor, metaclass=_AnyTensor):
    """The type of tensors. ``Tensor(2, 3)`` is one of these sizes whose elements are not set."""

    __module__ = "torch"
    _stands_for_all = True


def made(name: str, kind: str | None = None) -> Any:
    """Returns the class of a name, of tensors on any device or on those of a kind."""
    return tensor_types.made(name, TENSOR_TYPES[name], "torch" if kind is None else f"torch.{kind}", tensor, kind)
