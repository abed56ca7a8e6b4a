"""Paddle's helpers."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.static import unique_name  # noqa: F401

from . import dlpack  # noqa: F401


def run_check() -> None:
    """Computes a product with its gradient, and prints that it works."""
    x = lm.ones((2, 2)).requires_grad_()
    lm.sum(lm.matmul(x, x)).backward()
    print("Lamella's paddle front works on the CPU.")


def try_import(module_name: str, err_msg: str | None = None) -> Any:
    """Imports a module.

    Raises:
        ImportError: there is none; the message says what to install.
    """
    import importlib

    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        raise ImportError(err_msg or f"[try_import] install {module_name} first") from error


__getattr__ = close_module(__name__)
