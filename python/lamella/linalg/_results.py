"""The named tuples that functions of lamella.linalg return."""

from __future__ import annotations

from typing import NamedTuple

from .._C import Tensor


class EigResult(NamedTuple):
    """What :func:`lamella.linalg.eig` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """What :func:`lamella.linalg.eigh` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class PolarResult(NamedTuple):
    """What :func:`lamella.linalg.polar` returns."""

    U: Tensor
    H: Tensor


class QRResult(NamedTuple):
    """What :func:`lamella.linalg.qr` returns."""

    Q: Tensor
    R: Tensor


class GeqrfResult(NamedTuple):
    """What :func:`lamella.linalg.geqrf` returns."""

    a: Tensor
    tau: Tensor


class SlogdetResult(NamedTuple):
    """What :func:`lamella.linalg.slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What :func:`lamella.linalg.svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class LUFactorResult(NamedTuple):
    """What :func:`lamella.linalg.lu_factor` returns."""

    LU: Tensor
    pivots: Tensor


class LUFactorExResult(NamedTuple):
    """What :func:`lamella.linalg.lu_factor_ex` returns."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class LUResult(NamedTuple):
    """What :func:`lamella.linalg.lu` returns."""

    P: Tensor
    L: Tensor
    U: Tensor


class CholeskyExResult(NamedTuple):
    """What :func:`lamella.linalg.cholesky_ex` returns."""

    L: Tensor
    info: Tensor


class InvExResult(NamedTuple):
    """What :func:`lamella.linalg.inv_ex` returns."""

    inverse: Tensor
    info: Tensor


class SolveExResult(NamedTuple):
    """What :func:`lamella.linalg.solve_ex` returns."""

    result: Tensor
    info: Tensor


class LDLFactorResult(NamedTuple):
    """What :func:`lamella.linalg.ldl_factor` returns."""

    LD: Tensor
    pivots: Tensor


class LDLFactorExResult(NamedTuple):
    """What :func:`lamella.linalg.ldl_factor_ex` returns."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


class LstsqResult(NamedTuple):
    """What :func:`lamella.linalg.lstsq` returns."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


# Pickles name a class by its module: the public one does not change when files move.
for _class in list(globals().values()):
    if isinstance(_class, type) and issubclass(_class, tuple):
        _class.__module__ = "lamella.linalg"
del _class
