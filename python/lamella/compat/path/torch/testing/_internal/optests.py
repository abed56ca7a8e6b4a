"""Older path of ``opcheck``."""

from lamella.compat.front import close_module

from ...library import opcheck  # noqa: F401

__getattr__ = close_module(__name__)
