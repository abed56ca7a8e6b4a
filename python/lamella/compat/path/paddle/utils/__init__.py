"""Paddle's helpers."""

from lamella.compat.front import close_module
from lamella.static import unique_name  # noqa: F401

__getattr__ = close_module(__name__)
