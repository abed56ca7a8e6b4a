"""Memory for time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.autograd import CheckpointPolicy  # noqa: F401
from lamella.compat.front import close_module


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Calls ``function`` without keeping what backward needs; ``use_reentrant`` is False where it is not given."""
    return lm.checkpoint(function, *args, use_reentrant=bool(use_reentrant), **kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Calls functions one after the other, in checkpoints."""
    return lm.autograd.checkpoint_sequential(functions, segments, input, use_reentrant=bool(use_reentrant), **kwargs)


__getattr__ = close_module(__name__)
