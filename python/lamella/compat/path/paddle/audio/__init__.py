"""Features of sounds. Files of sounds are for packages that read them."""

from lamella.compat.front import close_module

from . import features, functional  # noqa: F401

__getattr__ = close_module(__name__)
