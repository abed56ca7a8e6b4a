"""Matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lamella.compat.tables.torch_functions import LINALG as _TABLE

from . import _words


class LinAlgError(RuntimeError, ValueError):
    """A matrix that has no such decomposition, or a wrong argument."""


class _Names(_words.Names):
    """Names of functions whose errors are those of PyTorch's module, too."""

    def make(self, name: str) -> Any:
        return _with_errors(super().make(name))


def _with_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except ValueError as error:
            raise LinAlgError(str(error)) from error

    return call


__getattr__ = _words.serve(_Names(__name__, [("lamella.linalg", _TABLE, _words.FUNCTIONS)]))
