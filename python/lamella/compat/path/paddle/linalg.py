"""Matrices."""

from __future__ import annotations

from lamella.compat.names import Names, serve
from lamella.compat.tables.paddle import LINALG as _TABLE

from . import _words
from ._matrices import (  # noqa: F401
    corrcoef,
    cov,
    lstsq,
    lu,
    lu_solve,
    lu_unpack,
    matmul,
    matrix_norm,
    matrix_rank,
    pca_lowrank,
    pinv,
    qr,
    slogdet,
    solve,
    svd_lowrank,
    triangular_solve,
    vector_norm,
)
from ._parts import cross, norm  # noqa: F401

#: Along any two axes, while ``lamella.linalg.diagonal`` is of the last two.
_DIAGONAL = "diagonal(x, offset=0, axis1=0, axis2=1)"
_TABLES = [("lamella.linalg", _TABLE, _words.FUNCTIONS), ("lamella", _DIAGONAL, _words.FUNCTIONS)]
__getattr__ = serve(Names(__name__, _TABLES))
