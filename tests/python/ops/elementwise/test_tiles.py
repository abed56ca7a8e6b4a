"""Operands whose elements lie along different axes: kernels bring them side by side, a tile at a time."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import lamella as lm

#: More rows and columns than a tile has, fewer, and some left over.
SHAPES = [(300, 130), (4, 1100), (1100, 4), (5, 7, 90), (67, 3, 70), (66, 65, 9), (3, 65, 4, 70)]
DTYPES = ["uint8", "int16", "float16", "bfloat16", "int32", "float32", "float64", "complex64", "complex128"]


def orders(axes: int) -> list[tuple[int, ...]]:
    """Orders in which axes lie in memory; of four, those that put each one last and next to last."""
    every = list(permutations(range(axes)))
    return every if axes < 4 else every[::2]


def laid_out(x: np.ndarray, order: tuple[int, ...]) -> lm.Tensor:
    """x, whose axes lie in memory in that order."""
    back = [order.index(axis) for axis in range(x.ndim)]
    return lm.permute_dims(lm.asarray(x.transpose(order).copy()), tuple(back))


def sample(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Small integers, which every dtype holds, as do their differences."""
    x = rng.integers(20, 40, shape) if dtype == "uint8" else rng.integers(-40, 40, shape)
    y = x + 1j * rng.integers(-40, 40, shape) if dtype.startswith("complex") else x
    return y.astype("float32" if dtype == "bfloat16" else dtype)


def values(x: lm.Tensor) -> np.ndarray:
    return (x.astype("float32") if x.dtype in (lm.bfloat16, lm.float16) else x).numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_do_not_depend_on_layouts(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a, b = (sample(shape, dtype, rng) for _ in range(2))
    b = np.minimum(a, b) if dtype == "uint8" else b
    mask = rng.random(shape) < 0.5
    for order in orders(len(shape)):
        x = lm.asarray(a).astype(dtype)
        y = laid_out(b, order).astype(dtype) if dtype == "bfloat16" else laid_out(b, order)
        np.testing.assert_array_equal(values(x - y), (a - b).astype(values(x).dtype), f"{order}")
        np.testing.assert_array_equal(values(y - x), (b - a).astype(values(x).dtype), f"{order}")
        np.testing.assert_array_equal((x == y).numpy(), a == b, f"{order}")
        for other in (order, tuple(range(len(shape)))):
            got = lm.where(laid_out(mask, other), x, y)
            np.testing.assert_array_equal(values(got), np.where(mask, a, b).astype(values(x).dtype), f"{order}")


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_that_are_written_into_layouts(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    a, b, c = (sample(shape, dtype, rng) for _ in range(3))
    b = np.minimum(a, b) if dtype == "uint8" else b
    for order in orders(len(shape)):
        for other in orders(len(shape))[1::2]:
            x, out = laid_out(a, order), laid_out(c, other)
            lm.subtract(x, laid_out(b, other), out=out)
            np.testing.assert_array_equal(out.numpy(), a - b, f"{order} {other}")
            x -= laid_out(b, other)
            np.testing.assert_array_equal(x.numpy(), a - b, f"{order} {other}")


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex128"])
def test_parts_of_layouts(dtype: str, rng: np.random.Generator) -> None:
    """Operands that are cut, stepped through, turned round, repeated along either axis, and results that are cut."""
    a, b = sample((200, 150), dtype, rng), sample((160, 210), dtype, rng)
    x, y = lm.asarray(a), lm.asarray(b)
    for cut in (np.s_[:150, :200], np.s_[7:157, 9:209], np.s_[149::-1, :200], np.s_[:150, 199::-1], np.s_[5:6, 3:203]):
        expected = a - b[cut].T
        np.testing.assert_array_equal((x - y[cut].T).numpy(), expected)
        np.testing.assert_array_equal((y[cut].T - x).numpy(), -expected)
        for step in (1, 2):
            whole = lm.zeros((200, 300), dtype=dtype)
            lm.subtract(x, y[cut].T, out=whole[:, : 150 * step : step])
            np.testing.assert_array_equal(whole.numpy()[:, : 150 * step : step], expected)
            assert whole.numpy().any(axis=0).sum() <= 150
    row, column = a[:1], a[:, :1]
    turned = y[:150, :200].T
    np.testing.assert_array_equal((lm.asarray(row) - turned).numpy(), row - b[:150, :200].T)
    np.testing.assert_array_equal((lm.asarray(column) - turned).numpy(), column - b[:150, :200].T)


def test_an_operand_that_is_the_result_turned_round(rng: np.random.Generator) -> None:
    a = sample((300, 300), "float64", rng)
    for order in permutations(range(2)):
        x = laid_out(a, order)
        x -= x.T
        np.testing.assert_array_equal(x.numpy(), a - a.T)


def test_conversions_keep_the_order_of_axes() -> None:
    x = lm.arange(24.0).reshape((2, 3, 4)).permute_dims((2, 0, 1))
    for y in (x.astype("float32"), x.astype("float64"), lm.float_power(x, x), x + x.astype("float64")):
        assert y.strides == x.strides
        assert y.data_ptr() != x.data_ptr()
    assert x.astype("float32", copy=False) is x


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_do_not_depend_on_layouts(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    a, b, d = (rng.uniform(0.5, 2, shape) for _ in range(3))

    def gradients(x: lm.Tensor, y: lm.Tensor, dz: lm.Tensor) -> list[np.ndarray]:
        x.stop_gradient = y.stop_gradient = False
        return [g.numpy() for g in lm.grad(lm.atan2(x, y) * lm.exp(y), [x, y], dz)]

    same = tuple(range(len(shape)))
    expected = gradients(*(laid_out(part, same) for part in (a, b, d)))
    for order in orders(len(shape)):
        for layouts in ((order, same, same), (same, order, same), (same, same, order)):
            got = gradients(*(laid_out(part, layout) for part, layout in zip((a, b, d), layouts, strict=True)))
            for one, other in zip(got, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-14, err_msg=f"{layouts}")
