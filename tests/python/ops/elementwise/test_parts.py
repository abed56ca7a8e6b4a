"""Ends of ``lerp``: exact ones, and infinite ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lamella as lm

from ..samples import EPS

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "complex64", "complex128"])
@pytest.mark.parametrize("count", [1, 7, 64, 1000])
def test_ends_are_exact(dtype: str, count: int, rng: np.random.Generator) -> None:
    scale = 10.0 ** rng.integers(-3, 4, (2, count))
    a, b = (lm.asarray(rng.standard_normal(count) * scale[i]).astype(dtype) for i in range(2))
    for at, end in ((0.0, a), (1.0, b)):
        assert lm.all(lm.lerp(a, b, at) == end).item()
        assert lm.all(lm.lerp(a, b, lm.full((count,), at, dtype=dtype)) == end).item()


#: a, b, c and the result: infinite where the farther end is, and no number where the nearer one is.
INFINITE = [
    (-INF, 2.0, 0.3, NAN),
    (-INF, 2.0, 0.5, -INF),
    (-INF, 2.0, 0.9, -INF),
    (1.0, INF, 0.3, INF),
    (1.0, INF, 0.7, NAN),
    (0.0, -INF, 0.2, -INF),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("a, b, c, wanted", INFINITE)
def test_infinite_ends(dtype: str, a: float, b: float, c: float, wanted: float) -> None:
    made = lm.lerp(*(lm.full((9,), value, dtype=dtype) for value in (a, b)), c).numpy()
    np.testing.assert_array_equal(made, np.full(9, wanted, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_lerp_reaches_both_ends(dtype: str) -> None:
    sizes = np.array([0, 1e-30, 0.1, 1.5, 1e3, 1e20, 1e20 if dtype == "complex64" else 3e38])
    ends = np.concatenate([sizes, -sizes]).astype(dtype)
    a, b = (lm.asarray(x) for x in np.meshgrid(ends, ends))
    np.testing.assert_array_equal(lm.lerp(a, b, 0.0).numpy(), a.numpy())
    np.testing.assert_array_equal(lm.lerp(a, b, 1.0).numpy(), b.numpy())
    if dtype != "complex64":
        middle = lm.lerp(a, b, 0.5).numpy()
        np.testing.assert_allclose(middle, (a.numpy() / 2 + b.numpy() / 2), rtol=4 * EPS[dtype], atol=1e-37)
