"""Square roots of Hermitian matrices, and polar decompositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .matrices import DTYPES, close, draw, mh

la = lm.linalg


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 4, 4), (0, 2, 2), (2, 0, 0), (0, 0), (40, 40)], ids=str)
def test_square_roots(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    root = draw(shape, dtype, rng)
    a = root @ mh(root) + np.eye(shape[-1]).astype(dtype)
    y = la.matrix_sqrth(lm.asarray(a + np.triu(np.full(shape, np.nan), 1).astype(dtype)))
    assert y.dtype.name == dtype
    y = y.numpy()
    close(y @ y, a, dtype)
    close(mh(y), y, dtype)
    assert (np.linalg.eigvalsh(y) > 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 2), (2, 4, 3), (0, 3, 2), (2, 3, 0), (0, 0), (50, 40)], ids=str)
def test_polar_decompositions(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a = draw(shape, dtype, rng)
    u, h = (part.numpy() for part in la.polar(lm.asarray(a)))
    assert (u.dtype, h.dtype, h.shape) == (a.dtype, a.dtype, (*shape[:-2], shape[-1], shape[-1]))
    close(u @ h, a, dtype)
    close(mh(u) @ u, np.broadcast_to(np.eye(shape[-1]), h.shape), dtype)
    close(mh(h), h, dtype)
    close(np.linalg.eigvalsh(h)[..., ::-1], np.linalg.svd(a, compute_uv=False), dtype)


def test_negative_eigenvalues_count_as_0() -> None:
    assert la.matrix_sqrth(lm.asarray([[-4.0, 9.0], [0.0, 4.0]])).tolist() == [[0.0, 0.0], [0.0, 2.0]]
    singular = la.polar(lm.zeros([3, 2]))
    np.testing.assert_array_equal((singular.U.mT @ singular.U).numpy(), np.eye(2))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives(dtype: str, rng: np.random.Generator) -> None:
    def root_of(a: lm.Tensor) -> lm.Tensor:
        return la.matrix_sqrth(a.mH @ a)

    for shape in ((3, 3), (4, 2), (2, 3, 3)):
        for values in (draw(shape, dtype, rng), np.broadcast_to(2 * np.eye(*shape[-2:], dtype=dtype), shape)):
            x = lm.tensor(values, stop_gradient=False)
            # The same singular values twice, too.
            for call in (la.polar, lambda a: la.polar(a).U, lambda a: la.polar(a).H, root_of):
                assert lm.autograd.gradcheck(call, [x], check_forward_ad=True)
                assert lm.autograd.gradgradcheck(call, [x])


def test_gradient_of_a_root_is_hermitian(rng: np.random.Generator) -> None:
    root = draw((3, 3), "complex128", rng)
    x = lm.tensor(root @ mh(root), stop_gradient=False)
    lm.real(la.matrix_sqrth(x)[0, 1]).backward()
    np.testing.assert_allclose(x.grad.numpy(), mh(x.grad.numpy()), atol=1e-14)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: la.matrix_sqrth(lm.ones([2, 3])), ValueError, r"\[linalg_matrix_sqrth\] .*square"),
        (lambda: la.matrix_sqrth(lm.full([2, 2], float("nan"))), ValueError, "not finite"),
        (lambda: la.matrix_sqrth(lm.ones([2, 2], dtype="int32")), TypeError, "int32"),
        (lambda: la.polar(lm.ones([2, 3])), ValueError, r"\[linalg_polar\] .*as many rows as columns"),
        (lambda: la.polar(lm.ones([3])), ValueError, "two axes"),
        (lambda: la.polar(lm.full([2, 2], float("inf"))), ValueError, "not finite"),
    ],
)
def test_mistakes(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
