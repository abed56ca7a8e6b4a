"""Names that Paddle keeps apart until they are settled: derivatives of functions."""

from __future__ import annotations

from lamella.compat.front import close_module

from . import autograd  # noqa: F401

__getattr__ = close_module(__name__)
