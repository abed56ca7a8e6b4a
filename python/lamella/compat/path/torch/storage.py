"""Storages that PyTorch's files name."""

from __future__ import annotations

from lamella.compat.front import close_module

from ._storages import UNTYPED as UntypedStorage  # noqa: F401, N811

__getattr__ = close_module(__name__)
