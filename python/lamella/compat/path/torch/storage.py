"""The memory of tensors as objects, which PyTorch's files name, too."""

from __future__ import annotations

from lamella.compat.front import close_module

from ._memory import TypedStorage, UntypedStorage  # noqa: F401

__getattr__ = close_module(__name__)
