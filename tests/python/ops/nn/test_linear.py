"""Forms of `linear`: vectors, integers, mixed dtypes."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

from ..draws import complex_numbers, integers


def test_forms_of_linear(rng: np.random.Generator) -> None:
    x, w = rng.normal(size=(2, 3)), rng.normal(size=(3,))
    got = lm.linear(lm.asarray(x), weight=lm.asarray(w), bias=lm.asarray(0.5))
    np.testing.assert_allclose(got.numpy(), x @ w + 0.5)
    a, b, c = (rng.integers(-5, 5, shape) for shape in ((2, 3), (4, 3), (4,)))
    whole = lm.linear(lm.asarray(a), lm.asarray(b), lm.asarray(c))
    assert whole.dtype.name == "int64"
    np.testing.assert_array_equal(whole.numpy(), a @ b.T + c)
    z = complex_numbers(rng, 4, 3)
    np.testing.assert_allclose(lm.linear(lm.asarray(x), lm.asarray(z)).numpy(), x @ z.T)
    with pytest.raises(ValueError, match=r"\[linear\] bias must be a 0-d tensor"):
        lm.linear(lm.asarray(x), lm.asarray(w), lm.ones([2]))
    with pytest.raises(TypeError, match=r"\[linear\] does not take dtype bool"):
        lm.linear(lm.ones([2, 3], dtype="bool"), lm.ones([4, 3], dtype="bool"))


def test_products_of_integers_stay_integers(rng: np.random.Generator) -> None:
    a, b, w = (integers(rng, "int64", *shape) for shape in ((2, 3), (2, 4), (5, 3, 4)))
    y = lm.bilinear(*[lm.asarray(v) for v in (a, b, w)])
    assert y.dtype.name == "int64"
    np.testing.assert_array_equal(y.numpy(), np.einsum("ni,oij,nj->no", a, w, b))
