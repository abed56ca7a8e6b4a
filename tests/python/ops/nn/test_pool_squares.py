"""Pooling of 2 x 2 squares, which has kernels of its own: sizes around those of vectors, odd ones, ties, NaN."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lamella as lm

#: Around the widths of vectors, in squares, and planes of one row or column.
SIZES = (2, 3, 7, 14, 16, 17, 30, 32, 33, 34, 66, 131)
SHAPES = [(2, 3, h, w) for h, w in itertools.product((2, 5, 8), SIZES)] + [(1, 1, 2, 2), (3, 2, 131, 2)]


def squares_of(a: np.ndarray) -> np.ndarray:
    """The squares' elements as a last axis."""
    h, w = a.shape[2] // 2, a.shape[3] // 2
    pairs = a[:, :, : 2 * h, : 2 * w].reshape(*a.shape[:2], h, 2, w, 2)
    return pairs.transpose(0, 1, 2, 4, 3, 5).reshape(*a.shape[:2], h, w, 4)


def spread(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The transpose of squares_of()."""
    n, c, h, w, _ = values.shape
    result = np.zeros(shape, values.dtype)
    result[:, :, : 2 * h, : 2 * w] = (
        values.reshape(n, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, 2 * h, 2 * w)
    )
    return result


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_largest_elements_and_their_places(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    a = np.round(rng.standard_normal(shape), 1).astype(dtype)  # with ties
    a.reshape(-1)[::17] = np.nan
    a.reshape(-1)[1::19] = -np.inf
    parts = squares_of(a)
    nan = np.isnan(parts)
    first = np.where(nan.any(-1), nan.argmax(-1), np.where(nan, -np.inf, parts).argmax(-1))[..., None]
    want = np.take_along_axis(parts, first, -1)[..., 0]
    rows = np.arange(want.shape[2])[:, None] * 2 + first[..., 0] // 2
    columns = np.arange(want.shape[3]) * 2 + first[..., 0] % 2
    x = lm.asarray(a)
    x.stop_gradient = False
    y, places = lm.max_pool2d_with_indices(x, 2)
    np.testing.assert_array_equal(y.detach().numpy(), want)
    np.testing.assert_array_equal(places.numpy(), rows * shape[3] + columns)
    with lm.no_grad():
        np.testing.assert_array_equal(lm.max_pool2d(x, 2).numpy(), want)
    dy = rng.standard_normal(want.shape).astype(dtype)
    (dx,) = lm.grad(lm.max_pool2d(x, 2), [x], [lm.asarray(dy)])
    chosen = np.zeros_like(parts)
    np.put_along_axis(chosen, first, dy[..., None], -1)
    np.testing.assert_array_equal(dx.numpy(), spread(chosen, shape))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_means_and_their_gradient(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    a = rng.standard_normal(shape).astype(dtype)
    x = lm.asarray(a)
    x.stop_gradient = False
    y = lm.avg_pool2d(x, 2)
    np.testing.assert_allclose(y.detach().numpy(), squares_of(a).mean(-1), rtol=1e-5, atol=1e-6)
    dy = rng.standard_normal(y.shape).astype(dtype)
    (dx,) = lm.grad(y, [x], [lm.asarray(dy)])
    np.testing.assert_allclose(dx.numpy(), spread(np.repeat(dy[..., None] / 4, 4, -1), shape), rtol=1e-6)
