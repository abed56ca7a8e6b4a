"""Names such as ``FloatTensor``: older names of tensors of a dtype, which are called to make one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm


class TensorType(type):
    """Type of such names: tensors of the dtype are instances."""

    dtype: Any
    tensor: Callable[..., lm.Tensor]
    #: The kind of device; None for any.
    kind: str | None

    def __instancecheck__(cls, value: object) -> bool:
        return (
            isinstance(value, lm.Tensor)
            and value.dtype == cls.dtype
            and (cls.kind is None or str(value.device).startswith(cls.kind))
        )

    def __call__(cls, *args: Any) -> lm.Tensor:
        """Returns a tensor of data, or one of the given sizes whose elements are not set."""
        made = legacy(args, cls.dtype, cls.tensor)
        return made if cls.kind is None else made.to(cls.kind)


def legacy(args: tuple[Any, ...], dtype: Any, tensor: Callable[..., lm.Tensor]) -> lm.Tensor:
    """Returns a tensor of sizes that are given one by one, or by a tensor's shape, or what ``tensor`` makes of data."""
    if len(args) == 1 and getattr(type(args[0]), "stands_for_sizes", False):
        return lm.empty(tuple(args[0]), dtype=dtype)
    if len(args) == 1 and not isinstance(args[0], int):
        return tensor(args[0], dtype=dtype)
    return lm.empty(tuple(args) if args else (0,), dtype=dtype)


def made(name: str, dtype: Any, module: str, tensor: Callable[..., lm.Tensor], kind: str | None = None) -> Any:
    """Returns the class of a name, of tensors on any device or on those of a kind."""
    members = {
        "dtype": dtype,
        "tensor": staticmethod(tensor),
        "kind": kind,
        "__module__": module,
        "__doc__": f"See {__name__}.",
    }
    return TensorType(name, (), members)
