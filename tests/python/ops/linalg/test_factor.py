"""Triangular factors, least squares and exponentials of matrices, against scipy, numpy and the definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg as reference

import lamella as lm
from support import default_device

from .matrices import DTYPES, SHAPES, close, draw, mh, real, regular

la = lm.linalg


def each(a: np.ndarray) -> list[np.ndarray]:
    """The matrices of a batch."""
    return list(a.reshape(-1, *a.shape[-2:]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lu(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a = draw(shape, dtype, rng)
    m, n = shape[-2:]
    k = min(m, n)
    factors, pivots = la.lu_factor(lm.asarray(a))
    p, lower, upper = la.lu(lm.asarray(a))
    for got, part in zip(la.lu_unpack(factors, pivots), (p, lower, upper), strict=True):
        np.testing.assert_array_equal(got.numpy(), part.numpy())
    assert [part.shape for part in la.lu_unpack(factors, pivots, unpack_data=False)] == [p.shape, (0,), (0,)]
    assert la.lu_unpack(factors, pivots, unpack_pivots=False).P.shape == (0,)
    assert (factors.shape, pivots.shape, pivots.dtype.name) == (shape, (*shape[:-2], k), "int32")
    assert (p.shape, lower.shape, upper.shape) == ((*shape[:-2], m, m), (*shape[:-2], m, k), (*shape[:-2], k, n))
    close(p.numpy() @ lower.numpy() @ upper.numpy(), a, dtype)
    np.testing.assert_array_equal(p.numpy() @ mh(p.numpy()), np.broadcast_to(np.eye(m), p.shape))
    np.testing.assert_array_equal(lower.numpy(), np.tril(factors.numpy()[..., :k], -1) + np.eye(m, k))
    np.testing.assert_array_equal(upper.numpy(), np.triu(factors.numpy()[..., :k, :]))
    # LAPACK compares the sums of the parts' magnitudes.
    assert np.abs(lower.numpy()).max() <= (1.4143 if dtype.startswith("complex") else 1)
    for got, exchanges, matrix in zip(each(factors.numpy()), pivots.numpy().reshape(-1, k), each(a), strict=True):
        expected, places = reference.lu_factor(matrix)
        close(got, expected, dtype)
        np.testing.assert_array_equal(exchanges, places[:k] + 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lu_up_to_where_lapack_takes_over(dtype: str, rng: np.random.Generator) -> None:
    for m, n in ((1, 64), (64, 1), (17, 33), (33, 17), (63, 64), (64, 64), (65, 64), (64, 65)):
        a = draw((3, m, n), dtype, rng)
        p, lower, upper = la.lu(lm.asarray(a))
        close(p.numpy() @ lower.numpy() @ upper.numpy(), a, dtype)
        for exchanges, matrix in zip(la.lu_factor(lm.asarray(a)).pivots.numpy(), a, strict=True):
            np.testing.assert_array_equal(exchanges, reference.lu_factor(matrix)[1] + 1)
    # Columns of zeros, and numbers whose inverses overflow.
    tiny = float(np.finfo(dtype).smallest_subnormal)
    for a in (np.zeros((5, 5)), np.triu(np.ones((20, 20)), 3), np.full((2, 2), tiny), np.array([[0, 1], [tiny, 0]])):
        p, lower, upper = la.lu(lm.asarray(a.astype(dtype)))
        np.testing.assert_array_equal((p @ lower @ upper).numpy(), a.astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_lu_solve(dtype: str, left: bool, adjoint: bool, rng: np.random.Generator) -> None:
    a, b = regular((2, 1, 4, 4), dtype, rng), draw((3, 4, 2) if left else (3, 2, 4), dtype, rng)
    got = la.lu_solve(*la.lu_factor(lm.asarray(a)), lm.asarray(b), left=left, adjoint=adjoint)
    x = mh(a) if adjoint else a
    close(x @ got.numpy() if left else got.numpy() @ x, np.broadcast_to(b, (2, *b.shape)), dtype)
    assert got.dtype.name == dtype


def test_factors_of_special_matrices() -> None:
    for shape in ((0, 0), (0, 3), (3, 0), (2, 0, 2)):
        k = min(shape[-2:])
        p, lower, upper = la.lu(lm.zeros(shape))
        assert lower.shape[-2:] == (shape[-2], k) and upper.shape[-2:] == (k, shape[-1])
        np.testing.assert_array_equal(p.numpy(), np.broadcast_to(np.eye(shape[-2]), p.shape))
    singular = lm.asarray([[1.0, 2.0], [2.0, 4.0]])
    p, lower, upper = la.lu(singular)
    assert (p @ lower @ upper).tolist() == singular.tolist() and upper[1, 1].item() == 0
    meta = lm.ones([2, 3, 4], device="meta")
    assert [part.shape for part in la.lu(meta)] == [(2, 3, 3), (2, 3, 3), (2, 3, 4)]
    assert la.lstsq(meta, lm.ones([2, 3, 5], device="meta")).solution.shape == (2, 4, 5)
    assert la.matrix_exp(lm.ones([2, 3, 3], device="meta")).shape == (2, 3, 3)
    many = lm.asarray(np.random.default_rng(1).normal(size=(40, 20, 20)))
    transposed = lm.asarray(many.numpy().swapaxes(1, 2).copy())
    np.testing.assert_array_equal(la.lu_factor(many.mT).LU.numpy(), la.lu_factor(transposed).LU.numpy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", ["gelsy", "gels", "gelsd", "gelss", None])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (3, 3), (2, 5, 3), (2, 1, 40, 7)], ids=str)
def test_least_squares(shape: tuple[int, ...], driver: Any, dtype: str, rng: np.random.Generator) -> None:
    a, b = draw(shape, dtype, rng), draw((2, shape[-2], 3), dtype, rng)
    got = la.lstsq(lm.asarray(a), lm.asarray(b), driver=driver)
    expected = np.linalg.pinv(a.astype("complex128")) @ b
    expected = expected if dtype.startswith("complex") else expected.real
    close(got.solution, expected, dtype)
    close(got.residuals, (np.abs(a @ expected - b) ** 2).sum(-2), dtype)
    batch = np.broadcast_shapes(shape[:-2], (2,))
    assert got.solution.dtype.name == dtype and got.residuals.dtype.name == real(dtype)
    if driver == "gels":
        assert got.rank.size == 0
    else:
        np.testing.assert_array_equal(got.rank.numpy(), np.full(batch, min(shape[-2:])))
    if driver in ("gelsd", "gelss"):
        values = np.linalg.svd(a.astype("complex128"), compute_uv=False)
        close(got.singular_values, np.broadcast_to(values, (*batch, values.shape[-1])), dtype)
    else:
        assert got.singular_values.size == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_columns_are_reflected_in_blocks(dtype: str, rng: np.random.Generator) -> None:
    epsilon = np.finfo(dtype).eps
    for m, n in ((32, 32), (33, 40), (90, 47), (200, 150), (150, 200)):
        a = draw((m, n), dtype, rng)
        for mode in ("reduced", "complete"):
            q, r = (part.numpy() for part in la.qr(lm.asarray(a), mode=mode))
            assert q.shape == (m, m if mode == "complete" else min(m, n))
            np.testing.assert_allclose(mh(q) @ q, np.eye(q.shape[1]), atol=30 * epsilon)
            np.testing.assert_allclose(q @ r, a, atol=100 * epsilon)
            np.testing.assert_array_equal(r, np.triu(r))
        if m >= n:
            b = draw((m, 3), dtype, rng)
            expected = np.linalg.lstsq(a, b, rcond=None)[0]
            for scale in (1.0, 1e-33, 1e33):
                got = la.lstsq(lm.asarray((a * scale).astype(dtype)), lm.asarray(b), driver="gels").solution
                bound = 1e4 * epsilon * np.abs(expected).max()
                np.testing.assert_allclose(got.numpy().astype("complex128") * scale, expected, atol=bound)
    flat = draw((60, 40), dtype, rng)
    flat[:, 39] = 0
    with pytest.raises(ValueError, match="does not have full rank"):
        la.lstsq(lm.asarray(flat), lm.asarray(draw((60, 1), dtype, rng)), driver="gels")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [31, 32, 100, 130])
def test_eigenvectors_of_larger_matrices(n: int, dtype: str, rng: np.random.Generator) -> None:
    epsilon = np.finfo(dtype).eps
    a = draw((n, n), dtype, rng)
    a = a + mh(a)
    for matrix in (a, np.ones_like(a), np.eye(n, dtype=dtype), np.zeros_like(a), (a * 1e-30).astype(dtype)):
        w, v = (part.numpy() for part in la.eigh(lm.asarray(matrix)))
        size = max(np.abs(matrix).max() * n, np.finfo(dtype).tiny)
        np.testing.assert_allclose(mh(v) @ v, np.eye(n), atol=30 * epsilon)
        np.testing.assert_allclose(matrix @ v / size, v * w / size, atol=30 * epsilon)
        np.testing.assert_allclose(w / size, np.linalg.eigvalsh(matrix) / size, atol=30 * epsilon)


@pytest.mark.parametrize("driver", ["gelsy", "gelsd", "gelss"])
def test_least_squares_of_a_lower_rank(driver: Any, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 6, 4)), rng.normal(size=(2, 6, 1))
    a[1, :, 3] = a[1, :, 0]
    got = la.lstsq(lm.asarray(a), lm.asarray(b), rtol=lm.asarray([1e-12, 1e-9]), driver=driver)
    assert got.rank.tolist() == [4, 3]
    close(got.solution, np.linalg.pinv(a, rtol=1e-9) @ b, "float64")
    x, y = lm.tensor(a, stop_gradient=False), lm.tensor(b, stop_gradient=False)
    la.lstsq(x, y, rtol=1e-9, driver=driver).solution.sum().backward()
    p, q = lm.tensor(a, stop_gradient=False), lm.tensor(b, stop_gradient=False)
    (la.pinv(p, rtol=1e-9) @ q).sum().backward()
    close(x.grad, p.grad.numpy(), "float64")
    close(y.grad, q.grad.numpy(), "float64")


def test_least_squares_of_nothing() -> None:
    for shape in ((0, 3), (3, 0), (2, 0, 3)):
        solution, residuals, rank, _ = la.lstsq(lm.zeros(shape), lm.ones([*shape[:-1], 2]))
        assert solution.shape == (*shape[:-2], shape[-1], 2) and not solution.numpy().any()
        np.testing.assert_array_equal(residuals.numpy(), np.full((*shape[:-2], 2), shape[-2]))
        assert not rank.numpy().any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", ["gelsy", "gels", "gelsd", "gelss"])
def test_least_squares_without_a_right_side(driver: str, dtype: str, rng: np.random.Generator) -> None:
    for shape in ((3, 3), (2, 5, 3), (3, 7)):
        a = lm.asarray(draw(shape, dtype, rng))
        for _ in range(20):  # what is written beyond an empty memory is seen later
            got = la.lstsq(a, lm.zeros([*shape[:-1], 0], dtype=dtype), driver=driver)
            beside = la.lstsq(a, lm.zeros([*shape[:-1], 1], dtype=dtype), driver=driver)
            assert got.solution.shape == (*shape[:-2], shape[-1], 0)
            for found, wanted in ((got.rank, beside.rank), (got.singular_values, beside.singular_values)):
                np.testing.assert_array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1e-9, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 5, 5), (30, 30)], ids=str)
def test_matrix_exp(shape: tuple[int, ...], scale: float, dtype: str, rng: np.random.Generator) -> None:
    a = (scale * draw(shape, dtype, rng) / shape[-1]).astype(dtype)
    if len(shape) == 3:
        a[1] *= 1e-3  # each matrix is halved as often as it wants
    got = la.matrix_exp(lm.asarray(a))
    expected = np.stack([reference.expm(matrix.astype("complex128")) for matrix in each(a)]).reshape(shape)
    close(got, expected if dtype.startswith("complex") else expected.real, dtype)
    assert got.dtype.name == dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_matrix_exp_of_16_bits(dtype: str, rng: np.random.Generator) -> None:
    x = lm.asarray(draw((2, 3, 3), "float32", rng)).astype(dtype)
    wide = la.matrix_exp(x.astype("float32"))
    assert la.matrix_exp(x).dtype.name == dtype
    assert la.matrix_exp(x).tolist() == wide.astype(dtype).tolist()
    x.stop_gradient = False
    la.matrix_exp(x).sum().backward()
    assert x.grad is not None and x.grad.dtype.name == dtype


def test_matrix_exp_of_special_matrices() -> None:
    assert la.matrix_exp(lm.zeros([3, 3])).tolist() == np.eye(3).tolist()
    assert la.matrix_exp(lm.zeros([2, 0, 0])).shape == (2, 0, 0)
    nilpotent = np.diag([3.0, 40.0], 1)
    np.testing.assert_allclose(la.matrix_exp(lm.asarray(nilpotent)).numpy(), reference.expm(nilpotent), rtol=1e-13)
    batch = np.stack([np.eye(2), np.full((2, 2), np.nan), np.diag([np.inf, 1.0])])
    got = la.matrix_exp(lm.asarray(batch)).numpy()
    np.testing.assert_allclose(got[0], np.e * np.eye(2), rtol=1e-14)
    assert np.isnan(got[1:]).any((1, 2)).all()
    rotation = lm.asarray([[0.0, -100.0], [100.0, 0.0]], dtype="float64")
    np.testing.assert_allclose(la.matrix_exp(rotation)[0, 0].item(), np.cos(100.0), atol=1e-12)


@pytest.mark.parametrize("dtype", ["complex128"])
def test_complex_gradients(dtype: str, rng: np.random.Generator) -> None:
    def leaf(*shape: int) -> lm.Tensor:
        return lm.tensor(draw(shape, dtype, rng) + 2 * np.eye(*shape[-2:]), stop_gradient=False)

    calls: list[tuple[Callable[..., Any], list[lm.Tensor]]] = [
        *((lambda a: la.lu_factor(a).LU, [leaf(*shape)]) for shape in ((3, 3), (4, 2), (2, 3))),
        (lambda a: la.lu(a)[1:], [leaf(2, 2, 2)]),
        (lambda a, b: la.lu_solve(*la.lu_factor(a), b, adjoint=True), [leaf(2, 2), leaf(2, 2)]),
        (lambda a, b: la.lu_solve(*la.lu_factor(a), b, left=False), [leaf(2, 2), leaf(3, 2)]),
        (lambda a, b: la.lstsq(a, b)[:2], [leaf(3, 2), leaf(3, 1)]),
        (lambda a, b: la.lstsq(a, b)[0], [leaf(2, 3), leaf(2, 1)]),
        (la.matrix_exp, [leaf(2, 2)]),
    ]
    for call, inputs in calls:
        assert lm.autograd.gradcheck(call, inputs, atol=1e-6, rtol=1e-5, check_forward_ad=True)
        assert lm.autograd.gradgradcheck(call, inputs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: la.lu(lm.ones([3])), ValueError, r"\[linalg_lu\].*two axes"),
        (lambda: la.lu_factor(lm.ones([2, 2], dtype="int64")), TypeError, "linalg_lu_factor"),
        (lambda: la.lu_solve(lm.ones([2, 3]), lm.ones([2], dtype="int32"), lm.ones([2, 1])), ValueError, "square"),
        (lambda: la.lu_solve(lm.eye(2), lm.ones([2]), lm.ones([2, 1])), TypeError, "linalg_lu_solve"),
        (
            lambda: la.lu_solve(lm.eye(2), lm.ones([3], dtype="int32"), lm.ones([2, 1])),
            ValueError,
            "pivots must have the shape",
        ),
        (lambda: la.lu_solve(lm.eye(2), lm.full([2], 3, dtype="int32"), lm.ones([2, 1])), ValueError, "exchanged with"),
        (lambda: la.lu_solve(lm.eye(2), lm.zeros([2], dtype="int32"), lm.ones([2, 1])), ValueError, "exchanged with"),
        (lambda: la.lu_solve(lm.eye(2), lm.ones([2], dtype="int32"), lm.ones([3, 1])), ValueError, "does not fit b"),
        (
            lambda: la.lu_unpack(lm.ones([2, 3]), lm.ones([3], dtype="int32")),
            ValueError,
            r"\[linalg_lu_unpack\] pivots",
        ),
        (lambda: la.lu_unpack(lm.ones([2, 3]), lm.ones([2])), TypeError, "linalg_lu_unpack"),
        (lambda: la.lu_unpack(lm.ones([2, 3]), lm.full([2], 9, dtype="int32")), ValueError, "exchanged with"),
        (lambda: la.lu_unpack(lm.ones([2]), lm.ones([1], dtype="int32")), ValueError, "two axes"),
        (lambda: la.lstsq(lm.ones([3, 2]), lm.ones([2])), ValueError, r"\[linalg_lstsq\] .* the same number of rows"),
        (lambda: la.lstsq(lm.ones([3, 2]), lm.ones([])), ValueError, "at least one axis"),
        (lambda: la.lstsq(lm.ones([3, 2]), lm.ones([3]), driver="qr"), ValueError, "driver: expected"),  # type: ignore[arg-type]
        (lambda: la.lstsq(lm.zeros([3, 2]), lm.ones([3]), driver="gels"), ValueError, "full rank"),
        (lambda: la.lstsq(lm.full([3, 2], float("nan")), lm.ones([3])), ValueError, "not finite"),
        (lambda: la.lstsq(lm.ones([2, 3, 2]), lm.ones([3, 3, 1])), ValueError, "linalg_lstsq"),
        (lambda: la.matrix_exp(lm.ones([2, 3])), ValueError, "square"),
        (lambda: la.matrix_exp(lm.ones([2, 2], dtype="int32")), TypeError, "linalg_matrix_exp"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    if message == "exchanged with" and default_device.DEVICE == "cuda":
        pytest.skip("numbers of rows are not checked there: that would wait for the device")
    with pytest.raises(error, match=message):
        call()
