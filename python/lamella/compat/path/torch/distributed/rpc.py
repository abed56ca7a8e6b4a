"""Remote procedure calls, which are not there: programs ask :func:`is_available` before they use them."""

from __future__ import annotations

from lamella.compat.front import close_module


def is_available() -> bool:
    """False."""
    return False


__getattr__ = close_module(__name__)
