"""Functions that PyTorch's files name, and helpers of older programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module

from ._storages import rebuild_of_dtype as _rebuild_tensor_v3  # noqa: F401
from ._storages import rebuild_parameter as _rebuild_parameter  # noqa: F401
from ._storages import rebuild_tensor as _rebuild_tensor_v2  # noqa: F401
from .sparse import _rebuild_sparse_tensor  # noqa: F401


def _element_size(dtype: lm.DType) -> int:
    """Returns the bytes of an element."""
    return dtype.itemsize


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Returns the number of a GPU, by its number or its name; -1 for the CPU where that is allowed.

    Raises:
        ValueError: it is no GPU.
    """
    if isinstance(device, int):
        return device
    kind, _, number = str(device).partition(":")
    if kind == "cpu" and allow_cpu:
        return -1
    if kind != "cuda" and not (device is None and optional):
        raise ValueError(f"[_get_device_index] expected a GPU, not {device}")
    return int(number) if number else lm.cuda.current_device()


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Returns the elements of tensors one after the other."""
    return lm.concat([lm.reshape(x, (-1,)) for x in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Returns parts of a tensor in the shapes of others."""
    parts = lm.split(flat, [math.prod(x.shape) for x in tensors])
    return tuple(lm.reshape(part, tuple(x.shape)) for part, x in zip(parts, tensors, strict=True))


__getattr__ = close_module(__name__)
