"""First and second derivatives of any function of tensors, against central differences in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import lamella as lm


def check_gradients(f: Callable[..., lm.Tensor], *arrays: np.ndarray, second: bool = True) -> None:
    """Checks the gradients of ``f`` with respect to every array, and the gradients of those."""
    inputs = [lm.tensor(a, stop_gradient=False) for a in arrays]
    assert lm.autograd.gradcheck(f, inputs, atol=1e-7, rtol=2e-5)
    if second:
        assert lm.autograd.gradgradcheck(f, inputs, atol=2e-6, rtol=5e-5)
