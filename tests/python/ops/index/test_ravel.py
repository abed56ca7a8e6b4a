"""Positions in flat tensors, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_positions(dtype: str) -> None:
    flat = np.array([[0, 7], [23, 11]]).astype(dtype)
    axes = lm.unravel_index(lm.asarray(flat), (2, 3, 4))
    for got, expected in zip(axes, np.unravel_index(flat, (2, 3, 4)), strict=True):
        assert got.dtype.name == "int64"
        np.testing.assert_array_equal(got.numpy(), expected)
    np.testing.assert_array_equal(lm.ravel_multi_index(axes, (2, 3, 4)).numpy(), flat)
    assert lm.ravel_multi_index([lm.asarray([[0], [1]]), lm.asarray([0, 2])], (2, 3)).tolist() == [[0, 2], [3, 5]]
    assert lm.unravel_index(lm.zeros([0], dtype="int64"), (0, 2))[0].shape == (0,)
    assert lm.unravel_index(lm.asarray(0), ()) == ()
