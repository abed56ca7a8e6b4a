"""Singular values and principal components by random products, against whole decompositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .matrices import DTYPES, close, draw, mh

la = lm.linalg
SHAPES = ((8, 5), (5, 8), (2, 3, 9, 7), (0, 4, 3), (3, 3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_low_ranks_are_exact(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    m, n = shape[-2:]
    a = draw((*shape[:-1], 2), dtype, rng) @ draw((*shape[:-2], 2, n), dtype, rng)
    u, s, vh = (part.numpy() for part in la.svd_lowrank(lm.asarray(a), 3))
    assert (u.shape, s.shape, vh.shape) == ((*shape[:-2], m, 3), (*shape[:-2], 3), (*shape[:-2], 3, n))
    assert u.dtype == a.dtype and s.dtype == np.linalg.svd(a[..., :0, :0], compute_uv=False).dtype
    close((u * s[..., None, :]) @ vh, a, dtype)
    close(s, np.linalg.svd(a, compute_uv=False)[..., :3], dtype)
    close(mh(u) @ u, np.broadcast_to(np.eye(3), (*shape[:-2], 3, 3)), dtype)
    close(vh @ mh(vh), np.broadcast_to(np.eye(3), (*shape[:-2], 3, 3)), dtype)


def test_the_largest_values_of_many(rng: np.random.Generator) -> None:
    values = 0.5 ** np.arange(60)
    q1, q2 = (np.linalg.qr(rng.standard_normal((size, 60)))[0] for size in (200, 100))
    x = lm.asarray((q1 * values) @ q2.T)
    errors = [np.abs(la.svd_lowrank(x, 8, niter=steps).S.numpy()[:6] - values[:6]).max() for steps in (0, 2, 4)]
    assert errors[0] < 1e-2 and errors[1] < 1e-7 and errors[2] < 1e-13


def test_what_is_drawn_and_subtracted(rng: np.random.Generator) -> None:
    x, mean = lm.asarray(rng.standard_normal((2, 9, 7))), lm.asarray(rng.standard_normal(7))
    assert la.svd_lowrank(x).S.shape == (2, 6) and la.svd_lowrank(x[..., :4]).S.shape == (2, 4)
    assert la.svd_lowrank(x, 0).U.shape == (2, 9, 0)
    # All columns: what is drawn does not matter.
    np.testing.assert_allclose(la.svd_lowrank(x, 7, M=mean).S.numpy(), la.svdvals(x - mean).numpy())
    first, second = (la.svd_lowrank(x, 3, generator=lm.Generator(seed=4)).S.numpy() for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_principal_components(rng: np.random.Generator) -> None:
    samples = rng.standard_normal((50, 4)) @ np.diag([4.0, 2.0, 1.0, 0.5]) + [1.0, 2.0, 3.0, 4.0]
    found = la.pca_lowrank(lm.asarray(samples))
    variances, directions = np.linalg.eigh(np.cov(samples.T))
    np.testing.assert_allclose(found.S.numpy() ** 2 / 49, variances[::-1])
    np.testing.assert_allclose(np.abs(found.Vh.numpy()), np.abs(directions.T[::-1]))
    plain = la.pca_lowrank(lm.asarray(samples), 4, center=False)
    np.testing.assert_allclose(plain.S.numpy(), np.linalg.svd(samples, compute_uv=False))


def test_gradients(rng: np.random.Generator) -> None:
    x = lm.tensor(rng.standard_normal((4, 3)), stop_gradient=False)

    def values(x: lm.Tensor) -> lm.Tensor:
        return la.svd_lowrank(x, 3, generator=lm.Generator(seed=1)).S

    assert lm.autograd.gradcheck(values, [x], atol=1e-5, rtol=1e-4)
    assert lm.autograd.gradcheck(lambda x: la.pca_lowrank(x, 3, generator=lm.Generator(seed=1)).S[:2], [x], atol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: la.svd_lowrank(lm.ones([3])), ValueError, r"\[svd_lowrank\] x: expected matrices"),
        (lambda: la.svd_lowrank(lm.ones([3, 2]), 3), ValueError, r"\[svd_lowrank\] q"),
        (lambda: la.svd_lowrank(lm.ones([3, 2]), -1), ValueError, r"\[svd_lowrank\] q"),
        (lambda: la.svd_lowrank(lm.ones([3, 2]), 1, niter=-1), ValueError, r"\[svd_lowrank\] niter"),
        (lambda: la.svd_lowrank(lm.ones([3, 2]), 1, M=lm.ones([4])), ValueError, "broadcast_to"),
        (lambda: la.svd_lowrank(lm.ones([3, 2], dtype="int64")), TypeError, r"\[svd_lowrank\] x"),
        (lambda: la.pca_lowrank(lm.ones([3, 2]), 3), ValueError, r"\[pca_lowrank\] q"),
        (lambda: la.pca_lowrank(lm.ones([3, 2], dtype="float16")), TypeError, r"\[pca_lowrank\] x"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
