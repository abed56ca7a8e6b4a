"""Functions that PyTorch's files name."""

from __future__ import annotations

from collections.abc import Sequence

import lamella as lm
from lamella.compat.front import close_module

from ._storages import rebuild_of_dtype as _rebuild_tensor_v3  # noqa: F401
from ._storages import rebuild_parameter as _rebuild_parameter  # noqa: F401
from ._storages import rebuild_tensor as _rebuild_tensor_v2  # noqa: F401


def _flatten_dense_tensors(tensors: Sequence[lm.Tensor]) -> lm.Tensor:
    """Returns the elements of tensors of one dtype, one after another."""
    return lm.concat([lm.reshape(each, (-1,)) for each in tensors])


def _unflatten_dense_tensors(flat: lm.Tensor, tensors: Sequence[lm.Tensor]) -> tuple[lm.Tensor, ...]:
    """Returns elements that :func:`_flatten_dense_tensors` put together, in the shapes of tensors."""
    parts = lm.split(flat, [each.size for each in tensors])
    return tuple(lm.reshape(part, each.shape) for part, each in zip(parts, tensors, strict=True))


__getattr__ = close_module(__name__)
