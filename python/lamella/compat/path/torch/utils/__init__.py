"""Building extensions, and the devices that these bring."""

from lamella.compat.front import close_module
from lamella.utils import generate_methods_for_privateuse1_backend, rename_privateuse1_backend  # noqa: F401

from . import cpp_extension  # noqa: F401

__getattr__ = close_module(__name__)
