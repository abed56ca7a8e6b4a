"""Images: what changes them, and networks that see them."""

from __future__ import annotations

from lamella.compat.front import close_module

from . import models, transforms  # noqa: F401

__getattr__ = close_module(__name__)
