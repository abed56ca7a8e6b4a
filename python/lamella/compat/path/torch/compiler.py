"""Marks that ``torch.compile`` reads in PyTorch: here they change nothing."""

from __future__ import annotations

import contextlib
from typing import Any

from lamella.compat.front import close_module

from ._compile import compile  # noqa: F401


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Returns the function itself."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """Returns the function itself."""
    return fn


assume_constant_result = allow_in_graph


def is_compiling() -> bool:
    """False."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Does nothing: what is compiled goes with its function."""


def cudagraph_mark_step_begin() -> None:
    """Does nothing."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Returns the backend's name, which stands for Lamella's graphs."""
    return ["inductor"]


def set_stance(stance: str = "default", **options: Any) -> Any:
    """Returns a block, or a decorator, that changes nothing."""
    return contextlib.nullcontext()


__getattr__ = close_module(__name__)
