"""lamella.linalg against numpy and the definitions, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .matrices import DTYPES, SHAPES, close, draw, hermitian, mh, real, regular

la = lm.linalg
SQUARE = ((1, 1), (2, 2), (3, 3), (2, 3, 3), (2, 2, 5, 5), (70, 70), (3, 40, 40))
EMPTY = ((0, 0), (0, 3), (3, 0), (0, 2, 2), (2, 0, 0), (0, 3, 2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_square_matrices(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a = regular(shape, dtype, rng)
    x = lm.asarray(a)
    wide = a.astype("complex128")
    close(la.inv(x), np.linalg.inv(wide), dtype)
    sign, logarithm = la.slogdet(x)
    expected_sign, expected_log = np.linalg.slogdet(wide)
    close(sign, expected_sign, dtype)
    close(logarithm, expected_log, dtype)
    small = a[..., :3, :3]
    close(la.det(lm.asarray(small)), np.linalg.det(small.astype("complex128")), dtype)
    b = draw((*shape[:-1], 3), dtype, rng)
    close(la.solve(x, lm.asarray(b)), np.linalg.solve(wide, b), dtype)
    close(
        la.solve(x, lm.asarray(b[..., 0].ravel()[: shape[-1]])),
        np.linalg.solve(wide, b[..., 0].ravel()[: shape[-1]]),
        dtype,
    )
    for upper in (True, False):
        part = np.triu(a) if upper else np.tril(a)
        close(la.solve_triangular(x, lm.asarray(b), upper=upper), np.linalg.solve(part.astype("complex128"), b), dtype)
    assert la.inv(x).dtype.name == dtype and logarithm.dtype.name == real(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_hermitian_matrices(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a = hermitian(shape, dtype, rng)
    w, v = la.eigh(lm.asarray(a))
    assert (w.dtype.name, v.dtype.name) == (real(dtype), dtype)
    close(w, np.linalg.eigvalsh(a.astype("complex128")), dtype)
    vn = v.numpy()
    close((vn * w.numpy()[..., None, :]) @ mh(vn), a, dtype)
    close(mh(vn) @ vn, np.broadcast_to(np.eye(shape[-1]), shape), dtype)
    close(la.eigvalsh(lm.asarray(a)), w.numpy(), dtype)
    definite = a @ mh(a) + np.eye(shape[-1]).astype(dtype)
    lower = la.cholesky(lm.asarray(definite)).numpy()
    close(lower @ mh(lower), definite, dtype)
    np.testing.assert_array_equal(lower, np.tril(lower))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 0), *SQUARE], ids=str)
def test_eigenvalues_of_any_matrix(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a = draw(shape, dtype, rng)
    w, v = la.eig(lm.asarray(a))
    assert w.dtype.name == v.dtype.name == ("complex64" if real(dtype) == "float32" else "complex128")
    vn = v.numpy()
    close(a @ vn, vn * w.numpy()[..., None, :], dtype)
    close(np.linalg.norm(vn, axis=-2), np.ones(shape[:-1]), dtype)
    close(la.eigvals(lm.asarray(a)).numpy().sum(-1), np.trace(a, 0, -2, -1), dtype)


def test_only_lower_triangles_are_read(rng: np.random.Generator) -> None:
    a = hermitian((4, 4), "float64", rng)
    a = a @ a.T + np.eye(4)
    damaged = np.tril(a) + np.triu(np.full((4, 4), np.inf), 1)
    damaged = np.where(np.isinf(damaged), 1e9, damaged)
    np.testing.assert_allclose(la.cholesky(lm.asarray(damaged)).numpy(), np.linalg.cholesky(a), rtol=1e-10)
    np.testing.assert_allclose(la.eigvalsh(lm.asarray(damaged)).numpy(), np.linalg.eigvalsh(a), rtol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_matrices(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a = draw(shape, dtype, rng)
    x = lm.asarray(a)
    m, n = shape[-2:]
    k = min(m, n)
    singular = np.linalg.svd(a.astype("complex128"), compute_uv=False)
    for full in (True, False):
        u, s, vh = (part.numpy() for part in la.svd(x, full_matrices=full))
        assert (u.shape[-2:], s.shape[-1], vh.shape[-2:]) == (((m, m), k, (n, n)) if full else ((m, k), k, (k, n)))
        close(s, singular, dtype)
        close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, dtype)
        close(mh(u) @ u, np.broadcast_to(np.eye(u.shape[-1]), (*shape[:-2], u.shape[-1], u.shape[-1])), dtype)
        close(vh @ mh(vh), np.broadcast_to(np.eye(vh.shape[-2]), (*shape[:-2], vh.shape[-2], vh.shape[-2])), dtype)
    close(la.svdvals(x), singular, dtype)
    for mode in ("reduced", "complete"):
        q, r = (part.numpy() for part in la.qr(x, mode=mode))
        count = k if mode == "reduced" else m
        assert (q.shape[-2:], r.shape[-2:]) == ((m, count), (count, n))
        close(q @ r, a, dtype)
        close(mh(q) @ q, np.broadcast_to(np.eye(count), (*shape[:-2], count, count)), dtype)
        np.testing.assert_array_equal(r, np.triu(r))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", EMPTY, ids=str)
def test_nothing_in_nothing_out(shape: tuple[int, ...], dtype: str) -> None:
    a = np.zeros(shape, dtype)
    x = lm.asarray(a)
    for mode in ("reduced", "complete"):
        for got, expected in zip(la.qr(x, mode=mode), np.linalg.qr(a, mode), strict=True):
            np.testing.assert_array_equal(got.numpy(), expected)
    for full in (True, False):
        for got, expected in zip(la.svd(x, full_matrices=full), np.linalg.svd(a, full), strict=True):
            np.testing.assert_array_equal(got.numpy(), expected)
    if shape[-1] == shape[-2]:
        for f, g in ((la.inv, np.linalg.inv), (la.det, np.linalg.det), (la.cholesky, np.linalg.cholesky)):
            np.testing.assert_array_equal(f(x).numpy(), g(a))
        assert la.solve(x, x).shape == shape and la.eigh(x).eigenvectors.shape == shape


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pinv_rank_and_least_squares(dtype: str, rng: np.random.Generator) -> None:
    a = draw((2, 6, 4), dtype, rng)
    a[1, :, 3] = a[1, :, 0]
    x = lm.asarray(a)
    np.testing.assert_array_equal(la.matrix_rank(x).numpy(), [4, 3])
    np.testing.assert_array_equal(la.matrix_rank(x, rtol=2.0).numpy(), [0, 0])
    np.testing.assert_array_equal(la.matrix_rank(x, rtol=lm.asarray([2.0, 1e-3])).numpy(), [0, 3])
    close(la.pinv(x), np.linalg.pinv(a, rtol=1e-5), dtype)
    b = draw((6, 2), dtype, rng)
    got = la.lstsq(x[0], lm.asarray(b), driver="gelsd")
    solution, residuals, rank, singular = np.linalg.lstsq(a[0].astype("float64"), b, rcond=None)
    close(got.solution, solution, dtype)
    close(got.residuals, residuals, dtype)
    assert got.rank.item() == rank
    close(got.singular_values, singular, dtype)
    close(la.lstsq(x[0], lm.asarray(b[:, 0])).solution, solution[:, 0], dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_norms(dtype: str, rng: np.random.Generator) -> None:
    a = draw((2, 3, 4), dtype, rng)
    x = lm.asarray(a)
    for order in (2, 1, 0, 3, 0.5, -1, np.inf, -np.inf):
        for axis in (None, 0, (0, 2), -1):
            got = la.vector_norm(x, axis=axis, ord=order, keepdims=True)
            close(got, np.linalg.vector_norm(a.astype("float64"), axis=axis, ord=order, keepdims=True), dtype)
            assert got.dtype.name == dtype
    for order in ("fro", None, "nuc", 2, -2, 1, -1, np.inf, -np.inf):
        for keepdims in (False, True):
            expected = np.linalg.matrix_norm(a.astype("float64"), ord=order or "fro", keepdims=keepdims)
            close(la.matrix_norm(x, ord=order, keepdims=keepdims), expected, dtype)
    zero = lm.tensor([0.0, 0.0], stop_gradient=False)
    la.vector_norm(zero).backward()
    np.testing.assert_array_equal(zero.grad.numpy(), [0, 0])


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_products(dtype: str, rng: np.random.Generator) -> None:
    def numbers(*shape: int) -> np.ndarray:
        return rng.integers(-4, 5, shape).astype(dtype)

    a, b, c = numbers(2, 3), numbers(4, 2, 3), numbers(3)
    x, y, z = lm.asarray(a), lm.asarray(b), lm.asarray(c)
    for got, expected in (
        (lm.vecdot(y, x), (b * a).sum(-1)),
        (lm.vecdot(y, lm.asarray(b[0]), axis=-2), (b * b[0]).sum(-2)),
        (lm.dot(z, z), np.dot(c, c)),
        (lm.outer(z, x[0]), np.outer(c, a[0])),
        (lm.kron(x, y), np.kron(a, b)),
        (lm.cross(y, z), np.cross(b, c)),
        (lm.cross(lm.asarray(b.swapaxes(1, 2)), lm.asarray(a.T), axis=-2), np.cross(b.swapaxes(1, 2), a.T, axis=-2)),
        (lm.tensordot(x, y, axes=([1], [2])), np.tensordot(a, b, ([1], [2]))),
        (lm.tensordot(y, x, axes=2), np.tensordot(b, a, 2)),
        (lm.tensordot(x, z, axes=0), np.tensordot(a, c, 0)),
        (lm.trace(y, offset=1, dtype=dtype), np.trace(b, 1, -2, -1, dtype)),
        (lm.diagonal(y, offset=-1), np.diagonal(b, -1, -2, -1)),
        (lm.diagonal(y, offset=9), np.diagonal(b, 9, -2, -1)),
        (la.matrix_power(lm.asarray(b[:, :, :2]), 3), np.linalg.matrix_power(b[:, :, :2], 3)),
        (la.matrix_power(lm.asarray(b[:, :, :2]), 0), np.linalg.matrix_power(b[:, :, :2], 0)),
    ):
        assert got.dtype.name == dtype
        np.testing.assert_array_equal(got.numpy(), expected)


def test_det_has_a_gradient_where_it_is_zero(rng: np.random.Generator) -> None:
    values = rng.normal(size=(2, 3, 3))
    values[0, 2] = values[0, 0] + values[0, 1]
    values[0, 2] = np.round(values[0, 2], 3)
    singular = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    values[0] = singular
    x = lm.tensor(values, stop_gradient=False)
    assert la.det(x)[0].item() == 0
    la.det(x).sum().backward()
    cofactors = np.array(
        [
            [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(singular, i, 0), j, 1)) for j in range(3)]
            for i in range(3)
        ]
    )
    np.testing.assert_allclose(x.grad.numpy()[0], cofactors, atol=1e-12)
    np.testing.assert_allclose(x.grad.numpy()[1], np.linalg.det(values[1]) * np.linalg.inv(values[1]).T, atol=1e-12)
    zeros = lm.tensor(np.zeros((3, 3)), stop_gradient=False)
    la.det(zeros).backward()
    np.testing.assert_array_equal(zeros.grad.numpy(), np.zeros((3, 3)))


def test_full_singular_vectors_leave_values_their_gradient(rng: np.random.Generator) -> None:
    values = rng.normal(size=(2, 4))
    full, reduced = (lm.tensor(values, stop_gradient=False) for _ in range(2))
    la.svd(full).S.sum().backward()
    la.svdvals(reduced).sum().backward()
    np.testing.assert_allclose(full.grad.numpy(), reduced.grad.numpy(), rtol=1e-12)
    with pytest.raises(RuntimeError, match="full_matrices=False"):
        la.svd(lm.tensor(values, stop_gradient=False)).Vh.sum().backward()
    full, reduced = (lm.tensor(values, stop_gradient=False) for _ in range(2))
    for x, whole in ((full, True), (reduced, False)):
        found = la.svd(x, full_matrices=whole)
        (lm.square(found.U[0, 0]) + lm.square(found.Vh[0, 0])).backward()
    np.testing.assert_allclose(full.grad.numpy(), reduced.grad.numpy(), rtol=1e-12)
    with pytest.raises(RuntimeError, match="mode='reduced'"):
        la.qr(lm.tensor(values.T, stop_gradient=False), mode="complete").Q.sum().backward()


SINGULAR = np.array([np.eye(2), [[1.0, 1.0], [1.0, 1.0]]])
NOT_FINITE = np.array([[1.0, np.nan], [np.inf, 1.0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: la.inv(lm.asarray(SINGULAR)), ValueError, r"\[linalg_inv\] matrix 1 of the batch is singular"),
        (
            lambda: la.solve(lm.asarray(SINGULAR[1]), lm.ones([2], dtype="float64")),
            ValueError,
            "the matrix is singular",
        ),
        (lambda: la.cholesky(lm.asarray(-SINGULAR)), ValueError, "matrix 0 of the batch is not positive definite"),
        (lambda: la.eigh(lm.asarray(NOT_FINITE)), ValueError, "not finite"),
        (lambda: la.svd(lm.asarray(NOT_FINITE)), ValueError, "not finite"),
        (lambda: la.inv(lm.ones([2, 3])), ValueError, r"square matrices, got shape \[2, 3\]"),
        (lambda: la.det(lm.ones([3])), ValueError, "at least two axes"),
        (lambda: la.qr(lm.ones([2, 2], dtype="int64")), TypeError, "linalg_qr.*int64"),
        (lambda: la.qr(lm.ones([2, 2]), mode="raw"), ValueError, "'reduced' or 'complete', got 'raw'"),
        (lambda: la.solve(lm.ones([2, 2]), lm.ones([3])), ValueError, "linalg_solve"),
        (lambda: la.solve(lm.ones([2, 2, 2]), lm.ones([3, 2, 2])), ValueError, "linalg_solve"),
        (lambda: la.solve_triangular(lm.ones([2, 2]), lm.ones([3, 2]), upper=True), ValueError, "left=True"),
        (lambda: la.matrix_norm(lm.ones([2, 2]), ord=3), ValueError, "ord: expected .* got '3'"),
        (lambda: la.matrix_norm(lm.ones([2, 2]), ord="abc"), ValueError, "got 'abc'"),
        (lambda: la.vector_norm(lm.ones([2]), ord=float("nan")), ValueError, "NaN"),
        (lambda: la.vector_norm(lm.ones([2]), axis=1), IndexError, "linalg_vector_norm|axis"),
        (lambda: la.matrix_power(lm.ones([2, 3]), 2), ValueError, "square"),
        (lambda: la.norm(lm.ones([2, 2, 2]), ord=1), ValueError, r"\[norm\] with ord and without axis"),
        (lambda: la.norm(lm.ones([2, 2]), ord="fro", axis=1), ValueError, r"\[norm\] ord 'fro' is of matrices"),
        (lambda: la.norm(lm.ones([2, 2, 2]), ord=1, axis=(0, 1, 2)), ValueError, r"\[norm\] axis: one axis"),
        (lambda: la.norm(lm.ones([2, 2]), ord=1, axis=(0, 2)), IndexError, "axis 2"),
        (lambda: la.cond(lm.ones([3])), ValueError, r"\[cond\]"),
        (lambda: la.multi_dot([lm.ones([2, 2])]), ValueError, r"\[multi_dot\] takes at least two tensors, got 1"),
        (lambda: la.multi_dot([lm.ones([2, 3]), lm.ones([2, 3])]), ValueError, r"tensors 0 and 1 do not fit"),
        (lambda: la.multi_dot([lm.ones([2, 3]), lm.ones([3]), lm.ones([3])]), ValueError, "tensor 1 has the shape"),
        (lambda: lm.cross(lm.ones([2]), lm.ones([2])), ValueError, r"\[cross\] needs vectors of 3"),
        (lambda: lm.outer(lm.ones([2, 2]), lm.ones([2])), ValueError, r"\[outer\] needs two vectors"),
        (lambda: lm.vecdot(lm.ones([2]), lm.ones([3])), ValueError, r"\[vecdot\]"),
        (lambda: lm.vecdot(lm.ones([2], dtype="bool"), lm.ones([2])), TypeError, "vecdot"),
        (lambda: lm.tensordot(lm.ones([2]), lm.ones([2]), axes=2), ValueError, r"\[tensordot\] axes: 2 pairs"),
        (lambda: lm.tensordot(lm.ones([2]), lm.ones([3]), axes=1), ValueError, "different lengths"),
        (lambda: lm.tensordot(lm.ones([2, 2]), lm.ones([2, 2]), axes=([0, 0], [0, 1])), ValueError, "tensordot"),
        (lambda: lm.diagonal(lm.ones([2, 2]), axis1=1), ValueError, "both axis 1"),
        (lambda: lm.trace(lm.ones([2])), ValueError, "two axes"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_meta_gives_shapes() -> None:
    x = lm.ones([2, 3, 3], device="meta")
    u, s, vh = la.svd(x)
    assert (u.shape, s.shape, vh.shape) == ((2, 3, 3), (2, 3), (2, 3, 3))
    assert la.solve(x, lm.ones([3, 2], device="meta")).shape == (2, 3, 2)
    assert la.det(x).shape == (2,) and la.eigh(x).eigenvalues.shape == (2, 3)


def test_views_are_read_where_they_lie(rng: np.random.Generator) -> None:
    a = regular((2, 4, 4), "float64", rng)
    x = lm.asarray(a)
    for view, array in ((x.mT, a.swapaxes(1, 2)), (x[::-1], a[::-1]), (x[:, ::2, ::2], a[:, ::2, ::2])):
        np.testing.assert_allclose(la.inv(view).numpy(), np.linalg.inv(array), atol=1e-12)
        np.testing.assert_allclose(la.det(view).numpy(), np.linalg.det(array), rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_batches_are_the_same_on_any_number_of_threads(threads: int, rng: np.random.Generator) -> None:
    x = lm.asarray(regular((50, 30, 30), "float64", rng))
    before = lm.get_num_threads()
    expected = la.inv(x).numpy()
    try:
        lm.set_num_threads(threads)
        np.testing.assert_array_equal(la.inv(x).numpy(), expected)
    finally:
        lm.set_num_threads(before)


def complex_leaf(*shape: int, seed: int = 4) -> lm.Tensor:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    k = min(shape[-2:])
    values[..., :k, :k] += np.diag(np.arange(1.0, k + 1))
    return lm.tensor(values, stop_gradient=False)


def projectors(v: lm.Tensor) -> lm.Tensor:
    """v[:, i] v[:, i]^H for each i: what phases do not change."""
    columns = v.mT[..., None]
    return columns @ lm.conj(columns.mT)


def adjoint(x: lm.Tensor) -> lm.Tensor:
    return lm.conj(x).mT


def hermitian_product(a: lm.Tensor) -> lm.Tensor:
    return a @ adjoint(a) + lm.eye(a.shape[-2], dtype="complex128")


def singular_parts(a: lm.Tensor) -> list[lm.Tensor]:
    u, s, vh = la.svd(a, full_matrices=False)
    return [s, projectors(u), projectors(adjoint(vh)), (u * s[..., None, :] * s[..., None, :]) @ vh]


def eigen_parts(a: lm.Tensor) -> list[lm.Tensor]:
    w, v = la.eigh(hermitian_product(a))
    return [w, projectors(v)]


COMPLEX_CALLS: dict[str, tuple[Callable[..., Any], list[lm.Tensor]]] = {
    "matmul": (lm.matmul, [complex_leaf(2, 3), complex_leaf(3, 2, seed=5)]),
    "vecdot": (lm.vecdot, [complex_leaf(2, 3), complex_leaf(2, 3, seed=5)]),
    "einsum": (lambda a, b: lm.einsum("ij,ij->j", a, b), [complex_leaf(2, 3), complex_leaf(2, 3, seed=5)]),
    "cholesky": (lambda a: la.cholesky(hermitian_product(a)), [complex_leaf(3, 3)]),
    "cholesky upper": (lambda a: la.cholesky(hermitian_product(a), upper=True), [complex_leaf(2, 2)]),
    "qr": (la.qr, [complex_leaf(3, 2)]),
    "qr wide": (la.qr, [complex_leaf(2, 3)]),
    "eigh": (eigen_parts, [complex_leaf(3, 3)]),
    "eigvalsh": (lambda a: la.eigvalsh(hermitian_product(a)), [complex_leaf(3, 3)]),
    "svd": (singular_parts, [complex_leaf(3, 2)]),
    "svd wide": (singular_parts, [complex_leaf(2, 3)]),
    "svdvals": (la.svdvals, [complex_leaf(2, 3)]),
    "solve": (la.solve, [complex_leaf(2, 3, 3), complex_leaf(3, 2, seed=5)]),
    "solve_triangular": (
        lambda a, b: la.solve_triangular(a, b, upper=True),
        [complex_leaf(3, 3), complex_leaf(3, 2, seed=5)],
    ),
    "inv": (la.inv, [complex_leaf(3, 3)]),
    "det": (la.det, [complex_leaf(2, 3, 3)]),
    "slogdet": (la.slogdet, [complex_leaf(3, 3)]),
    "pinv": (la.pinv, [complex_leaf(3, 2)]),
    "vector_norm": (la.vector_norm, [complex_leaf(2, 3)]),
    "matrix_norm": (lambda a: la.matrix_norm(a, ord=1), [complex_leaf(2, 3)]),
    "fft": (lm.fft.fft, [complex_leaf(2, 5)]),
    "irfft": (lambda a: lm.fft.irfft(a * a, n=7), [complex_leaf(2, 5)]),
    "hfft": (lambda a: lm.fft.hfft(a * a), [complex_leaf(2, 3)]),
}


@pytest.mark.parametrize("name", COMPLEX_CALLS)
def test_complex_gradients(name: str) -> None:
    call, inputs = COMPLEX_CALLS[name]
    assert lm.autograd.gradcheck(call, inputs, atol=1e-6, rtol=1e-5, check_forward_ad=True)
    assert lm.autograd.gradgradcheck(call, inputs, atol=1e-5, rtol=1e-5)


def test_complex_det_at_a_singular_matrix() -> None:
    singular = np.array([[1.0, 2j, 3.0], [2.0, 4j, 6.0], [1.0, 0.0, 1j]])
    x = lm.tensor(singular, stop_gradient=False)
    lm.real(la.det(x)).backward()
    cofactors = np.array(
        [
            [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(singular, i, 0), j, 1)) for j in range(3)]
            for i in range(3)
        ]
    )
    np.testing.assert_allclose(x.grad.numpy(), cofactors.conj(), atol=1e-12)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_products(dtype: str, rng: np.random.Generator) -> None:
    a, b, c = draw((4, 2, 3), dtype, rng), draw((2, 3), dtype, rng), draw((3,), dtype, rng)
    x, y, z = lm.asarray(a), lm.asarray(b), lm.asarray(c)
    for got, expected in (
        (x @ y.mT, a @ b.T),
        (x.mT @ y, a.swapaxes(1, 2) @ b),
        (y @ z, b @ c),
        (lm.vecdot(x, z), np.vecdot(a, c)),
        (lm.tensordot(y, x, axes=([1], [2])), np.tensordot(b, a, ([1], [2]))),
        (lm.einsum("bij,ij,j->bi", x, y, z), np.einsum("bij,ij,j->bi", a, b, c)),
        (lm.outer(z, y[0]), np.outer(c, b[0])),
        (lm.kron(y, z), np.kron(b, c)),
        (lm.cross(x, z), np.cross(a, c)),
        (lm.trace(x), np.trace(a, 0, -2, -1)),
        (la.vector_norm(x, axis=-1, ord=3), np.linalg.vector_norm(a, axis=-1, ord=3)),
        (la.matrix_norm(x), np.linalg.matrix_norm(a)),
        (la.matrix_norm(x, ord="nuc"), np.linalg.matrix_norm(a, ord="nuc")),
        (la.pinv(x), np.linalg.pinv(a)),
    ):
        close(got, expected, dtype)
        assert got.dtype.name in (dtype, real(dtype))


@pytest.mark.parametrize("shape", [(0, 0, 0), (2, 0, 0), (2, 0, 3), (0, 0, 3)])
def test_solve_of_nothing(shape: tuple[int, ...]) -> None:
    assert la.solve(lm.zeros([0, 0]), lm.zeros(shape)).shape == shape
