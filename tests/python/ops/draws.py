"""Numbers that tests draw, and slopes of functions of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def integers(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    low = 0 if dtype.startswith("u") else -4
    return rng.integers(low, 5, shape).astype(dtype)


def complex_numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def slope(function: Callable[[np.ndarray], np.ndarray], z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The gradient of the real part of sum(conj(weights) * function(z)), by differences along both parts of z."""
    step = 1e-6
    gradient = np.zeros_like(z)
    for place in np.ndindex(z.shape):
        for direction in (1, 1j) if np.iscomplexobj(z) else (1,):
            up, down = z.copy(), z.copy()
            up[place] += direction * step
            down[place] -= direction * step
            change = (weights.conj() * (function(up) - function(down))).sum().real
            gradient[place] += direction * change / (2 * step)
    return gradient
