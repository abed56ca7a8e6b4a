"""Vectors with a one for each class."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm


def test_one_hot() -> None:
    np.testing.assert_array_equal(
        lm.one_hot(lm.asarray([[0, 2], [1, 1]]), 3).numpy(), np.eye(3, dtype="int64")[[[0, 2], [1, 1]]]
    )
    with pytest.raises(IndexError, match="one_hot"):
        lm.one_hot(lm.asarray([3]), 3)
