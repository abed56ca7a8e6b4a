"""Parts of models that are computed again in backward."""

from __future__ import annotations

from lamella.compat.front import close_module

__getattr__ = close_module(__name__)
