"""Building extensions."""

from lamella.compat.front import close_module

from . import cpp_extension  # noqa: F401

__getattr__ = close_module(__name__)
