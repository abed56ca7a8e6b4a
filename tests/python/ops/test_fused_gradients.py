"""Gradients by kernels, beside those of the compositions that stand for them where a gradient is itself recorded."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .gradcheck import check_gradients

TOLERANCE = {
    "float16": 2e-2,
    "bfloat16": 6e-2,
    "float32": 2e-4,
    "float64": 1e-11,
    "complex64": 2e-4,
    "complex128": 1e-11,
}
Function = Callable[..., Any]


def gradients(f: Function, arrays: list[np.ndarray], dtype: str, create_graph: bool) -> tuple[Any, list[Any]]:
    inputs = [lm.tensor(a).astype(dtype) for a in arrays]
    for x in inputs:
        x.stop_gradient = False
    y = f(*inputs)
    dy = lm.asarray(np.cos(np.arange(y.size)).reshape(y.shape)).astype(y.dtype)
    grads = lm.autograd.grad([y], inputs, [dy], create_graph=create_graph, materialize_grads=True)
    wide = "complex128" if dtype.startswith("complex") else "float64"
    return y.detach().astype(wide).numpy(), [g.detach().astype(wide).numpy() for g in grads]


def check_both(f: Function, arrays: list[np.ndarray], dtype: str) -> None:
    tolerance = TOLERANCE[dtype]
    _, fused = gradients(f, arrays, dtype, False)
    _, composed = gradients(f, arrays, dtype, True)
    for a, b in zip(fused, composed, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(b).max(initial=0))))


def with_zeros(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Rows with no zero, with one and with two."""
    x = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.uniform(-1, 1, shape)
    flat = x.reshape(-1)
    flat[::11] = 0
    flat[1 : flat.size // 2 : 13] = 0
    return x


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (1, 2), (0, 2), ()], ids=str)
def test_prod(axis: Any, dtype: str, rng: np.random.Generator) -> None:
    x = with_zeros((3, 5, 4), dtype, rng)
    check_both(lambda a: lm.prod(a, axis=axis), [x], dtype)
    check_both(lambda a: lm.prod(a.mT, axis=axis, keepdims=True), [x], dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 7), (9, 100), (20, 3), (2, 70, 130)])
def test_prod_against_numpy(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    x = rng.uniform(0.9, 1.1, shape).astype(dtype)
    for axis in range(len(shape)):
        a = lm.tensor(x, stop_gradient=False)
        y = lm.prod(a, axis=axis)
        y.sum().backward()
        assert a.grad is not None
        expected = np.prod(x.astype("float64"), axis=axis, keepdims=True) / x
        np.testing.assert_allclose(a.grad.numpy(), expected, rtol=1e-4 if dtype == "float32" else 1e-11)


def test_second_derivatives_of_prod(rng: np.random.Generator) -> None:
    x = rng.uniform(0.5, 1.5, (2, 3, 2))
    x[0, 1, 0] = 0
    x[1, 0, 1] = x[1, 2, 1] = 0
    for axis in (None, 0, 1, (0, 2)):
        check_gradients(lambda a, axis=axis: lm.prod(a, axis=axis), x)


def test_prod_of_scalars_and_of_nothing() -> None:
    x = lm.tensor(3.0, stop_gradient=False)
    lm.prod(x).backward()
    assert x.grad is not None
    assert x.grad.item() == 1.0
    nothing = lm.tensor(np.zeros((0, 3), "float32"), stop_gradient=False)
    assert lm.prod(nothing, axis=0).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 3), (70, 5), (300, 40), (5, 3, 2), (33, 4, 7), (3000, 10)])
@pytest.mark.parametrize("weights", [True, False])
def test_batch_norm_of_small_planes(
    shape: tuple[int, ...], weights: bool, dtype: str, rng: np.random.Generator
) -> None:
    x = rng.normal(size=shape) * 3 + 5
    w, b = rng.normal(size=shape[1]), rng.normal(size=shape[1])

    def f(x: lm.Tensor, w: lm.Tensor, b: lm.Tensor) -> lm.Tensor:
        return lm.batch_norm(x, None, None, w if weights else None, b if weights else None, training=True)

    axes = (0, *range(2, len(shape)))
    expected = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    if weights:
        expected = expected * w.reshape(1, -1, *[1] * (len(shape) - 2)) + b.reshape(1, -1, *[1] * (len(shape) - 2))
    y, _ = gradients(f, [x, w, b], dtype, False)
    np.testing.assert_allclose(y, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    check_both(f, [x, w, b], dtype)


def test_running_statistics_of_small_planes(rng: np.random.Generator) -> None:
    x = rng.normal(size=(50, 4, 3)) + 2
    mean, variance = lm.zeros([4], dtype="float64"), lm.ones([4], dtype="float64")
    lm.batch_norm(lm.asarray(x), mean, variance, training=True, momentum=1.0)
    np.testing.assert_allclose(mean.numpy(), x.mean((0, 2)))
    np.testing.assert_allclose(variance.numpy(), x.var((0, 2), ddof=1))


GRIDS = list(itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("mode", "padding", "align"), GRIDS)
def test_grid_sample(mode: str, padding: str, align: bool, dtype: str, rng: np.random.Generator) -> None:
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
        np.testing.assert_allclose(y, volume[:, :, 0], rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    check_both(f, [x, grid], dtype)


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


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 40)])
def test_scatter_of_numbers_that_repeat(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    index = lm.asarray(rng.integers(0, 5, shape))
    x, src = rng.normal(size=(*shape[:-1], 5)), rng.normal(size=shape)
    check_both(lambda x, src: lm.scatter(x, -1, index, src), [x, src], dtype)
    check_both(lambda src: lm.scatter(lm.zeros((*shape[:-1], 5), dtype=dtype), -1, index, src), [src], dtype)
    # Only the last of the values that are written to an element counts.
    last = np.zeros(shape)
    for at in np.ndindex(shape):
        last[at] = not (index.numpy()[at[:-1]][at[-1] + 1 :] == index.numpy()[at]).any()
    a = lm.tensor(src).astype(dtype)
    a.stop_gradient = False
    lm.scatter(lm.asarray(x).astype(dtype), -1, index, a).sum().backward()
    assert a.grad is not None
    np.testing.assert_array_equal(a.grad.astype("float64").numpy(), last)


@pytest.mark.parametrize("shape", [(6, 4), (2, 10, 3)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_glu(shape: tuple[int, ...], axis: int, rng: np.random.Generator) -> None:
    if shape[axis] % 2:
        shape = (*shape[:-1], 4)
    x = rng.normal(size=shape)
    a, b = np.split(x, 2, axis)
    np.testing.assert_allclose(lm.glu(lm.asarray(x), axis).numpy(), a / (1 + np.exp(-b)), rtol=1e-12)
    check_gradients(lambda x: lm.glu(x, axis), x)


def test_second_derivatives_of_grid_sample(rng: np.random.Generator) -> None:
    x, grid = rng.normal(size=(1, 2, 4, 3)), rng.uniform(-0.9, 0.9, size=(1, 2, 2, 2))
    check_gradients(lambda x, grid: lm.grid_sample(x, grid), x, grid)
    check_gradients(lambda x, grid: lm.grid_sample(x, grid, "bicubic"), x, grid)

    def by_itself(x: lm.Tensor) -> lm.Tensor:
        return lm.grid_sample(x, lm.tanh(lm.permute_dims(x[:, :, :2], (0, 2, 3, 1))))

    check_gradients(by_itself, x)
