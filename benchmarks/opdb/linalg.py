"""Calls of PyTorch's linear algebra whose arguments differ in more than names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import lamella as lm

la = lm.linalg

Call = Callable[..., Any]


def _axes(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, list | tuple) else dim


def _cast(x: Any, dtype: Any) -> Any:
    return x if dtype is None else lm.astype(x, dtype)


def _matrix_norm(x: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, dtype: Any = None) -> Any:
    return la.norm(_cast(x, dtype), ord=ord, axis=tuple(dim), keepdims=keepdim)


def _vector_norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    # An empty list of axes means all axes to PyTorch.
    axis = None if isinstance(dim, list | tuple) and not dim else _axes(dim)
    return la.vector_norm(_cast(x, dtype), ord=ord, axis=axis, keepdims=keepdim)


def _norm(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return la.norm(_cast(x, dtype), ord=ord, axis=_axes(dim), keepdims=keepdim)


def _old_norm(x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """torch.norm: of vectors unless p is "nuc"."""
    if p == "nuc":
        return la.norm(_cast(x, dtype), ord="nuc", axis=_axes(dim) if dim is not None else (-2, -1), keepdims=keepdim)
    return _vector_norm(x, 2 if p == "fro" or p is None else p, dim, keepdim, dtype)


def _pinv(x: Any, *args: Any, **kwargs: Any) -> Any:
    if args and isinstance(args[0], lm.Tensor) and args[0].ndim > 1:  # the samples of singular matrices
        return la.pinv(x @ args[0].mT)
    return la.pinv(x, **_tolerances(args, kwargs))


def _matrix_rank(x: Any, *args: Any, **kwargs: Any) -> Any:
    return la.matrix_rank(x, **_tolerances(args, kwargs))


def _tolerances(args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """rtol (rcond, tol) by position or by name."""
    if args:
        kwargs = {"rtol": args[0], **kwargs}
    return {"rtol" if key == "rcond" else key: value for key, value in kwargs.items()}


def _system(function: Call) -> Call:
    """Stacks of vectors have an axis more here."""

    def run(a: Any, b: Any, *, left: bool = True, **kwargs: Any) -> Any:
        if b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]):
            found = function(a, b[..., None], left=left, **kwargs)
            return (found[0][..., 0], found[1]) if isinstance(found, tuple) else found[..., 0]
        return function(a, b, left=left, **kwargs)

    return run


def _lstsq(a: Any, b: Any, rcond: Any = None, driver: Any = None) -> Any:
    found = la.lstsq(a, b, rtol=rcond, driver=driver)

    def if_there(x: Any, is_there: bool) -> Any:
        return x if is_there else lm.reshape(x, [-1])[:0]

    # PyTorch returns no residuals if there are no surplus equations or a matrix has not full rank, and none from gelsy.
    has_residuals = a.shape[-2] > a.shape[-1] and driver not in ("gelsy", None) and not _is_deficient(a, found)
    return (
        found[0],
        if_there(found[1], has_residuals),
        if_there(found[2], driver != "gels"),
        if_there(found[3], driver in ("gelsd", "gelss")),
    )


def _is_deficient(a: Any, found: Any) -> bool:
    return bool(found.rank.size and (found.rank.numpy() < a.shape[-1]).any())


def _svd(x: Any, some: bool = True, compute_uv: bool = True) -> Any:
    u, s, vh = la.svd(x, full_matrices=not some)
    if compute_uv:
        return u, s, vh.mH
    m, n = x.shape[-2:]
    return lm.zeros([*x.shape[:-2], m, m], dtype=x.dtype), s, lm.zeros([*x.shape[:-2], n, n], dtype=x.dtype)


def _lu(x: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    found = la.lu_factor_ex(x, pivot=pivot)
    return tuple(found) if get_infos else tuple(found[:2])


def _low_rank(function: Call) -> Call:
    """The samples are the factors of a matrix of low rank."""

    def run(a: Any, b: Any, *, M: Any = None, **kwargs: Any) -> Any:  # noqa: N803
        u, s, vh = function(a @ b.mT if M is None else a @ b.mT - M, **kwargs)
        return u, s, vh.mH

    return run


LINALG: dict[str, Call] = {
    "svd_lowrank": _low_rank(la.svd_lowrank),
    "pca_lowrank": _low_rank(la.pca_lowrank),
    "triangular_solve": lambda b, a, upper=True, transpose=False, unitriangular=False: (
        la.solve_triangular(a.mT if transpose else a, b, upper=upper != transpose, unitriangular=unitriangular),
        a,
    ),
    "linalg.matrix_norm": _matrix_norm,
    "linalg.vector_norm": _vector_norm,
    "linalg.norm": _norm,
    "norm": _old_norm,
    "linalg.pinv": _pinv,
    "pinverse": _pinv,
    "linalg.matrix_rank": _matrix_rank,
    "linalg.solve": _system(la.solve),
    "linalg.solve_ex": _system(la.solve_ex),
    "linalg.lstsq": _lstsq,
    "linalg.lstsq grad_oriented": lambda *args, **kwargs: _lstsq(*args, **kwargs)[:2],
    "linalg.cond": lambda x, p=None: la.cond(x, p=p),
    "linalg.tensorsolve": lambda a, b, dims=None: la.tensorsolve(a, b, axes=dims),
    "linalg.tensorinv": lambda a, ind=2: la.tensorinv(a, ind=ind),
    "linalg.multi_dot": la.multi_dot,
    "svd": _svd,
    "lu": _lu,
    "lu_unpack": lambda lu, pivots, **parts: tuple(la.lu_unpack(lu, pivots, **parts)),
    "lu_solve": lambda b, lu, pivots: la.lu_solve(lu, pivots, b),
    "cholesky": lambda x, upper=False: la.cholesky(x, upper=upper),
    "cholesky_inverse": lambda x, upper=False: la.cholesky_inverse(x, upper=upper),
    "cholesky_solve": lambda x, factor, upper=False: la.cholesky_solve(x, factor, upper=upper),
}


def _hermitian_part(sample: Any, x: Any, gradient: np.ndarray) -> np.ndarray:
    """PyTorch's is not Hermitian where the diagonal of a factor, which is real, has a complex one."""
    return (gradient + np.conj(np.swapaxes(gradient, -1, -2))) / 2


def _triangle(sample: Any, x: Any, gradient: np.ndarray) -> np.ndarray:
    """PyTorch's is not 0 in the triangle of a factor that is not read."""
    if sample.args and x is sample.input:  # the right side, where there is one
        return gradient
    return np.triu(gradient) if sample.kwargs.get("upper") else np.tril(gradient)


def _of_general_matrices(sample: Any, x: Any, gradient: np.ndarray) -> np.ndarray:
    """The samples of Hermitian matrices are not, and PyTorch's reads both of their triangles."""
    return np.zeros_like(gradient) if sample.kwargs.get("hermitian") else gradient


#: Part of the gradient with respect to x that is compared.
PROJECTIONS: dict[str, Call] = {
    "linalg.cholesky": _hermitian_part,
    "linalg.cholesky_ex": _hermitian_part,
    "cholesky": _hermitian_part,
    "cholesky_inverse": _triangle,
    "cholesky_solve": _triangle,
    "linalg.pinv": _of_general_matrices,
}
