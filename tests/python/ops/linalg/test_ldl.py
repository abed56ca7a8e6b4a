"""Factors of symmetric and Hermitian matrices that need not be definite, and what is solved with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .matrices import DTYPES, close, draw, mh

la = lm.linalg
MATRICES = ((1, 1), (2, 2), (3, 3), (2, 5, 5), (0, 2, 2), (2, 0, 0), (3, 40, 40), (0, 0))


def symmetric(shape: tuple[int, ...], dtype: str, hermitian: bool, rng: np.random.Generator) -> np.ndarray:
    """Far from singular, with eigenvalues of both signs and small numbers on the diagonal: some exchanges are pairs."""
    n = shape[-1]
    a = 0.1 * draw(shape, dtype, rng)
    a = a + (mh(a) if hermitian else a.swapaxes(-1, -2))
    return a + 3 * np.flip(np.eye(n), 0).astype(dtype)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_solutions(shape: tuple[int, ...], dtype: str, hermitian: bool, rng: np.random.Generator) -> None:
    a = symmetric(shape, dtype, hermitian, rng)
    damaged = lm.asarray(a + np.triu(np.full(shape, np.nan), 1).astype(dtype))
    ld, pivots = la.ldl_factor(damaged, hermitian=hermitian)
    assert (ld.dtype.name, pivots.dtype.name, pivots.shape) == (dtype, "int32", shape[:-1])
    np.testing.assert_array_equal(ld.numpy(), np.tril(ld.numpy()))
    for right in ((*shape[:-1], 2), (4, *[1] * (len(shape) - 2), shape[-1], 3)):
        b = draw(right, dtype, rng)
        close(la.ldl_solve(ld, pivots, lm.asarray(b), hermitian=hermitian), np.linalg.solve(a, b), dtype)
    same = la.ldl_factor_ex(damaged, hermitian=hermitian)
    np.testing.assert_array_equal(same.LD.numpy(), ld.numpy())
    assert same.info.dtype.name == "int32" and same.info.shape == shape[:-2] and not same.info.numpy().any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_matrices(dtype: str) -> None:
    x = lm.asarray(np.stack([np.eye(2), np.zeros((2, 2)), [[0, 1], [1, 0]]]).astype(dtype))
    for hermitian in (False, True):
        found = la.ldl_factor_ex(x, hermitian=hermitian)
        assert found.info.tolist() == [0, 1, 0]
        assert found.pivots.tolist() == [[1, 2], [1, 2], [-2, -2]]
        for call in (
            lambda h: la.ldl_factor(x, hermitian=h),
            lambda h: la.ldl_factor_ex(x, hermitian=h, check_errors=True),
        ):
            with pytest.raises(ValueError, match=r"\[linalg_ldl_factor_ex\] matrix 1 of the batch is singular"):
                call(hermitian)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients(dtype: str, hermitian: bool, rng: np.random.Generator) -> None:
    a = symmetric((2, 3, 3), dtype, hermitian, rng)
    ld, pivots = la.ldl_factor(lm.tensor(a, stop_gradient=False), hermitian=hermitian)
    assert ld.stop_gradient
    b = lm.tensor(draw((3, 2), dtype, rng), stop_gradient=False)

    def call(right: lm.Tensor) -> lm.Tensor:
        return la.ldl_solve(ld, pivots, right * right, hermitian=hermitian)

    assert lm.autograd.gradcheck(call, [b], check_forward_ad=True)
    assert lm.autograd.gradgradcheck(call, [b])
    leaf = lm.tensor(ld.numpy(), stop_gradient=False)
    with pytest.raises(RuntimeError, match="no gradient with respect to ld"):
        lm.sum(lm.abs(la.ldl_solve(leaf, pivots, b, hermitian=hermitian))).backward()


def pivots(*numbers: int) -> lm.Tensor:
    return lm.asarray(numbers, dtype="int32")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        *(
            (lambda p=wrong: la.ldl_solve(lm.eye(3), pivots(*p), lm.ones([3, 1])), ValueError, "are not valid")
            for wrong in ((0, 2, 3), (1, 2, 4), (1, 2, -3), (-1, -2, 3), (1, -9, -9), (-2, -2, -3))
        ),
        (lambda: la.ldl_factor(lm.ones([2, 3])), ValueError, "square"),
        (lambda: la.ldl_factor(lm.ones([2, 2], dtype="int64")), TypeError, "int64"),
        (lambda: la.ldl_solve(lm.eye(2), pivots(1), lm.ones([2, 1])), ValueError, "pivots must have the shape"),
        (lambda: la.ldl_solve(lm.eye(2), lm.ones([2]), lm.ones([2, 1])), TypeError, "float32"),
        (lambda: la.ldl_solve(lm.eye(2), pivots(1, 2), lm.ones([3, 1])), ValueError, "does not fit b"),
        (lambda: la.ldl_solve(lm.eye(2), pivots(1, 2), lm.ones([2])), ValueError, "two axes"),
    ],
)
def test_mistakes(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
