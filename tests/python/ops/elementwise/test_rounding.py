"""Rounding to decimals, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

FLOATS = ["float32", "float64"]


NAN = float("nan")


@pytest.mark.parametrize("dtype", [*FLOATS, "complex128", "int64"])
@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_round_to_decimals(dtype: str, decimals: int) -> None:
    x = np.array([0.0, 1.2345, -1.25, 127.5, 15, 25, -1234.5678]).astype(dtype)
    got = lm.round(lm.asarray(x), decimals)
    assert got.dtype.name == dtype
    np.testing.assert_allclose(got.numpy(), np.round(x, decimals), rtol=1e-6)


def test_round_of_extremes_and_its_forms() -> None:
    x = lm.asarray([1e38, -1e-30, float("inf"), NAN, 1.256])
    np.testing.assert_array_equal(lm.round(x, 10).numpy(), np.array([1e38, -0.0, np.inf, np.nan, 1.256], "float32"))
    for decimals in (400, 2**62):
        np.testing.assert_array_equal(lm.round(x, decimals).numpy(), x.numpy())
    assert lm.round(lm.asarray([1e38, 3.0]), -(2**62)).tolist() == [0.0, 0.0]
    y = lm.asarray([1.256])
    assert y.round_(2).tolist() == lm.round(lm.asarray([1.256]), decimals=2).tolist()
    assert lm.round(lm.asarray([1.256]), 1, out=y) is y and abs(y.item() - 1.3) < 1e-6
    assert lm.round(lm.asarray([1.6]), out=y).tolist() == [2.0]
    z = lm.tensor([1.26], stop_gradient=False)
    lm.round(z, 1).sum().backward()
    assert z.grad is not None and z.grad.tolist() == [0.0]
