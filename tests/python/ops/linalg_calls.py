"""Calls of linear algebra and Fourier transforms: a part of the tables of calls, and what they are called on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm

la = lm.linalg


def matrix(*shape: int, seed: int = 4) -> lm.Tensor:
    """A leaf of random numbers, with singular values and eigenvalues well apart."""
    values = np.random.default_rng(seed).normal(size=shape)
    k = min(shape[-2:])
    values[..., :k, :k] += np.diag(np.arange(1.0, k + 1))
    return lm.tensor(values, stop_gradient=False)


def definite(a: lm.Tensor) -> lm.Tensor:
    return lm.matmul(a, a.mT) + lm.eye(a.shape[-1], dtype=a.dtype, device=a.device)


def symmetric(a: lm.Tensor) -> lm.Tensor:
    return a + a.mT


def vectors_up_to_sign(v: lm.Tensor) -> lm.Tensor:
    """What signs of the columns do not change, and that tells where they are."""
    return v.mT * v.mT * lm.arange(1.0, v.shape[-2] + 1, dtype=v.dtype)


def eigh_parts(a: lm.Tensor) -> list[lm.Tensor]:
    w, v = la.eigh(symmetric(a))
    return [w, vectors_up_to_sign(v)]


def eig_parts(a: lm.Tensor) -> list[lm.Tensor]:
    w, v = la.eig(a)
    return [lm.real(w), lm.imag(w), lm.real(v * lm.conj(v)), lm.imag(v[..., :1, :] * lm.conj(v[..., 1:, :]))]


def svd_parts(a: lm.Tensor, full: bool = False) -> list[lm.Tensor]:
    u, s, vh = la.svd(a, full_matrices=full)
    k = s.shape[-1]
    return [s, vectors_up_to_sign(u), vectors_up_to_sign(vh.mT), u[..., :k] @ (vh[..., :k, :] * s[..., None])]


def low_rank(a: lm.Tensor) -> lm.Tensor:
    return lm.matmul(a, a.mT)


def spectrum(a: lm.Tensor, n: int) -> lm.Tensor:
    """Real numbers through complex ones and back, nonlinear on the way in."""
    y = lm.fft_r2c(a * a, 0, scale=0.5, doubled=True)
    return lm.fft_c2r(lm.fft_c2c(y, [1], scale=0.25), n, 0)


LINALG_CALLS: dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]] = {
    "vecdot": [
        (lm.vecdot, [matrix(2, 3), matrix(2, 3, seed=5)]),
        (lambda a, b: lm.vecdot(a, b, axis=-2), [matrix(2, 3, 2), matrix(3, 1, seed=5)]),
    ],
    "dot": [(lambda a, b: lm.dot(a[0], b[0]), [matrix(2, 3), matrix(2, 3, seed=5)])],
    "outer": [(lambda a, b: lm.outer(a[0], b[0]), [matrix(2, 3), matrix(2, 2, seed=5)])],
    "kron": [(lm.kron, [matrix(2, 2), matrix(1, 3, seed=5)])],
    "cross": [(lm.cross, [matrix(2, 3), matrix(1, 3, seed=5)])],
    "tensordot": [(lambda a, b: lm.tensordot(a, b, axes=([0, 2], [1, 0])), [matrix(2, 3, 2), matrix(2, 2, 2, seed=5)])],
    "einsum": [
        (lambda a, b: lm.einsum("ij,jk->ki", a, b), [matrix(2, 3), matrix(3, 2)]),
        (lambda a, b, c: lm.einsum("ii,ij,...j->...i", a, b, c), [matrix(2, 2), matrix(2, 3), matrix(2, 3, seed=5)]),
        (lambda a: lm.einsum("iji->j", a * a), [matrix(2, 3, 2)]),
    ],
    "diagonal": [(lambda a: lm.diagonal(a * a, offset=-1, axis1=2, axis2=0), [matrix(3, 2, 4)])],
    "trace": [(lambda a: lm.trace(a * a, offset=1), [matrix(2, 2, 3)])],
    "linalg_cholesky": [
        (lambda a: la.cholesky(definite(a)), [matrix(2, 3, 3)]),
        (lambda a: la.cholesky(definite(a), upper=True), [matrix(2, 2)]),
    ],
    "linalg_cholesky_ex": [
        (lambda a: la.cholesky_ex(definite(a)).L, [matrix(2, 3, 3)]),
        (lambda a: la.cholesky_ex(definite(a), upper=True).L, [matrix(2, 2)]),
    ],
    "linalg_cholesky_solve": [
        (la.cholesky_solve, [matrix(3, 2, seed=5), matrix(2, 3, 3)]),
        (lambda b, a: la.cholesky_solve(b, a, upper=True), [matrix(2, 2, 1, seed=5), matrix(2, 2)]),
    ],
    "linalg_cholesky_inverse": [
        (la.cholesky_inverse, [matrix(2, 3, 3)]),
        (lambda a: la.cholesky_inverse(a, upper=True), [matrix(3, 3)]),
    ],
    "linalg_qr": [(la.qr, [matrix(*s)]) for s in ((4, 2), (3, 3), (2, 2, 4))]
    + [(lambda a: la.qr(a, mode="complete"), [matrix(2, 3)])],
    "linalg_eigh": [(eigh_parts, [matrix(3, 3)]), (eigh_parts, [matrix(2, 2, 2)])],
    "linalg_eigvalsh": [(lambda a, u=u: la.eigvalsh(symmetric(a), UPLO=u), [matrix(3, 3)]) for u in "LU"],
    "linalg_eig": [(eig_parts, [matrix(3, 3)]), (eig_parts, [matrix(2, 2, 2)])],
    "linalg_eigvals": [(lambda a: lm.real(la.eigvals(a) ** 2), [matrix(3, 3)])],
    "linalg_svd": [(svd_parts, [matrix(*s)]) for s in ((3, 2), (2, 3), (2, 2, 2))]
    + [(lambda a: svd_parts(a, full=True), [matrix(3, 3)])],
    "linalg_svdvals": [(la.svdvals, [matrix(3, 2)])],
    "linalg_solve": [
        (la.solve, [matrix(2, 3, 3), matrix(3, 2, seed=5)]),
        (lambda a, b: la.solve(a, b[0]), [matrix(3, 3), matrix(2, 3, seed=5)]),
        (la.solve, [matrix(2, 2), matrix(2, 2, 1, seed=5)]),
    ],
    "linalg_solve_ex": [
        (lambda a, b: la.solve_ex(a, b).result, [matrix(2, 3, 3), matrix(3, 2, seed=5)]),
        (lambda a, b: la.solve_ex(a, b, left=False).result, [matrix(3, 3), matrix(2, 1, 3, seed=5)]),
    ],
    "linalg_inv_ex": [(lambda a: la.inv_ex(a).inverse, [matrix(2, 3, 3)])],
    "linalg_solve_triangular": [
        (lambda a, b: la.solve_triangular(a, b, upper=True), [matrix(3, 3), matrix(2, 3, 1, seed=5)]),
        (lambda a, b: la.solve_triangular(a, b, upper=False, left=False), [matrix(2, 2), matrix(3, 2, seed=5)]),
        (
            lambda a, b: la.solve_triangular(a, b, upper=False, unitriangular=True),
            [matrix(3, 3), matrix(3, 2, seed=5)],
        ),
    ],
    "linalg_inv": [(la.inv, [matrix(2, 3, 3)])],
    "linalg_det": [(la.det, [matrix(2, 3, 3)]), (lambda a: la.det(a[:2, :2]), [matrix(3, 3)])],
    "linalg_slogdet": [(lambda a: la.slogdet(a)[1], [matrix(2, 3, 3)])],
    "linalg_pinv": [
        (la.pinv, [matrix(3, 2)]),
        (la.pinv, [matrix(2, 2, 3)]),
        (lambda a: la.pinv(low_rank(a), rtol=1e-9), [matrix(3, 2)]),
        (lambda a: la.pinv(symmetric(a), hermitian=True), [matrix(3, 3)]),
        (lambda a: la.pinv(low_rank(a), hermitian=True, atol=1e-9), [matrix(3, 2)]),
    ],
    "linalg_lu_factor": [(lambda a: la.lu_factor(a).LU, [matrix(*s)]) for s in ((3, 3), (4, 2), (2, 2, 3))],
    "linalg_lu": [(lambda a: la.lu(a)[1:], [matrix(*s)]) for s in ((3, 3), (3, 2), (2, 2, 4))],
    "linalg_lu_unpack": [
        (lambda a: la.lu_unpack(*la.lu_factor(a), unpack_pivots=False)[1:], [matrix(*s)]) for s in ((3, 2), (2, 2, 4))
    ],
    "linalg_lu_solve": [
        (lambda a, b: la.lu_solve(*la.lu_factor(a), b), [matrix(3, 3), matrix(2, 3, 1, seed=5)]),
        (lambda a, b: la.lu_solve(*la.lu_factor(a), b, adjoint=True), [matrix(2, 2, 2), matrix(2, 2, seed=5)]),
        (lambda a, b: la.lu_solve(*la.lu_factor(a), b, left=False), [matrix(2, 2), matrix(3, 2, seed=5)]),
    ],
    "linalg_householder_product": [
        (lambda a, t: la.householder_product(a, t[0]), [matrix(4, 3), matrix(1, 2, seed=5)]),
        (la.householder_product, [matrix(2, 3, 3), matrix(2, 3, seed=5)]),
    ],
    "linalg_ormqr": [
        (lambda a, t, b: la.ormqr(a, t[0], b), [matrix(4, 3), matrix(1, 2, seed=5), matrix(4, 2, seed=6)]),
        (
            lambda a, t, b: la.ormqr(a, t[0], b, left=False),
            [matrix(3, 2), matrix(1, 2, seed=5), matrix(2, 1, 3, seed=6)],
        ),
        (
            lambda a, t, b: la.ormqr(a, t, b, transpose=True),
            [matrix(2, 3, 3), matrix(2, 2, seed=5), matrix(3, 2, seed=6)],
        ),
    ],
    "linalg_ldl_solve": [
        (
            lambda b: la.ldl_solve(*la.ldl_factor(1 - 2 * lm.eye(3, dtype=b.dtype, device=b.device)), b),
            [matrix(2, 3, 2)],
        ),
    ],
    "linalg_lstsq": [
        (lambda a, b: la.lstsq(a, b)[:2], [matrix(4, 2), matrix(4, 2, seed=5)]),
        (lambda a, b: la.lstsq(a, b[0])[:2], [matrix(2, 2, 3), matrix(1, 2, seed=5)]),
        (lambda a, b: la.lstsq(low_rank(a), b, rtol=1e-9)[0], [matrix(3, 2), matrix(3, 1, seed=5)]),
        (lambda a, b: la.lstsq(a, b, driver="gels")[0], [matrix(2, 2), matrix(3, 2, 1, seed=5)]),
    ],
    "linalg_matrix_exp": [
        (la.matrix_exp, [matrix(3, 3)]),
        (lambda a: la.matrix_exp(a * lm.asarray([[[0.1]], [[2.0]]], dtype="float64").to(a.device)), [matrix(2, 2, 2)]),
    ],
    "linalg_matrix_sqrth": [(lambda a: la.matrix_sqrth(definite(a)), [matrix(*s)]) for s in ((3, 3), (2, 2, 2))],
    "linalg_polar": [(la.polar, [matrix(*s)]) for s in ((3, 3), (4, 2), (2, 2, 2))]
    + [(lambda a: la.polar(a).U, [matrix(3, 2)]), (lambda a: la.polar(a).H, [matrix(3, 2)])],
    "linalg_matrix_power": [(lambda a, n=n: la.matrix_power(a, n), [matrix(2, 2)]) for n in (0, 3, -2)],
    "linalg_vector_norm": [
        (lambda a, o=o: la.vector_norm(a, axis=1, ord=o), [matrix(2, 3)]) for o in (2, 1, 3, 0.5, -1, 0, float("inf"))
    ],
    "linalg_matrix_norm": [
        (lambda a, o=o: la.matrix_norm(a, ord=o, keepdims=True), [matrix(2, 2, 3)])
        for o in ("fro", "nuc", 2, -2, 1, float("-inf"))
    ],
    "fft_c2c": [(lambda a: spectrum(a, 5), [matrix(5, 3)])],
    "fft_r2c": [
        (lambda a: lm.fft.irfft(lm.fft.rfft(a * a, n=5, norm="ortho"), n=5, norm="forward"), [matrix(2, 4)]),
        (lambda a: lm.fft.hfft(lm.fft.ihfft(a * a), n=3), [matrix(2, 3)]),
        (lambda a: lm.fft.irfftn(lm.fft.rfftn(a * a), s=(2, 3)), [matrix(2, 4)]),
    ],
    "fft_c2r": [
        (lambda a: spectrum(a, 4), [matrix(4, 3)]),
        (lambda a: lm.fft.hfft(lm.fft.fft(a * a), n=7), [matrix(2, 3)]),
        (lambda a: lm.fft_c2r(lm.fft.fft(a * a), 6, 1, doubled=False), [matrix(2, 4)]),
    ],
    "stft": [
        (lambda a, w: lm.view_as_real(lm.stft(a * a, 4, 2, 3, w[0] * w[0])), [matrix(2, 7), matrix(1, 3, seed=5)]),
        (
            lambda a: lm.view_as_real(lm.stft(a * a, 3, 1, center=False, onesided=False, normalized=True)),
            [matrix(1, 5)],
        ),
    ],
    "istft": [
        (
            lambda a, w: lm.istft(lm.fft.fft(a * a, axis=0), 4, 2, 3, 2 + w[0] * w[0]),
            [matrix(3, 4), matrix(1, 3, seed=5)],
        ),
        (lambda a: lm.istft(lm.fft.fft(a * a, axis=0), 4, 1, center=False, length=8), [matrix(4, 3)]),
    ],
}

LINALG_WITHOUT_GRADIENT = {"linalg_matrix_rank", "linalg_ldl_factor_ex", "linalg_geqrf"}


def well(a: lm.Tensor) -> lm.Tensor:
    """a, made a matrix that is far from singular, and whose values are apart."""
    return a + 4 * lm.eye(*a.shape[-2:], dtype=a.dtype) * lm.arange(1.0, a.shape[-1] + 1, dtype=a.dtype)


SQUARE = (3, 3)

# For vmap: functions and the shapes of one example.
LINALG_EXAMPLES: dict[str, list[tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]]] = {
    "vecdot": [(lm.vecdot, ((2, 3), (3,)))],
    "dot": [(lm.dot, ((3,), (3,)))],
    "outer": [(lm.outer, ((3,), (2,)))],
    "kron": [(lm.kron, ((2, 2), (3,)))],
    "cross": [(lm.cross, ((2, 3), (3,)))],
    "tensordot": [(lambda a, b: lm.tensordot(a, b, axes=1), ((2, 3), (3, 2)))],
    "einsum": [(lambda a, b: lm.einsum("ii,ij->j", a, b), (SQUARE, (3, 2)))],
    "diagonal": [(lambda a: lm.diagonal(a, offset=1, axis1=0, axis2=1), ((2, 3, 2),))],
    "trace": [(lm.trace, ((2, 3, 2),))],
    "linalg_cholesky": [(lambda a: la.cholesky(definite(a)), (SQUARE,))],
    "linalg_cholesky_ex": [
        (lambda a: la.cholesky_ex(definite(a)).L, (SQUARE,)),
        (lambda a: la.cholesky_ex(a - a).info, (SQUARE,)),
    ],
    "linalg_cholesky_solve": [
        (lambda b, a: la.cholesky_solve(b, well(a), upper=True), ((2, 3, 2), SQUARE)),
    ],
    "linalg_cholesky_inverse": [(lambda a: la.cholesky_inverse(well(a)), (SQUARE,))],
    "linalg_qr": [(lambda a: la.qr(well(a)), ((3, 2),)), (lambda a: la.qr(well(a)), ((2, 3),))],
    "linalg_eigh": [(lambda a: eigh_parts(well(a)), (SQUARE,))],
    "linalg_eigvalsh": [(lambda a: la.eigvalsh(symmetric(a)), (SQUARE,))],
    "linalg_eig": [(lambda a: eig_parts(well(a)), (SQUARE,))],
    "linalg_eigvals": [(lambda a: lm.real(la.eigvals(well(a))), (SQUARE,))],
    "linalg_svd": [(lambda a: svd_parts(well(a)), ((3, 2),)), (lambda a: svd_parts(well(a)), ((2, 3),))],
    "linalg_svdvals": [(lambda a: la.svdvals(well(a)), ((2, 3),))],
    "linalg_solve": [
        (lambda a, b: la.solve(well(a), b), (SQUARE, (3, 2))),
        (lambda a, b: la.solve(well(a), b), (SQUARE, (3,))),
    ],
    "linalg_solve_ex": [
        (lambda a, b: la.solve_ex(well(a), b).result, (SQUARE, (3, 2))),
        (lambda a, b: la.solve_ex(a - a, b).info, (SQUARE, (2, 3, 2))),
    ],
    "linalg_inv_ex": [
        (lambda a: la.inv_ex(well(a)).inverse, (SQUARE,)),
        (lambda a: la.inv_ex(lm.tril(a, k=-1)).info, (SQUARE,)),
    ],
    "linalg_solve_triangular": [
        (lambda a, b: la.solve_triangular(well(a), b, upper=False), (SQUARE, (2, 3, 2))),
    ],
    "linalg_inv": [(lambda a: la.inv(well(a)), (SQUARE,))],
    "linalg_det": [(la.det, (SQUARE,))],
    "linalg_slogdet": [(lambda a: la.slogdet(well(a))[1], (SQUARE,)), (lambda a: la.slogdet(a)[0], (SQUARE,))],
    "linalg_pinv": [
        (lambda a: la.pinv(well(a)), ((2, 3),)),
        (lambda a: la.pinv(well(symmetric(a)), hermitian=True), (SQUARE,)),
    ],
    "linalg_lu_factor": [(lambda a: la.lu_factor(well(a)), ((3, 2),)), (lambda a: la.lu_factor(well(a)), ((2, 3),))],
    "linalg_lu": [(lambda a: la.lu(a), ((3, 2),))],
    "linalg_lu_unpack": [(lambda a: la.lu_unpack(*la.lu_factor(well(a))), ((3, 2),))],
    "linalg_lu_solve": [(lambda a, b: la.lu_solve(*la.lu_factor(well(a)), b), (SQUARE, (2, 3, 2)))],
    "linalg_householder_product": [(la.householder_product, ((2, 4, 3), (2, 2)))],
    "linalg_ormqr": [(la.ormqr, ((2, 4, 3), (2, 2), (4, 1)))],
    "linalg_geqrf": [(la.geqrf, (SQUARE,)), (la.geqrf, ((2, 3, 2),))],
    "linalg_ldl_factor_ex": [
        (lambda a: la.ldl_factor_ex(symmetric(well(a)))[:2], (SQUARE,)),
        (lambda a: la.ldl_factor_ex(a - a).info, (SQUARE,)),
    ],
    "linalg_ldl_solve": [
        (lambda a, b: la.ldl_solve(*la.ldl_factor(symmetric(well(a))), b), (SQUARE, (2, 3, 2))),
    ],
    "linalg_lstsq": [
        (lambda a, b: la.lstsq(well(a), b)[:2], ((3, 2), (3, 2))),
        (lambda a, b: la.lstsq(well(a), b, driver="gelsd"), ((2, 3), (2,))),
    ],
    "linalg_matrix_exp": [(la.matrix_exp, (SQUARE,))],
    "linalg_matrix_sqrth": [(lambda a: la.matrix_sqrth(definite(a)), (SQUARE,))],
    "linalg_polar": [(lambda a: la.polar(well(a)), ((3, 2),))],
    "linalg_matrix_rank": [(la.matrix_rank, ((2, 3),))],
    "linalg_matrix_power": [(lambda a: la.matrix_power(a, 2), (SQUARE,)), (lambda a: la.matrix_power(a, 0), (SQUARE,))],
    "linalg_vector_norm": [(la.vector_norm, ((2, 3),)), (lambda a: la.vector_norm(a, axis=0, ord=3), ((2, 3),))],
    "linalg_matrix_norm": [(la.matrix_norm, ((2, 3),)), (lambda a: la.matrix_norm(well(a), ord=2), ((2, 3),))],
    "fft_c2c": [(lambda a: spectrum(a, 4), ((4, 3),))],
    "fft_r2c": [(lambda a: spectrum(a, 5), ((5, 2),))],
    "fft_c2r": [(lambda a: lm.fft.hfft(lm.fft.rfft(a, n=6)), ((2, 4),))],
    "stft": [(lambda a, w: lm.view_as_real(lm.stft(a, 4, 2, window=w)), ((2, 6), (4,)))],
    "istft": [(lambda a, w: lm.istft(lm.fft.rfft(a, axis=0), 4, 2, window=3 + w * w), ((4, 3), (4,)))],
}
