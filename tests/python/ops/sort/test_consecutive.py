"""Runs of equal neighbors, against their definition."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

NAN = float("nan")


@pytest.mark.parametrize(
    "x",
    [
        np.array([1, 1, 2, 2, 2, 1]),
        np.array([[1.0, 1.0], [1.0, 1.0], [2.0, NAN], [2.0, NAN]]),
        np.array([True, True, False]),
        np.array([1 + 1j, 1 + 1j, 1j]),
        np.zeros([0, 3]),
        np.array(4.0),
    ],
)
def test_runs(x: np.ndarray) -> None:
    flat = x.reshape(-1)
    begins = np.array([i == 0 or flat[i] != flat[i - 1] for i in range(flat.size)], bool)
    values, inverse, counts = lm.unique_consecutive(lm.asarray(x), return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(values.numpy(), flat[begins])
    np.testing.assert_array_equal(inverse.numpy(), (np.cumsum(begins) - 1).reshape(x.shape))
    np.testing.assert_array_equal(counts.numpy(), np.diff(np.append(np.flatnonzero(begins), flat.size)))
    np.testing.assert_array_equal(lm.unique_consecutive(lm.asarray(x)).numpy(), flat[begins])


def test_runs_of_slices() -> None:
    x = lm.asarray([[1, 1, 2], [1, 1, 2], [3, 3, 1], [1, 1, 2]])
    values, inverse, counts = lm.unique_consecutive(x, return_inverse=True, return_counts=True, axis=0)
    assert values.tolist() == [[1, 1, 2], [3, 3, 1], [1, 1, 2]]
    assert inverse.tolist() == [0, 0, 1, 2] and counts.tolist() == [2, 1, 1]
    assert lm.unique_consecutive(x, axis=-1).tolist() == [[1, 2], [1, 2], [3, 1], [1, 2]]
    assert lm.unique_consecutive(lm.zeros([3, 0]), axis=0).shape == (1, 0)
    with pytest.raises(RuntimeError, match=r"\[unique_consecutive\]"):
        lm.unique_consecutive(lm.ones([3]).to_device("meta"))
