"""Functions that PyTorch's files name."""

from __future__ import annotations

from lamella.compat.front import close_module

from ._storages import rebuild_of_dtype as _rebuild_tensor_v3  # noqa: F401
from ._storages import rebuild_parameter as _rebuild_parameter  # noqa: F401
from ._storages import rebuild_tensor as _rebuild_tensor_v2  # noqa: F401

__getattr__ = close_module(__name__)
