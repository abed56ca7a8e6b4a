"""Equations of lamella.linalg by factors and of tensors, and results that say which matrices have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import lamella as lm

from .matrices import DTYPES, close, draw, hermitian, mh, real, regular

la = lm.linalg
MATRICES = ((1, 1), (3, 3), (2, 3, 3), (0, 2, 2), (2, 0, 0), (40, 40))


def definite(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    a = draw(shape, dtype, rng)
    return a @ mh(a) + np.eye(shape[-1]).astype(dtype)


def with_triangle(a: np.ndarray, upper: bool) -> np.ndarray:
    """a, with NaN in the other triangle."""
    nan = np.full(a.shape, np.nan)
    return a + (np.tril(nan, -1) if upper else np.triu(nan, 1)).astype(a.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_one_triangle_is_read(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a = hermitian(shape, dtype, rng)
    values = np.linalg.eigvalsh(a)
    for name, upper in (("L", False), ("U", True), ("l", False), ("u", True)):
        x = lm.asarray(with_triangle(a, upper))
        w, v = (part.numpy() for part in la.eigh(x, UPLO=name))
        close(w, values, dtype)
        close((v * w[..., None, :]) @ mh(v), a, dtype)
        close(la.eigvalsh(x, UPLO=name), values, dtype)
    d = definite(shape, dtype, rng)
    for upper in (False, True):
        x = lm.asarray(with_triangle(d, upper))
        factor = la.cholesky(x, upper=upper).numpy()
        close(mh(factor) @ factor if upper else factor @ mh(factor), d, dtype)
        got, info = la.cholesky_ex(x, upper=upper)
        np.testing.assert_array_equal(got.numpy(), factor)
        assert info.dtype.name == "int32" and info.shape == shape[:-2] and not info.numpy().any()


def test_gradients_of_one_triangle_are_hermitian(rng: np.random.Generator) -> None:
    a = hermitian((3, 3), "complex128", rng)
    for call in (
        lambda x, name: la.eigvalsh(x, UPLO=name)[0],
        lambda x, name: lm.real(la.eigh(x, UPLO=name).eigenvectors[0, 1] * lm.conj(la.eigh(x).eigenvectors[1, 1])),
    ):
        gradients = []
        for name in "LU":
            x = lm.tensor(a, stop_gradient=False)
            call(x, name).backward()
            gradients.append(x.grad.numpy())
        np.testing.assert_allclose(gradients[0], gradients[1], atol=1e-12)
        np.testing.assert_allclose(gradients[0], mh(gradients[0]), atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tolerances(dtype: str) -> None:
    a = np.zeros((3, 4, 4), dtype)
    a[0], a[1] = np.diag([8, 4, 2, 1]), np.diag([1, 0.5, 0, 0])
    x = lm.asarray(a)
    for rtol, atol, expected in (
        (None, None, [4, 2, 0]),
        (0.3, None, [2, 2, 0]),
        (None, 1.5, [3, 0, 0]),
        (None, 0.0, [4, 2, 0]),
        (0.3, 0.75, [2, 1, 0]),
        (0.2, 3.0, [2, 0, 0]),
        ([0.3, 0.9, 0.1], None, [2, 1, 0]),
        (None, [5.0, 0.0, 0.0], [1, 2, 0]),
        ([[0.3], [0.6]], [0.0, 0.75, 0.0], [[2, 1, 0], [1, 1, 0]]),
    ):
        given: dict[str, Any] = {
            name: lm.asarray(value, dtype="float64") if isinstance(value, list) else value
            for name, value in (("rtol", rtol), ("atol", atol))
        }
        for hermitian_too in (False, True):
            rank = la.matrix_rank(x, hermitian=hermitian_too, **given)
            np.testing.assert_array_equal(rank.numpy(), expected)
            inverse = la.pinv(x, hermitian=hermitian_too, **given).numpy()
            kept = np.arange(4) < np.asarray(expected)[..., None]
            diagonal = np.broadcast_to(np.diagonal(a, 0, -2, -1), kept.shape)
            wanted = np.where(kept, 1 / np.where(kept, diagonal, 1), 0)[..., None] * np.eye(4)
            close(inverse, wanted, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pseudoinverses_of_hermitian_matrices(dtype: str, rng: np.random.Generator) -> None:
    a = draw((2, 4, 3), dtype, rng)
    low = a @ np.diag([1, -2, 3]).astype(dtype) @ mh(a)
    expected = np.linalg.pinv(low.astype("complex128"), rtol=1e-5)
    x = lm.asarray(with_triangle(low, False))
    close(la.pinv(x, hermitian=True, rtol=1e-5), expected, dtype)
    np.testing.assert_array_equal(la.matrix_rank(x, hermitian=True, rtol=1e-5).numpy(), [3, 3])
    assert la.pinv(lm.zeros([0, 2, 2], dtype=dtype), hermitian=True).shape == (0, 2, 2)
    leaf = lm.tensor(low, stop_gradient=False)
    y = la.pinv(leaf, hermitian=True, rtol=1e-5)
    y.backward(lm.ones_like(y))
    general = lm.tensor(low, stop_gradient=False)
    y = la.pinv(general, rtol=1e-5)
    y.backward(lm.ones_like(y))
    if real(dtype) == "float64":
        np.testing.assert_allclose(leaf.grad.numpy(), general.grad.numpy(), rtol=1e-6, atol=1e-8)
    repeated = lm.tensor(rng.normal(size=(3, 2, 2)), stop_gradient=False)
    lm.sum(la.pinv(repeated, rtol=lm.asarray([[0.0], [0.1]], dtype="float64"))).backward()
    assert repeated.grad.shape == (3, 2, 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_results_without_errors(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a = regular(shape, dtype, rng)
    b = draw((*shape[:-1], 2), dtype, rng)
    x, y = lm.asarray(a), lm.asarray(b)
    for check_errors in (False, True):
        inverse, inverse_info = la.inv_ex(x, check_errors=check_errors)
        close(inverse, np.linalg.inv(a), dtype)
        solution, solution_info = la.solve_ex(x, y, check_errors=check_errors)
        close(solution, np.linalg.solve(a, b), dtype)
        turned = la.solve_ex(x, y.mT, left=False, check_errors=check_errors).result
        close(turned, b.swapaxes(-1, -2) @ np.linalg.inv(a), dtype)
        close(la.solve(x, y.mT, left=False), turned.numpy(), dtype)
        factors = la.lu_factor_ex(x, check_errors=check_errors)
        for got, expected in zip(factors[:2], la.lu_factor(x), strict=True):
            np.testing.assert_array_equal(got.numpy(), expected.numpy())
        for info in (inverse_info, solution_info, factors.info):
            assert info.dtype.name == "int32" and info.shape == shape[:-2] and not info.numpy().any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_without_a_result(dtype: str) -> None:
    a = np.stack([np.eye(3), np.diag([1, 0, 2]), np.zeros((3, 3)), np.diag([1, 2, -3])]).astype(dtype)
    x = lm.asarray(a)
    vector = lm.ones([3], dtype=dtype)
    inverse, info = la.inv_ex(x)
    np.testing.assert_array_equal(info.numpy(), [0, 2, 1, 0])
    np.testing.assert_array_equal(np.isfinite(inverse.numpy()).all((1, 2)), [True, False, False, True])
    solution, info = la.solve_ex(x, vector)
    np.testing.assert_array_equal(info.numpy(), [0, 2, 1, 0])
    np.testing.assert_array_equal(np.isfinite(solution.numpy()).all(1), [True, False, False, True])
    np.testing.assert_array_equal(la.lu_factor_ex(x).info.numpy(), [0, 2, 1, 0])
    np.testing.assert_array_equal(la.cholesky_ex(x).info.numpy(), [0, 2, 1, 3])
    # There is one number for each matrix that was given, not for each it is broadcast to.
    assert la.solve_ex(x[1], lm.ones([2, 5, 3, 1], dtype=dtype)).info.tolist() == 2
    several = la.solve_ex(x[:, None], lm.ones([2, 1, 5, 3, 1], dtype=dtype))
    assert (several.result.shape, several.info.tolist()) == ((2, 4, 5, 3, 1), [[0], [2], [1], [0]])
    assert la.solve_ex(x[:1], lm.ones([0, 3, 1], dtype=dtype)).info.tolist() == [0]
    for call in (
        lambda: la.inv_ex(x, check_errors=True),
        lambda: la.solve_ex(x, vector, check_errors=True),
        lambda: la.lu_factor_ex(x, check_errors=True),
    ):
        with pytest.raises(ValueError, match="singular"):
            call()
    with pytest.raises(ValueError, match="matrix 1 of the batch is not positive definite"):
        la.cholesky_ex(x, check_errors=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_solutions_by_cholesky_factors(dtype: str, rng: np.random.Generator) -> None:
    shapes = (
        ((3, 3), (3, 2)),
        ((2, 1, 3, 3), (4, 3, 1)),
        ((0, 0), (0, 2)),
        ((0, 2, 2), (2, 1)),
        ((135, 135), (135, 1)),
    )
    for shape, right in shapes:
        a, b = definite(shape, dtype, rng), draw(right, dtype, rng)
        for upper in (False, True):
            factor = la.cholesky(lm.asarray(a), upper=upper)
            damaged = lm.asarray(with_triangle(factor.numpy(), upper))
            close(la.cholesky_solve(lm.asarray(b), damaged, upper=upper), np.linalg.solve(a, b), dtype)
            close(la.cholesky_inverse(damaged, upper=upper), np.linalg.inv(a), dtype)


@pytest.mark.parametrize("place", [0, 70, 129])
def test_inverses_of_singular_factors(place: int) -> None:
    factor = lm.eye(130)
    factor[place, place] = 0.0
    for upper in (False, True):
        with pytest.raises(ValueError, match=r"\[linalg_cholesky_inverse\] .*singular"):
            la.cholesky_inverse(factor, upper=upper)


@pytest.mark.parametrize("dtype", DTYPES)
def test_logarithms_of_determinants(dtype: str, rng: np.random.Generator) -> None:
    a = draw((6, 3, 3), dtype, rng)
    a[0] = 0
    got = la.logdet(lm.asarray(a))
    assert got.dtype.name == dtype
    with np.errstate(all="ignore"):
        expected = np.log(np.linalg.det(a.astype("complex128" if dtype.startswith("complex") else "float64")))
    assert got[0].item().real == -np.inf
    np.testing.assert_allclose(got.numpy()[1:], expected[1:], rtol=1e-3 if real(dtype) == "float32" else 1e-10)


@pytest.mark.parametrize("dtype", [*DTYPES, "int32", "int64", "uint8"])
def test_matrices_of_vandermonde(dtype: str, rng: np.random.Generator) -> None:
    a = rng.integers(0, 3, (2, 3)).astype(dtype)
    for count in (None, 0, 1, 2, 5):
        got = la.vander(lm.asarray(a), N=count)
        expected = np.stack([np.vander(row, count, increasing=True) for row in a])
        assert got.dtype == lm.cumulative_prod(lm.asarray(a), axis=-1).dtype
        np.testing.assert_array_equal(got.numpy(), expected)
    assert la.vander(lm.asarray(a)[0, 0], N=3).shape == (1, 3)
    assert la.vander(lm.asarray(a)[0, 0]).tolist() == [[1]]
    assert la.vander(lm.zeros([2, 0]), N=2).shape == (2, 0, 2)
    assert la.vander(lm.zeros([2, 0])).shape == (2, 0, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 4, 3), (0, 3, 2), (3, 0), (0, 0)], ids=str)
def test_products_of_reflections(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a = draw(shape, dtype, rng)
    m, n = shape[-2:]
    for steps in range(n + 1):
        tau = draw((*shape[:-2], steps), dtype, rng)
        tau[..., :1] = 0
        expected = np.broadcast_to(np.eye(m, dtype="complex128"), (*shape[:-2], m, m))
        for i in range(steps):
            v = np.concatenate([np.zeros_like(a[..., :i, i]), np.ones_like(a[..., :1, i]), a[..., i + 1 :, i]], -1)
            turn = tau[..., i, None, None] * v[..., :, None] * np.conj(v)[..., None, :]
            expected = expected @ (np.eye(m) - turn)
        close(la.householder_product(lm.asarray(a), lm.asarray(tau)), expected[..., :n], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (4, 3), (3, 4), (2, 5, 5), (0, 3, 2), (70, 40), (3, 0), (0, 3)], ids=str)
def test_reflections(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    x = draw(shape, dtype, rng)
    a, tau = la.geqrf(lm.asarray(x))
    m, n = shape[-2:]
    assert a.shape == shape and tau.shape == (*shape[:-2], min(m, n)) and a.dtype == tau.dtype == lm.asarray(x).dtype
    if x.size and x.ndim == 2:
        (expected, factors), _ = scipy.linalg.qr(x, mode="raw")
        close(a, np.asarray(expected), dtype)
        close(tau, factors, dtype)
    unit = lm.broadcast_to(lm.eye(m, dtype=a.dtype), [*shape[:-2], m, m])
    q = la.ormqr(a, tau, unit)
    close(q @ lm.triu(a), x, dtype)
    if m >= n:
        close(la.householder_product(a, tau), q.numpy()[..., :n], dtype)
    wanted = {False: q.numpy(), True: mh(q.numpy())}
    for transpose, factor in wanted.items():
        b = draw((*shape[:-2], m, 3), dtype, rng)
        close(la.ormqr(a, tau, lm.asarray(b), transpose=transpose), factor @ b, dtype)
        got = la.ormqr(a, tau, lm.asarray(mh(b)), left=False, transpose=transpose)
        close(got, mh(b) @ factor, dtype)
    assert la.geqrf(lm.tensor(x, stop_gradient=False)).a.stop_gradient


@pytest.mark.parametrize("dtype", DTYPES)
def test_equations_of_tensors(dtype: str, rng: np.random.Generator) -> None:
    for shape, right, axes in (
        ((2, 3, 6), (2, 3), None),
        ((2, 3, 6), (2, 3), (0, 2)),
        ((3, 4, 4, 3), (3, 4), (0, 2)),
        ((4, 2, 2), (2, 2), (0,)),
        ((0, 2, 0), (0, 2), None),
        ((), (), None),
    ):
        a, b = draw(shape, dtype, rng), draw(right, dtype, rng)
        got = la.tensorsolve(lm.asarray(a), lm.asarray(b), axes=axes)
        if shape:
            close(got, np.linalg.tensorsolve(a, b, axes), dtype)
        else:
            close(got, b / a, dtype)
    for shape, first in (((2, 3, 6), 2), ((6, 3, 2), 1), ((4, 2, 3, 4, 6), 3)):
        a = draw(shape, dtype, rng)
        close(la.tensorinv(lm.asarray(a), ind=first), np.linalg.tensorinv(a, first), dtype)
    assert la.tensorinv(lm.zeros([0, 3, 0], dtype=dtype), ind=1).shape == (3, 0, 0)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives(dtype: str, rng: np.random.Generator) -> None:
    def leaf(*shape: int, plus: float = 0.0) -> lm.Tensor:
        values = draw(shape, dtype, rng)
        if plus:
            values = values + plus * np.eye(*shape[-2:])
        return lm.tensor(values, stop_gradient=False)

    def factor(a: lm.Tensor) -> lm.Tensor:
        """The diagonals of Cholesky factors are real."""
        return a - 1j * lm.imag(a) * lm.eye(a.shape[-1], dtype="float64") if dtype == "complex128" else a

    def hermitian_of(a: lm.Tensor) -> lm.Tensor:
        return a + a.mH

    calls: list[tuple[Callable[..., Any], list[lm.Tensor]]] = [
        (la.cholesky_solve, [leaf(3, 2), leaf(2, 3, 3, plus=2)]),
        (lambda b, a: la.cholesky_solve(b, a, upper=True), [leaf(2, 2, 1), leaf(2, 2, plus=2)]),
        (lambda a: la.cholesky_inverse(factor(a)), [leaf(2, 3, 3, plus=4)]),
        (lambda a: la.cholesky_inverse(factor(a), upper=True), [leaf(3, 3, plus=4)]),
        (lambda a: la.logdet(a @ a.mH + lm.eye(3, dtype=dtype)), [leaf(2, 3, 3, plus=2)]),
        (lambda a: la.vander(a * lm.asarray([1.0, 0.0, 1.0], dtype="float64"), N=4), [leaf(2, 3)]),
        (la.householder_product, [leaf(4, 3), leaf(2)]),
        (la.householder_product, [leaf(2, 3, 3), leaf(2, 3)]),
        (la.ormqr, [leaf(3, 2), leaf(2), leaf(3, 2)]),
        (lambda *t: la.ormqr(*t, left=False), [leaf(3, 2), leaf(1), leaf(2, 3)]),
        (lambda *t: la.ormqr(*t, transpose=True), [leaf(2, 3, 3), leaf(2, 2), leaf(2, 3, 1)]),
        (lambda a, b: la.tensorsolve(a, b, axes=(0,)), [leaf(6, 2, 3, plus=0), leaf(2, 3)]),
        (la.tensorinv, [leaf(2, 2, 4)]),
        (lambda a: la.cond(a, p="fro"), [leaf(2, 2, plus=3)]),
        (lambda a: la.pinv(hermitian_of(a), hermitian=True), [leaf(2, 2, 2, plus=2)]),
        (lambda a: la.inv_ex(a).inverse, [leaf(2, 2, plus=2)]),
        (lambda a, b: la.solve_ex(a, b, left=False)[0], [leaf(2, 2, plus=2), leaf(3, 2)]),
        (lambda a: la.lu_factor_ex(a).LU, [leaf(3, 2, plus=2)]),
    ]
    for call, inputs in calls:
        assert lm.autograd.gradcheck(call, inputs, check_forward_ad=True)
        assert lm.autograd.gradgradcheck(call, inputs)


def test_logdet_has_the_gradient_of_an_inverse(rng: np.random.Generator) -> None:
    values = regular((3, 3), "complex128", rng)
    x = lm.tensor(values, stop_gradient=False)
    lm.real(la.logdet(x)).backward()
    np.testing.assert_allclose(x.grad.numpy(), mh(np.linalg.inv(values)), atol=1e-12)


@pytest.mark.parametrize("order", [0, 0.5, 1.5, 3, 3.5, -0.5, -1, -2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_gradients_of_norms_at_zeros(order: float, dtype: str) -> None:
    zeros = lm.tensor(np.zeros(3, dtype), stop_gradient=False)
    la.vector_norm(zeros, ord=order).backward()
    np.testing.assert_array_equal(zeros.grad.numpy(), np.zeros(3))
    x = lm.tensor(np.array([[3.0, 0.0, -4.0], [1.0, 2.0, 2.0]]).astype(dtype), stop_gradient=False)
    norms = la.vector_norm(x, axis=1, ord=order)
    lm.sum(norms).backward()
    values = np.array([[3.0, 0.0, -4.0], [1.0, 2.0, 2.0]])
    expected = np.zeros((2, 3))
    if order:
        rows = [1] if order < 0 else [0, 1]  # the norm is 0 where a negative power is infinite
        for row in rows:
            given = np.abs(values[row])
            positive = np.where(given > 0, given, 1)
            total = np.where(given > 0, positive**order, 0 if order > 0 else np.inf).sum()
            slope = np.where(given > 0, positive ** (order - 1), 0) * total ** (1 / order - 1)
            expected[row] = np.sign(values[row]) * slope
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5)
    assert la.vector_norm(lm.zeros([2, 0], dtype=dtype), axis=0, ord=order).shape == (0,)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: la.eigh(lm.eye(2), UPLO="X"), ValueError, r"\[linalg_eigh\] UPLO: expected 'L' or 'U', got 'X'"),
        (lambda: la.eigvalsh(lm.eye(2), UPLO=""), ValueError, r"\[linalg_eigvalsh\] UPLO"),
        (lambda: la.eigh(lm.eye(2), UPLO=1), TypeError, "UPLO"),
        (lambda: la.pinv(lm.ones([2, 3]), hermitian=True), ValueError, "square"),
        (lambda: la.matrix_rank(lm.ones([2, 3]), hermitian=True), ValueError, "square"),
        (lambda: la.pinv(lm.ones([2, 2, 2]), atol=lm.ones([3])), ValueError, "linalg_pinv"),
        (lambda: la.matrix_rank(lm.ones([2, 2]), atol=lm.ones([2], dtype="bool")), TypeError, "linalg_matrix_rank"),
        (lambda: la.lu(lm.eye(2), pivot=False), NotImplementedError, r"\[linalg_lu\] pivot=False"),
        (lambda: la.lu_factor(lm.eye(2), pivot=False), NotImplementedError, r"\[linalg_lu_factor\] pivot=False"),
        (lambda: la.lu_factor_ex(lm.eye(2), pivot=False), NotImplementedError, "pivot=False"),
        (lambda: la.solve(lm.eye(2), lm.ones([2]), left=False), ValueError, "left=False requires a matrix"),
        (lambda: la.solve(lm.eye(2), lm.ones([2, 3]), left=False), ValueError, "the same number of columns"),
        (
            lambda: la.solve_ex(lm.eye(2), lm.ones([3, 1])),
            ValueError,
            r"\[linalg_solve_ex\] .* the same number of rows",
        ),
        (lambda: la.solve_ex(lm.ones([2, 3]), lm.ones([3, 1])), ValueError, r"\[linalg_solve_ex\] .*square"),
        (lambda: la.inv_ex(lm.ones([2, 3])), ValueError, r"\[linalg_inv_ex\]"),
        (lambda: la.cholesky_ex(lm.ones([2, 3])), ValueError, r"\[linalg_cholesky_ex\]"),
        (lambda: la.cholesky_solve(lm.ones([2]), lm.eye(2)), ValueError, "two axes"),
        (lambda: la.cholesky_solve(lm.ones([3, 1]), lm.eye(2)), ValueError, "does not fit"),
        (lambda: la.cholesky_inverse(lm.ones([2])), ValueError, "two axes"),
        (lambda: la.cholesky_inverse(lm.ones([2, 3])), ValueError, "square"),
        (lambda: la.cholesky_inverse(lm.zeros([2, 2])), ValueError, r"\[linalg_cholesky_inverse\] .*singular"),
        (lambda: la.logdet(lm.ones([2, 3])), ValueError, "square"),
        (lambda: la.vander(lm.ones([2]), N=-1), ValueError, r"\[vander\] N: .* got -1"),
        (lambda: la.vander(lm.ones([2]), N=1.5), TypeError, "float"),
        (lambda: la.vander(lm.ones([2], dtype="bool")), TypeError, r"\[vander\]"),
        (lambda: la.householder_product(lm.ones([2, 3]), lm.ones([2])), ValueError, "as many rows as columns"),
        (lambda: la.householder_product(lm.ones([3, 2]), lm.ones([3])), ValueError, "at most one number per column"),
        (lambda: la.householder_product(lm.ones([2, 3, 2]), lm.ones([2])), ValueError, "at most one number per column"),
        (lambda: la.householder_product(lm.ones([3, 2]), lm.ones([2], dtype="float64")), TypeError, "one dtype"),
        (
            lambda: la.householder_product(lm.ones([3, 2], dtype="int64"), lm.ones([2], dtype="int64")),
            TypeError,
            "int64",
        ),
        (lambda: la.geqrf(lm.ones([3])), ValueError, r"\[linalg_geqrf\]"),
        (lambda: la.geqrf(lm.ones([3, 3], dtype="int64")), TypeError, r"\[linalg_geqrf\].*int64"),
        (lambda: la.ormqr(lm.ones([3]), lm.ones([2]), lm.ones([3, 1])), ValueError, r"\[linalg_ormqr\] needs matrices"),
        (
            lambda: la.ormqr(lm.ones([2, 3]), lm.ones([3]), lm.ones([2, 1])),
            ValueError,
            "at most one number per column and per row",
        ),
        (lambda: la.ormqr(lm.ones([3, 2]), lm.ones([2]), lm.ones([2, 1])), ValueError, "does not fit other"),
        (lambda: la.ormqr(lm.ones([3, 2]), lm.ones([2]), lm.ones([3])), ValueError, "does not fit other"),
        (lambda: la.ormqr(lm.ones([3, 2]), lm.ones([2]), lm.ones([3, 1]), left=False), ValueError, "left=False"),
        (lambda: la.ormqr(lm.ones([3, 2]), lm.ones([2]), lm.ones([3, 1], dtype="float64")), TypeError, "one dtype"),
        (lambda: la.tensorsolve(lm.ones([2, 3, 5]), lm.ones([2, 3])), ValueError, r"\[tensorsolve\]"),
        (lambda: la.tensorsolve(lm.ones([2]), lm.ones([2, 3])), ValueError, r"\[tensorsolve\]"),
        (lambda: la.tensorsolve(lm.ones([2, 2]), lm.ones([2]), axes=(4,)), IndexError, "moveaxis"),
        (lambda: la.tensorinv(lm.ones([2, 2]), ind=0), ValueError, r"\[tensorinv\] ind"),
        (lambda: la.tensorinv(lm.ones([2, 3])), ValueError, r"\[tensorinv\] the first 2 axes"),
    ],
)
def test_mistakes(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
