"""Paddle's helpers."""

from __future__ import annotations

import functools
import re
import warnings
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


def deprecated(update_to: str = "", since: str = "", reason: str = "", level: int = 0) -> Any:
    """Returns a decorator: calls of the function warn from level 1 on, and raise from level 2 on.

    Args:
        update_to: what to use in the function's place.
        since: the version from which it is old.
        reason: why.
        level: 0, 1 or 2.
    """

    def decorate(function: Any) -> Any:
        text = f"{function.__module__}.{function.__name__} is deprecated"
        text += f" since {since}" if since else ""
        text += f", use {update_to}" if update_to else ""
        text += f": {reason}" if reason else ""

        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            if level == 2:
                raise RuntimeError(text)
            if level == 1:
                warnings.warn(text, DeprecationWarning, stacklevel=2)
            return function(*args, **named)

        return call

    return decorate


def require_version(min_version: str, max_version: str | None = None) -> None:
    """Checks that Paddle's version, which the front was written for, lies between two.

    Raises:
        RuntimeError: it does not.
    """
    from .. import __version__

    def numbers(version: str) -> list[int]:
        return [int(each) for each in re.findall(r"\d+", version)][:3]

    own = numbers(__version__)
    if numbers(min_version) > own or (max_version is not None and numbers(max_version) < own):
        wanted = f"{min_version} to {max_version}" if max_version else f"{min_version} or newer"
        raise RuntimeError(f"[require_version] the front is that of Paddle {__version__}, not of {wanted}")


__getattr__ = close_module(__name__)
