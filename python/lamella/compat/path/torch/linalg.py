"""Matrices."""

from __future__ import annotations

import functools
import math
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

    prefix = "linalg_"

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
    return written(type(found)((lm.squeeze(found[0], -1), *found[1:])), out)


def solve(A: Any, B: Any, *, left: bool = True, **named: Any) -> Any:  # noqa: N803 (PyTorch's names)
    """Returns the X of ``A X = B``, or of ``X A = B``; ``B`` may be vectors, one for each matrix."""
    return _by_columns("solve", A, B, {"left": left, **named})


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False, **named: Any) -> Any:  # noqa: N803
    """:func:`solve` with the numbers that tell which matrices are singular."""
    return _by_columns("solve_ex", A, B, {"left": left, "check_errors": check_errors, **named})


def _in_dtype(x: Any, dtype: Any) -> Any:
    return x if dtype is None or not isinstance(x, Tensor) else x.astype(dtype, copy=False)


@_words.with_numpy_words
def norm(
    A: Any,  # noqa: N803 (PyTorch's name)
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    out: Any = None,
    dtype: Any = None,
) -> Any:
    """Returns norms along one axis or two, or of all; computed in ``dtype`` where that is given."""
    if isinstance(dim, (tuple, list)):
        if not dim:
            raise LinAlgError("[norm] dim names one axis or two: leave it out for all")
        dim = tuple(dim)
    A = _in_dtype(A, dtype)  # noqa: N806
    axes = dim if isinstance(dim, tuple) else (-2, -1) if dim is None and ord is not None and A.ndim == 2 else ()
    if len(axes) == 2 and ord in (1, 2, math.inf) and 0 in (A.shape[axes[0]], A.shape[axes[1]]):
        zeros = lm.sum(abs(A), axes, keepdim)  # the largest of no numbers that are 0 at least
        return written(zeros, out)
    return _made("norm")(A, ord, dim, keepdim, out=out)


@_words.with_numpy_words
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
    if len(tuple(dim)) != 2:
        raise LinAlgError(f"[matrix_norm] dim names two axes, not {dim}")
    return norm(A, ord, tuple(dim), keepdim, dtype=dtype, out=out)


@_words.with_numpy_words
def vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Any:
    """Returns norms along axes, or of all elements, computed in ``dtype`` where that is given."""
    axes = (tuple(dim) or None) if isinstance(dim, (tuple, list)) else dim
    return _made("vector_norm")(_in_dtype(x, dtype), ord, axes, keepdim, out=out)


def matrix_rank(
    A: Any,  # noqa: N803 (PyTorch's name)
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Any:
    """Returns numbers of singular values above the larger of ``tol`` or ``atol``, and ``rtol`` times the largest."""
    return _made("matrix_rank")(A, atol=atol if tol is None else tol, rtol=rtol, hermitian=hermitian, out=out)


def pinv(
    A: Any,  # noqa: N803 (PyTorch's name)
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Any:
    """Returns pseudoinverses; singular values up to ``rtol``, or ``rcond``, times the largest count as 0."""
    return _made("pinv")(A, rtol if rcond is None else rcond, hermitian, atol=atol, out=out)


def qr(A: Any, mode: str = "reduced", *, out: Any = None) -> Any:  # noqa: N803 (PyTorch's name)
    """Returns the factors Q and R; with the mode "r", no Q."""
    factors = _made("qr")(A, "reduced" if mode == "r" else mode)
    if mode == "r":
        factors = type(factors)((lm.empty((0,), dtype=A.dtype, device=str(A.device)), factors[1]))
    return written(factors, out)


def lu_factor(A: Any, *, pivot: bool = True, out: Any = None) -> Any:  # noqa: N803 (PyTorch's name)
    """Returns the triangular factors in one matrix, and the exchanges of rows.

    Raises:
        LinAlgError: a matrix is singular, with which lu_solve would divide by 0; lu_factor_ex factors that, too.
    """
    found = _made("lu_factor")(A, pivot=pivot)
    is_zero = lm.diagonal(found[0].detach()) == 0
    try:
        singular = str(is_zero.device) != "meta" and bool(lm.any(is_zero))
    except RuntimeError:  # a matrix of each example under vmap, or one that only the run of a program has
        singular = False
    if singular:
        place = int(lm.argmax(lm.any(lm.reshape(is_zero, [-1, is_zero.shape[-1]]), axis=0))) + 1
        raise LinAlgError(
            f"torch.linalg.lu_factor: U[{place},{place}] is zero and using it on lu_solve would result in a division "
            "by zero: call linalg.lu_factor_ex(A) for the factors of singular matrices"
        )
    return written(found, out)


def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: str | None = None) -> Any:  # noqa: N803 (PyTorch's names)
    """Returns what solves best, with residuals where there are more equations than unknowns.

    ``B`` of the shape of ``A`` without its last axis is a batch of vectors.
    """
    if isinstance(B, Tensor) and B.ndim > 1 and list(B.shape) == list(A.shape)[:-1]:
        found = lstsq(A, lm.expand_dims(B, -1), rcond, driver=driver)
        return type(found)((lm.squeeze(found[0], -1), *found[1:]))
    found = _made("lstsq")(A, B, rcond, driver=driver)
    if A.shape[-2] > A.shape[-1]:
        return found
    return type(found)((found[0], lm.empty((0,), dtype=found[1].dtype, device=str(A.device)), *found[2:]))
