"""Sampling of images at the places of a grid, against its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lamella as lm

from ..fused import FUSED, check_both, gradients
from ..gradcheck import check_gradients
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


GRIDS = list(itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("mode", "padding", "align"), GRIDS)
def test_gradients_of_grid_sample(mode: str, padding: str, align: bool, dtype: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3, 5, 4))
    # Far outside, on the borders, on elements; more places than are looked up at once.
    grid = rng.uniform(-1.7, 1.7, size=(2, 16, 17, 2))
    grid[0, 0, :6, 0] = [-1, 1, 0, 3.2, -4.1, 1]
    grid[0, 0, :6, 1] = [-1, 1, 0, -3.2, 4.1, -1]

    def f(x: lm.Tensor, grid: lm.Tensor) -> lm.Tensor:
        return lm.grid_sample(x, grid, mode, padding, align)

    y, _ = gradients(f, [x, grid], dtype, False)
    # A volume of one layer is sampled by the composition; it knows no cubic mode.
    if mode != "bicubic":
        flat = np.concatenate([grid, np.zeros((*grid.shape[:-1], 1))], -1)[:, None]
        volume, _ = gradients(f, [x[:, :, None], flat], dtype, False)
        np.testing.assert_allclose(y, volume[:, :, 0], rtol=FUSED[dtype], atol=FUSED[dtype])
    check_both(f, [x, grid], dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("shape", [(2, 5, 3, 4), (1, 6, 3, 2, 5), (2, 1, 1, 1)])
def test_gradients_where_many_places_meet(
    shape: tuple[int, ...], mode: str, dtype: str, rng: np.random.Generator
) -> None:
    """In a corner, around one place within, and outside; more than a thread of a device adds by itself."""
    axes = len(shape) - 2
    x = rng.normal(size=shape)
    centers = np.repeat([2.5, -2.5, 0.15], 300)[:, None]
    grid = centers + rng.uniform(-0.05, 0.05, size=(shape[0], 900, axes))
    grid[:, ::100] = 7.3
    grid = grid.reshape(shape[0], *[1] * (axes - 1), 900, axes)
    for padding in ("zeros", "border", "reflection"):
        check_both(lambda x, grid: lm.grid_sample(x, grid, mode, padding), [x, grid], dtype)  # noqa: B023


def test_gradients_of_grid_sample_are_the_same_each_time(rng: np.random.Generator) -> None:
    x, grid = rng.normal(size=(2, 3, 6, 7)), rng.uniform(-1.2, 1.2, size=(2, 40, 41, 2))
    first, second = (gradients(lm.grid_sample, [x, grid], "float32", False)[1] for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", [(0, 2, 3, 3), (2, 0, 3, 3), (0, 2, 3, 3, 3)])
def test_grid_sample_of_no_images(shape: tuple[int, ...]) -> None:
    x, grid = np.zeros(shape), np.zeros((shape[0], *[2] * (len(shape) - 2), len(shape) - 2))
    y, (dx, dgrid) = gradients(lm.grid_sample, [x, grid], "float32", False)
    assert y.shape == (*shape[:2], *grid.shape[1:-1])
    assert dx.shape == shape and dgrid.shape == grid.shape and not dgrid.any()


def test_grid_sample_of_views_and_numbers_that_are_none(rng: np.random.Generator) -> None:
    x = lm.asarray(rng.normal(size=(1, 4, 6, 2)).astype("float32"))
    grid = lm.asarray(rng.uniform(-1, 1, size=(1, 3, 2, 2)).astype("float32"))
    turned = lm.permute_dims(x, (0, 3, 1, 2))
    whole = lm.contiguous(turned)
    assert lm.grid_sample(turned, grid).tolist() == lm.grid_sample(whole, grid).tolist()
    nan = lm.full([1, 1, 3, 2], float("nan"))
    infinite = lm.full([1, 1, 3, 2], float("inf"))
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for places in (nan, infinite, -infinite):
                assert lm.grid_sample(whole, places, mode, padding).shape == (1, 2, 1, 3)
    assert lm.grid_sample(whole, infinite, "nearest", "zeros").tolist() == np.zeros((1, 2, 1, 3)).tolist()


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("size", [(1, 1), (2, 1), (1, 2), (3, 3), (4, 5), (40, 4)])
def test_grid_sample_of_few_and_many_columns(mode: str, size: tuple[int, int], rng: np.random.Generator) -> None:
    x = rng.normal(size=(1, 2, *size))
    # More places than go at once, and not whole vectors of them.
    grid = rng.uniform(-1.5, 1.5, size=(1, 7, 43, 2))
    for padding in ("zeros", "border", "reflection"):
        check_both(lambda x, grid: lm.grid_sample(x, grid, mode, padding), [x, grid], "float64")  # noqa: B023


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_beside_infinite_elements(mode: str) -> None:
    x = lm.zeros([1, 1, 6, 6])
    x[0, 0, :, 0] = float("inf")
    x[0, 0, :, 5] = float("nan")
    # What is not read counts nothing: left and right of the image, and between finite elements.
    grid = lm.asarray([[[[-3.0, 0.0], [0.0, 0.0], [3.0, 0.0], [0.0, 5.0]]]])
    assert lm.grid_sample(x, grid, mode).tolist() == [[[[0.0] * 4]]]


def test_second_derivatives_of_grid_sample(rng: np.random.Generator) -> None:
    x, grid = rng.normal(size=(1, 2, 4, 3)), rng.uniform(-0.9, 0.9, size=(1, 2, 2, 2))
    check_gradients(lambda x, grid: lm.grid_sample(x, grid), x, grid)
    check_gradients(lambda x, grid: lm.grid_sample(x, grid, "bicubic"), x, grid)

    def by_itself(x: lm.Tensor) -> lm.Tensor:
        return lm.grid_sample(x, lm.tanh(lm.permute_dims(x[:, :, :2], (0, 2, 3, 1))))

    check_gradients(by_itself, x)
