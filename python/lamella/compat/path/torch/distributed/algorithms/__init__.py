"""What is made of collective operations; see :mod:`torch.distributed.algorithms.join`."""

from lamella.compat.front import close_module

from . import join  # noqa: F401

__getattr__ = close_module(__name__)
