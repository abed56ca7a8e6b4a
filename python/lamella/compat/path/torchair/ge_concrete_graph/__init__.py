"""Functions and types that converters are written with."""

from lamella.compat.front import close_module

from . import fx2ge_converter, ge_graph, utils  # noqa: F401

__getattr__ = close_module(__name__)
