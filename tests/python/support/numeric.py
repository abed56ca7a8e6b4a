"""Derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def differences(f: Callable[[np.ndarray], Any], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """The Jacobian of a function of an array by central differences, of shape (*result, *x)."""
    columns = []
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        columns.append((np.asarray(f(up)) - np.asarray(f(down))) / (2 * step))
    return np.stack(columns, -1).reshape((*columns[0].shape, *x.shape))
