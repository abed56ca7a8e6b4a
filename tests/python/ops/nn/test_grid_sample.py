"""Sampling of images at the places of a grid, against its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lamella as lm

from .test_interpolate import cubic


def sampled(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align: bool) -> np.ndarray:
    """One element at a time."""
    sizes, d = x.shape[2:], x.ndim - 2
    out = np.zeros((x.shape[0], x.shape[1], *grid.shape[1:-1]))

    def brought(at: float, n: int) -> float:
        if padding == "reflection":
            low, span = (0, n - 1) if align else (-0.5, n)
            if span == 0:
                return 0
            far = abs(at - low)
            turns, rest = far // span, far % span
            at = (rest if turns % 2 == 0 else span - rest) + low
        return at if padding == "zeros" else min(max(at, 0), n - 1)

    for place in np.ndindex(*grid.shape[:-1]):
        axes = []
        for i, n in enumerate(sizes):
            g = grid[place][d - 1 - i]
            at = (g + 1) / 2 * (n - 1) if align else ((g + 1) * n - 1) / 2
            if mode == "bicubic":
                low = int(np.floor(at))
                axes.append([(brought(j, n), cubic(at - j)) for j in range(low - 1, low + 3)])
                continue
            at = brought(at, n)
            low = int(np.floor(at))
            axes.append([(np.rint(at), 1.0)] if mode == "nearest" else [(low, low + 1 - at), (low + 1, at - low)])
        for corner in itertools.product(*axes):
            index = [int(i) for i, _ in corner]
            if all(0 <= i < n for i, n in zip(index, sizes, strict=True)):
                weight = np.prod([w for _, w in corner])
                out[(place[0], slice(None), *place[1:])] += weight * x[(place[0], slice(None), *index)]
    return out


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode: str, padding: str, align: bool, rng: np.random.Generator) -> None:
    x, grid = rng.normal(size=(2, 3, 4, 5)), rng.uniform(-1.9, 1.9, (2, 3, 6, 2))
    got = lm.grid_sample(lm.asarray(x), lm.asarray(grid), mode, padding, align)
    np.testing.assert_allclose(got.numpy(), sampled(x, grid, mode, padding, align), rtol=1e-11, atol=1e-12)
    x, grid = rng.normal(size=(1, 2, 3, 4, 2)), rng.uniform(-1.5, 1.5, (1, 2, 3, 2, 3))
    got = lm.grid_sample(lm.asarray(x), lm.asarray(grid), mode, padding, align)
    np.testing.assert_allclose(got.numpy(), sampled(x, grid, mode, padding, align), rtol=1e-11, atol=1e-12)


def test_grid_sample_of_odd_places() -> None:
    x = lm.ones([1, 1, 2, 2])
    far = lm.asarray([[[[float("nan"), 0.0], [float("inf"), 0.0], [-1e30, 1e30], [0.0, 0.0]]]])
    for padding in ("zeros", "border", "reflection"):
        lm.grid_sample(x, far, padding_mode=padding)
        assert lm.grid_sample(x, far, mode="nearest", padding_mode=padding)[0, 0, 0, 3].item() == 1


def test_affine_grid(rng: np.random.Generator) -> None:
    theta = rng.normal(size=(2, 2, 3))
    for align in (False, True):
        y, x = (np.linspace(-1, 1, n) if align else (np.arange(n) * 2 + 1) / n - 1 for n in (3, 4))
        base = np.stack([*np.meshgrid(x, y), np.ones((3, 4))], -1)
        got = lm.affine_grid(lm.asarray(theta), (2, 1, 3, 4), align)
        np.testing.assert_allclose(got.numpy(), np.einsum("hwk,nik->nhwi", base, theta), rtol=1e-11, atol=1e-13)
    identity = lm.asarray(np.eye(3, 4)[None])
    volume = rng.normal(size=(1, 2, 3, 4, 5))
    grid = lm.affine_grid(identity, (1, 2, 3, 4, 5))
    np.testing.assert_allclose(lm.grid_sample(lm.asarray(volume), grid).numpy(), volume, atol=1e-12)
    for size in ((2, 1, 3), (1, 1, 3, 4), (2, 1, 0, 4)):
        with pytest.raises(ValueError, match=r"^\[affine_grid\]"):
            lm.affine_grid(lm.asarray(theta), size)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-3), ("bfloat16", 2e-2)])
def test_bicubic_samples_of_volumes_in_16_bits(dtype: str, tolerance: float, rng: np.random.Generator) -> None:
    x = lm.asarray(rng.normal(size=(2, 3, 5, 5, 5))).astype(dtype)
    grid = lm.asarray(rng.uniform(-1, 1, size=(2, 4, 4, 4, 3))).astype(dtype)
    got = lm.grid_sample(x, grid, "bicubic")
    assert got.dtype.name == dtype
    expected = lm.grid_sample(x.astype("float64"), grid.astype("float64"), "bicubic").numpy()
    np.testing.assert_allclose(got.astype("float64").numpy(), expected, rtol=tolerance, atol=tolerance)


def test_grid_sample_errors() -> None:
    x, grid = lm.ones([1, 1, 2, 2]), lm.zeros([1, 3, 3, 2])
    for call, error in [
        (lambda: lm.grid_sample(x, grid[0]), ValueError),
        (lambda: lm.grid_sample(x, lm.zeros([1, 3, 3, 3])), ValueError),
        (lambda: lm.grid_sample(x, lm.zeros([2, 3, 3, 2])), ValueError),
        (lambda: lm.grid_sample(lm.ones([1, 1, 0, 2]), grid), ValueError),
        (lambda: lm.grid_sample(x, grid, mode="linear"), ValueError),
        (lambda: lm.grid_sample(x, grid, padding_mode="wrap"), ValueError),
        (lambda: lm.grid_sample(x, grid.astype("float64")), TypeError),
    ]:
        with pytest.raises(error, match=r"^\[grid_sample\]"):
            call()
