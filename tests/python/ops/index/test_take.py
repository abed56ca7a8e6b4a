"""Elements taken by their place in the flat tensor."""

from __future__ import annotations

import numpy as np

import lamella as lm

from ..gradcheck import check_gradients


def test_take_without_an_axis(rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3))
    places = np.array([[5, 0], [-1, 2]])
    np.testing.assert_array_equal(lm.take(lm.asarray(x), lm.asarray(places)).numpy(), np.take(x, places))
    assert lm.take(lm.asarray(3.0), lm.asarray([0, 0])).tolist() == [3.0, 3.0]
    check_gradients(lambda a: lm.take(a * a, lm.asarray(places)), x)
