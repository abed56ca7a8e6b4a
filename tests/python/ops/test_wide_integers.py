"""Large integers where they become floating numbers: differences between them are not lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

# Seconds since 1970: float32 holds every 128th of them.
FIRST = 1_700_000_000
A, B = (np.random.default_rng(5).integers(0, 50, (2, 4, 6)) + FIRST).astype("int64")

Call = Callable[..., Any]
CALLS: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    "var": (lambda a: lm.var(a, axis=0), (A,)),
    "std": (lambda a: lm.std(a, correction=1), (A,)),
    "var_mean": (lambda a: lm.var_mean(a, axis=1)[0], (A,)),
    "std_mean": (lambda a: lm.std_mean(a)[0], (A,)),
    "cov": (lm.cov, (A,)),
    "corrcoef": (lm.corrcoef, (A,)),
    "cdist": (lm.cdist, (A, B)),
    "pdist": (lambda a: lm.pdist(a, 3), (A,)),
    "dist": (lm.dist, (A, B)),
    "pairwise_distance": (lm.pairwise_distance, (A, B)),
    "softmax": (lm.softmax, (A,)),
    "log_softmax": (lm.log_softmax, (A,)),
    "softmin": (lm.nn.functional.softmin, (A,)),
    "mse_loss": (lm.mse_loss, (A, B)),
    "huber_loss": (lm.huber_loss, (A, B)),
    "smooth_l1_loss": (lm.smooth_l1_loss, (A, B)),
    "gradient": (lambda a: lm.gradient(a, axis=1)[0], (A,)),
    "gradient at places": (
        lambda a, places: lm.gradient(a, spacing=[places], axis=1)[0],
        (np.ones((4, 6), "float32") * np.arange(6, dtype="float32") ** 2, np.sort(A[0]) + np.arange(6)),
    ),
    "trapezoid": (lambda x: lm.trapezoid(lm.ones([6]), x), (A,)),
    "cumulative_trapezoid": (lambda x: lm.cumulative_trapezoid(lm.ones([6]), x), (A[0],)),
    "sin": (lm.sin, (A,)),
    "squared_difference": (lm.squared_difference, (A, B)),
    "with a number": (lambda a: a - (FIRST + 0.5), (A,)),
    "hypot": (lambda a, b: lm.hypot(a, b), (A, B)),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_float64_rounded(name: str) -> None:
    function, arrays = CALLS[name]
    wide = [lm.asarray(a.astype("float64")) for a in arrays]
    want = function(*wide)
    for dtype in ("int64", "int32", "uint32"):
        given = [lm.asarray(a.astype(dtype) if a.dtype.kind == "i" else a) for a in arrays]
        got = function(*given)
        assert got.dtype == lm.float32
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-5 * np.abs(want.numpy()).max())


def test_small_integers_and_bools_become_float32_as_before() -> None:
    for dtype in ("int8", "uint8", "int16", "bool"):
        x = lm.asarray([0, 1, 1]).astype(dtype)
        assert lm.var(x).dtype == lm.sin(x).dtype == lm.softmax(x).dtype == lm.float32
        np.testing.assert_allclose(lm.var(x).item(), 2 / 9, rtol=1e-6)


def test_examples_and_compiled_functions_agree() -> None:
    rows = lm.asarray(A)
    np.testing.assert_array_equal(lm.vmap(lm.std)(rows).numpy(), lm.std(rows, axis=1).numpy())
    compiled = lm.compile(lambda x: lm.sin(x) * 2 + (x - (FIRST + 0.5)))
    want = lm.sin(rows) * 2 + (rows - (FIRST + 0.5))
    for _ in range(4):
        np.testing.assert_array_equal(compiled(rows).numpy(), want.numpy())
