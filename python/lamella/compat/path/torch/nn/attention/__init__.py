"""Which kernel computes attention: a choice that changes nothing here, where attention has one, by tiles."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from lamella.compat.front import close_module


class SDPBackend(enum.IntEnum):
    """Kernels of PyTorch."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Takes kernels, which change nothing.

    Raises:
        TypeError: something else is given.
    """
    for each in backends if isinstance(backends, (list, tuple)) else [backends]:
        if not isinstance(each, SDPBackend):
            raise TypeError(f"[sdpa_kernel] backends are SDPBackend's, not {type(each).__name__}")
    yield


__getattr__ = close_module(__name__)

from . import flex_attention  # noqa: E402, F401
