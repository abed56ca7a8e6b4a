"""Matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lamella import Tensor
from lamella.compat.tables.torch_functions import LINALG as _TABLE

from . import _words
from ._taking_over import taken_over


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
        except Exception as error:
            made = taken_over(call, args, named)
            if made is not NotImplemented:
                return made
            if isinstance(error, ValueError):
                raise LinAlgError(str(error)) from error
            raise

    return call


_WORDS = replace(_words.INTO, otherwise=None)  # what takes calls over gets the function that shows the errors
__getattr__ = _words.serve(_Names(__name__, [("lamella.linalg", _TABLE, _WORDS)]))


def matrix_norm(
    A: Any,  # noqa: N803 (PyTorch's name)
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Returns the norms of the matrices along two axes, computed in ``dtype`` where that is given."""
    if isinstance(A, Tensor) and dtype is not None:
        A = A.astype(dtype)  # noqa: N806
    return __getattr__("norm")(A, ord, tuple(dim), keepdim, out=out)
