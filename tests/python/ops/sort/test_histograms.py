"""Histograms by bins of one width and of many dimensions, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

FLOATS = ["float32", "float64"]


HALVES = ["float16", "bfloat16"]


NAN = float("nan")


@pytest.mark.parametrize("dtype", [*FLOATS, *HALVES, "int64"])
def test_histc(dtype: str) -> None:
    x = lm.cast(lm.asarray([[0.0, 1.0, 1.5], [2.0, 4.0, 3.0]]), dtype)
    wide = lm.cast(x, "float64").numpy()
    for ends in ((0.0, 0.0), (1.0, 3.0), (-1.0, 0.0)):
        got = lm.histc(x, 4, *ends)
        assert got.dtype.name == dtype
        range_ = None if ends[0] == ends[1] else ends
        np.testing.assert_array_equal(lm.cast(got, "float64").numpy(), np.histogram(wide, 4, range_)[0])
    assert lm.histc(lm.ones([3]), 4).tolist() == [0.0, 0.0, 3.0, 0.0]
    assert lm.histc(lm.zeros([0]), 2).tolist() == [0.0, 0.0]
    assert lm.histc(lm.asarray([NAN, 1.0]), 2, 0, 2).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("dtype", [*FLOATS, "int64"])
@pytest.mark.parametrize("density", [False, True])
def test_histogramdd(dtype: str, density: bool) -> None:
    rng = np.random.default_rng(7)
    x = (rng.normal(size=(50, 2)) * 3).astype(dtype)
    weights = rng.uniform(size=50)
    edges = [np.array([-4.0, -1.0, 0.0, 4.0]), np.array([-3.0, 0.5, 2.0])]
    for bins, range_ in [
        (3, None),
        ([3, 4], None),
        ([3, 2], [(-2.0, 2.0), (-1.0, 4.0)]),
        (edges, None),
        ([2, edges[1]], None),
    ]:
        given = [lm.asarray(b) if isinstance(b, np.ndarray) else b for b in bins] if isinstance(bins, list) else bins
        for w in (None, weights):
            wanted, wanted_edges = np.histogramdd(x, bins, range_, weights=w, density=density)
            hist, found = lm.histogramdd(
                lm.asarray(x), given, range=range_, weights=None if w is None else lm.asarray(w), density=density
            )
            assert hist.dtype.name == (dtype if dtype in FLOATS else "float32")
            np.testing.assert_allclose(hist.numpy(), wanted, rtol=1e-5)
            for got, expected in zip(found, wanted_edges, strict=True):
                np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6, atol=1e-6)
    # Points in more axes count as rows, and the ends may stand in one sequence.
    grid = lm.histogramdd(lm.asarray(x.reshape(5, 10, 2)), [2, 2], range=[-2.0, 2.0, -1.0, 4.0])[0]
    np.testing.assert_array_equal(grid.numpy(), np.histogramdd(x, [2, 2], [(-2.0, 2.0), (-1.0, 4.0)])[0])
    assert lm.histogramdd(lm.zeros([0, 2]), 2)[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]
