"""What this copy of Lamella is and runs on."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from . import _C

__all__ = ["config", "include_dirs", "library_dir", "show_config"]


def config() -> dict[str, Any]:
    """How the library was built and what it runs on."""
    return {**_C._config(), "python": platform.python_version()}


def show_config() -> None:
    """Prints :func:`config`, a line for each entry."""
    entries = config()
    width = max(map(len, entries))
    for name, value in entries.items():
        print(f"{name:<{width}}  {value}")


def library_dir() -> str:
    """The folder of ``liblamella.so``, for linking extensions."""
    return str(Path(__file__).resolve().parent)


def include_dirs() -> list[str]:
    """The folders of the C++ headers, for compiling extensions."""
    package = Path(__file__).resolve().parent
    installed = package / "include"
    if installed.is_dir():
        return [str(installed), str(installed / "lamella")]
    root = package.parents[1]
    return [str(root), str(root / "ops" / "api"), str(root / "python" / "include")]
