"""Gradients by kernels, beside those of the compositions that stand for them where a gradient is itself recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm

#: Tolerances, by dtype.
FUSED = {
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
    tolerance = FUSED[dtype]
    _, fused = gradients(f, arrays, dtype, False)
    _, composed = gradients(f, arrays, dtype, True)
    for a, b in zip(fused, composed, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(b).max(initial=0))))
