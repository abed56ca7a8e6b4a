"""Ways of communicating of models that train on several processes."""

from __future__ import annotations

from lamella.compat.front import close_module

__getattr__ = close_module(__name__)
