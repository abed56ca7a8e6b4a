"""Products and their gradients, where factors are 0 and where there are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamella as lm

from ..fused import FUSED, check_both
from ..gradcheck import check_gradients


def with_zeros(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Rows with no zero, with one and with two."""
    x = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.uniform(-1, 1, shape)
    flat = x.reshape(-1)
    flat[::11] = 0
    flat[1 : flat.size // 2 : 13] = 0
    return x


@pytest.mark.parametrize("dtype", FUSED)
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


@pytest.mark.parametrize(("shape", "axis"), [((0,), None), ((3, 0), 1), ((0, 3), 0), ((3, 0), 0)])
def test_products_of_nothing_are_followed(shape: tuple[int, ...], axis: int | None) -> None:
    x = lm.tensor(np.zeros(shape), stop_gradient=False)
    y = lm.prod(x, axis=axis)
    np.testing.assert_array_equal(y.detach().numpy(), np.prod(np.zeros(shape), axis=axis))
    y.sum().backward()
    assert x.grad.shape == shape
