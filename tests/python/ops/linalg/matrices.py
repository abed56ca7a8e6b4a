"""Matrices that the tests of linear algebra share, and how their results are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

import lamella as lm

DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((1, 1), (2, 2), (3, 3), (5, 2), (2, 5), (2, 3, 3), (2, 1, 4, 3), (20, 20), (70, 30), (30, 70))


def draw(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    values = rng.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.normal(size=shape)
    return values.astype(dtype)


def regular(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Square matrices that are far from singular."""
    return draw(shape, dtype, rng) + (2 * shape[-1] * np.eye(shape[-1])).astype(dtype)


def hermitian(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    a = draw(shape, dtype, rng)
    return a + np.conj(np.swapaxes(a, -1, -2))


def mh(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def real(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def close(got: Any, expected: Any, dtype: str) -> None:
    got = got.numpy() if isinstance(got, lm.Tensor) else got
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(got, expected, rtol=0, atol=scale * (2e-4 if real(dtype) == "float32" else 1e-11))
