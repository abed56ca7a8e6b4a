"""Flags of the compiler and the linker for a library of operators."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from lamella import sysconfig as _native
from lamella.compat import HEADERS
from lamella.compat.front import close_module

__getattr__ = close_module(__name__)


def get_include() -> str:
    """Returns the folder of ``oneflow/core/framework/framework.h``."""
    return str(HEADERS)


def get_lib() -> str:
    """Returns the folder of the library."""
    return _native.get_lib()


def get_compile_flags() -> list[str]:
    """Returns flags for g++ and nvcc; the last is the C++ standard that the headers need, which overrides others."""
    return [f"-I{get_include()}", *_native.get_compile_flags()]


def get_link_flags() -> list[str]:
    """Returns flags for the linker, with the folder of CUDA's libraries if there is one."""
    flags = _native.get_link_flags()
    nvcc = shutil.which("nvcc")
    home = os.environ.get("CUDA_HOME") or (str(Path(nvcc).resolve().parents[1]) if nvcc else "/usr/local/cuda")
    libraries = Path(home) / "lib64"
    return [*flags, f"-L{libraries}"] if libraries.is_dir() else flags
