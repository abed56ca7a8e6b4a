"""Matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.tables.torch_functions import LINALG as _TABLE

from . import _words
from ._taking_over import taken_over
from ._writing import written


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
_NAMES = _Names(__name__, [("lamella.linalg", _TABLE, _WORDS)])
__getattr__ = _words.serve(_NAMES)


@functools.cache
def _made(name: str) -> Callable[..., Any]:
    """Returns the table's function of a name that is written out here."""
    return _NAMES.make(name)


def _by_columns(name: str, A: Any, B: Any, named: dict[str, Any]) -> Any:  # noqa: N803 (PyTorch's names)
    """Solves for vectors, one for each matrix, as for matrices of one column; elsewhere for ``B`` as it is.

    In PyTorch ``B`` of the shape of ``A`` without its last axis is a batch of vectors, where the array API has vectors
    of one axis only.
    """
    solved, out = _made(name), named.pop("out", None)
    if not isinstance(B, Tensor) or B.ndim < 2 or list(B.shape) != list(A.shape)[:-1]:
        return written(solved(A, B, **named), out)
    found = solved(A, lm.expand_dims(B, -1), **named)
    if isinstance(found, Tensor):
        return written(lm.squeeze(found, -1), out)
    return written(type(found)(lm.squeeze(found[0], -1), *found[1:]), out)


def solve(A: Any, B: Any, *, left: bool = True, **named: Any) -> Any:  # noqa: N803 (PyTorch's names)
    """Returns the X of ``A X = B``, or of ``X A = B``; ``B`` may be vectors, one for each matrix."""
    return _by_columns("solve", A, B, {"left": left, **named})


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False, **named: Any) -> Any:  # noqa: N803
    """:func:`solve` with the numbers that tell which matrices are singular."""
    return _by_columns("solve_ex", A, B, {"left": left, "check_errors": check_errors, **named})


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
