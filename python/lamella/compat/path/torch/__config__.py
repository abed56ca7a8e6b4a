"""Facts about the build of Lamella."""

from __future__ import annotations

from lamella import get_num_threads
from lamella.compat.front import close_module

from .version import __version__, cuda


def show() -> str:
    """Returns a text that says how Lamella was built."""
    return f"Lamella's front of PyTorch {__version__}\n  - CUDA {cuda or 'is not there'}\n"


def parallel_info() -> str:
    """Returns a text that says how many threads compute."""
    return f"threads: {get_num_threads()}\n"


__getattr__ = close_module(__name__)
