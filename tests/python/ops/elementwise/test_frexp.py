"""Significands and exponents, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

from ..gradcheck import check_gradients

FLOATS = ["float32", "float64"]


HALVES = ["float16", "bfloat16"]


NAN = float("nan")


@pytest.mark.parametrize("dtype", [*FLOATS, *HALVES])
def test_frexp(dtype: str) -> None:
    values = [1.0, 0.0, -0.0, -6.0, 0.7, 3e-5, float("inf"), -float("inf"), NAN]
    x = lm.cast(lm.asarray(values, dtype="float64"), dtype)
    mantissa, exponent = lm.frexp(x)
    assert mantissa.dtype.name == dtype and exponent.dtype.name == "int32"
    m, e = np.frexp(lm.cast(x, "float64").numpy())
    np.testing.assert_array_equal(lm.cast(mantissa, "float64").numpy(), m)
    np.testing.assert_array_equal(exponent.numpy(), np.where(np.isfinite(m), e, 0))


def test_frexp_of_small_numbers_and_derivatives(rng: np.random.Generator) -> None:
    for dtype, tiny in (("float32", 1e-45), ("float64", 5e-324)):
        x = lm.tensor([tiny, 3 * tiny, 1.0], dtype=dtype, stop_gradient=False)
        mantissa, exponent = lm.frexp(x)
        expected = np.frexp(np.array([tiny, 3 * tiny, 1.0], dtype))
        np.testing.assert_array_equal(mantissa.detach().numpy(), expected[0])
        np.testing.assert_array_equal(exponent.numpy(), expected[1])
    check_gradients(lambda a: lm.frexp(a * a).mantissa * a, np.array([[0.3, 5.1], [-1.2, 90.0]]))
    assert lm.frexp(lm.zeros([0, 2])).mantissa.shape == (0, 2)
    assert lm.frexp(lm.ones([2]).to_device("meta")).exponent.shape == (2,)
    x = rng.normal(size=(3, 4)).astype("float32")
    np.testing.assert_array_equal(lm.frexp(lm.asarray(x).T).mantissa.numpy(), np.frexp(x.T)[0])
