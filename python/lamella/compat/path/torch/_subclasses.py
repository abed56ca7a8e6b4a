"""Tensors without elements of PyTorch's compiler: there are none, see tensors on "meta"."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lamella.compat.front import add_paths, close_module


class FakeTensor:
    """No tensor is one."""


def is_fake(x: Any) -> bool:
    """False."""
    return isinstance(x, FakeTensor)


@contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """Changes nothing within a ``with`` block: no mode makes tensors without elements."""
    yield


__getattr__ = close_module(__name__)
add_paths("torch", {f"{__name__}.fake_tensor": {__name__: "FakeTensor is_fake unset_fake_temporarily"}})
