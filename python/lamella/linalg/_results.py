"""Named tuples that functions of lamella.linalg return."""

from __future__ import annotations

from typing import NamedTuple

from .._C import Tensor


class EigResult(NamedTuple):
    """Result of :func:`lamella.linalg.eig`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Result of :func:`lamella.linalg.eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class PolarResult(NamedTuple):
    """Result of :func:`lamella.linalg.polar`."""

    U: Tensor
    H: Tensor


class QRResult(NamedTuple):
    """Result of :func:`lamella.linalg.qr`."""

    Q: Tensor
    R: Tensor


class GeqrfResult(NamedTuple):
    """Result of :func:`lamella.linalg.geqrf`."""

    a: Tensor
    tau: Tensor


class SlogdetResult(NamedTuple):
    """Result of :func:`lamella.linalg.slogdet`."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Result of :func:`lamella.linalg.svd`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class LUFactorResult(NamedTuple):
    """Result of :func:`lamella.linalg.lu_factor`."""

    LU: Tensor
    pivots: Tensor


class LUFactorExResult(NamedTuple):
    """Result of :func:`lamella.linalg.lu_factor_ex`."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class LUResult(NamedTuple):
    """Result of :func:`lamella.linalg.lu`."""

    P: Tensor
    L: Tensor
    U: Tensor


class CholeskyExResult(NamedTuple):
    """Result of :func:`lamella.linalg.cholesky_ex`."""

    L: Tensor
    info: Tensor


class InvExResult(NamedTuple):
    """Result of :func:`lamella.linalg.inv_ex`."""

    inverse: Tensor
    info: Tensor


class SolveExResult(NamedTuple):
    """Result of :func:`lamella.linalg.solve_ex`."""

    result: Tensor
    info: Tensor


class LDLFactorResult(NamedTuple):
    """Result of :func:`lamella.linalg.ldl_factor`."""

    LD: Tensor
    pivots: Tensor


class LDLFactorExResult(NamedTuple):
    """Result of :func:`lamella.linalg.ldl_factor_ex`."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


class LstsqResult(NamedTuple):
    """Result of :func:`lamella.linalg.lstsq`."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


# The public module name does not change when files move: pickles name a class by its module.
for _class in list(globals().values()):
    if isinstance(_class, type) and issubclass(_class, tuple):
        _class.__module__ = "lamella.linalg"
del _class
