"""Calls of modules with other tensors in the place of their parameters, by the older name."""

from __future__ import annotations

from lamella.compat.front import close_module

from ...func import functional_call  # noqa: F401

__getattr__ = close_module(__name__)
