"""Extensions for the NPU, which are C++ like others."""

from __future__ import annotations

from torch.utils.cpp_extension import CppExtension as NpuExtension  # type: ignore[import-not-found]  # noqa: F401

from lamella.compat.front import close_module

__getattr__ = close_module(__name__)
