"""Operators of our own."""

import lamella  # noqa: F401 (its library is loaded before ours, which needs it)

from .hypot import hypot

__all__ = ["hypot"]
