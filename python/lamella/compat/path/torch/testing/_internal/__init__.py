"""Modules that PyTorch's own tests import."""

from lamella.compat.front import close_module

__getattr__ = close_module(__name__)
