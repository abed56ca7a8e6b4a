"""Small tensors to differentiate at."""

from __future__ import annotations

from typing import Any

import numpy as np

import lamella as lm


def leaf(*values: Any, dtype: str = "float32") -> lm.Tensor:
    """A vector (or, of lists, a matrix) that wants a gradient."""
    return lm.tensor(list(values), dtype=dtype, stop_gradient=False)


def vec(*values: float, grad: bool = False) -> lm.Tensor:
    """A float64 vector that wants a gradient where that is asked."""
    return lm.tensor(np.array(values, dtype="float64"), stop_gradient=not grad)
