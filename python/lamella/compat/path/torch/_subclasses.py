"""Tensors without elements of PyTorch's compiler: here they are tensors on "meta"."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from lamella.compat.front import add_paths, close_module
from lamella.library import DynamicOutputShapeError as DynamicOutputShapeException  # noqa: F401

from ._device import device


class FakeTensor:
    """No tensor is one."""


def is_fake(x: Any) -> bool:
    """False."""
    return isinstance(x, FakeTensor)


@contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """Changes nothing within a ``with`` block: no mode makes tensors without elements."""
    yield


class FakeTensorMode:
    """A block in which new tensors have no elements: they are on "meta", which is also their device."""

    def __init__(self, *, allow_non_fake_inputs: bool = False, **options: Any) -> None:
        self._device = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._device.enter_context(device("meta"))
        return self

    def __exit__(self, *error: Any) -> None:
        self._device.close()

    def from_tensor(self, tensor: Any, **options: Any) -> Any:
        """Returns a tensor of the same shape and dtype without elements."""
        made = tensor.detach().to("meta")
        return made.requires_grad_(tensor.requires_grad)


__getattr__ = close_module(__name__)
_NAMES = "DynamicOutputShapeException FakeTensor FakeTensorMode is_fake unset_fake_temporarily"
add_paths("torch", {f"{__name__}.fake_tensor": {__name__: _NAMES}})
