"""The version of Paddle whose programs run."""

from __future__ import annotations

from lamella.compat.front import close_module

full_version = "3.0.0"
major, minor, patch, rc = "3", "0", "0", "0"
commit = "lamella"


def show() -> None:
    """Prints the version."""
    print(f"full_version: {full_version} (Lamella's front)")


def cuda() -> str:
    """False: the front needs no CUDA of a version."""
    return "False"


cudnn = cuda
__getattr__ = close_module(__name__)
