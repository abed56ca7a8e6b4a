"""Counts of integers and of numbers in bins, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm


def test_bincount(rng: np.random.Generator) -> None:
    x = rng.integers(0, 12, 100)
    w = rng.normal(size=100)
    for dtype in ("uint8", "int32", "int64"):
        t = lm.asarray(x).astype(dtype)
        np.testing.assert_array_equal(lm.bincount(t).numpy(), np.bincount(x))
        np.testing.assert_array_equal(lm.bincount(t, minlength=20).numpy(), np.bincount(x, minlength=20))
        np.testing.assert_allclose(lm.bincount(t, lm.asarray(w)).numpy(), np.bincount(x, w))
    assert lm.bincount(lm.asarray([1]), lm.ones([1])).dtype == lm.float32
    assert lm.bincount(lm.asarray([1]), lm.ones([1], dtype="int32")).dtype == lm.float64
    assert lm.bincount(lm.zeros([0], dtype="int64")).shape == (0,)
    for bad, error in [([-1], ValueError), ([[1]], ValueError), ([1.5], TypeError)]:
        with pytest.raises(error, match=r"\[bincount\]"):
            lm.bincount(lm.asarray(bad))
    with pytest.raises(ValueError, match="minlength"):
        lm.bincount(lm.asarray([1]), minlength=-1)
    with pytest.raises(ValueError, match="weights"):
        lm.bincount(lm.asarray([1]), lm.ones([2]))
    with pytest.raises((ValueError, MemoryError)):
        lm.bincount(lm.asarray([2**63 - 1]))


@pytest.mark.parametrize("count", [1, 7, 1000, 4000, 50_000])
def test_bincount_of_many(count: int, rng: np.random.Generator) -> None:
    # In tables side by side, in parts, in one pass.
    x = rng.integers(0, count, 150_001)
    w = rng.normal(size=x.shape)
    t = lm.asarray(x)
    before = lm.get_num_threads()
    results = []
    try:
        for threads in (1, 3):
            lm.set_num_threads(threads)
            np.testing.assert_array_equal(lm.bincount(t).numpy(), np.bincount(x))
            results.append(lm.bincount(t, lm.asarray(w)).numpy())
            np.testing.assert_allclose(results[-1], np.bincount(x, w), atol=1e-9)
            single = lm.bincount(t, lm.asarray(w.astype(np.float32)))
            np.testing.assert_allclose(single.numpy(), np.bincount(x, w.astype(np.float32)), rtol=1e-5, atol=1e-5)
    finally:
        lm.set_num_threads(before)
    np.testing.assert_array_equal(*results)
    x[-1] = -3
    with pytest.raises(ValueError, match="negative, got -3"):
        lm.bincount(lm.asarray(x))


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_histogram(density: bool, weighted: bool, rng: np.random.Generator) -> None:
    x = rng.normal(size=(20, 30))
    w = rng.random((20, 30)) if weighted else None
    weights = lm.asarray(w) if weighted else None
    for bins, limits in [(10, None), (7, (-1.0, 1.5)), (np.array([-2.0, -1.0, 0.5, 0.5, 3.0]), None)]:
        t = lm.asarray(bins) if isinstance(bins, np.ndarray) else bins
        got = lm.histogram(lm.asarray(x), t, range=limits, weights=weights, density=density)
        with np.errstate(all="ignore"):
            expected, edges = np.histogram(x, bins, limits, density, w)
        np.testing.assert_allclose(got.hist.numpy(), expected, rtol=1e-12)
        np.testing.assert_allclose(got.bin_edges.numpy(), edges, rtol=1e-12, atol=1e-15)


def test_histogram_of_special_input() -> None:
    nan = float("nan")
    edges = lm.histogram(lm.asarray([2.0, 2.0]), 2)
    assert edges.hist.tolist() == [0.0, 2.0] and edges.bin_edges.tolist() == [1.5, 2.0, 2.5]
    assert lm.histogram(lm.asarray([nan, 1.0]), 1, range=(0, 2)).hist.tolist() == [1.0]
    assert lm.histogram(lm.asarray([1, 2], dtype="uint8"), 2).hist.dtype == lm.float32
    assert lm.histogram(lm.zeros([0]), 3).hist.tolist() == [0.0] * 3
    # Edges that are no floats of few digits: each value belongs to the bin that its edge opens.
    tenths = np.arange(0, 1.0, 0.1)
    assert lm.histogram(lm.asarray(tenths), 10, range=(0.0, 1.0)).hist.tolist() == list(
        np.histogram(tenths, 10, (0.0, 1.0))[0]
    )
    # Bins narrower than any number: all edges but the last are the first one.
    least = float(np.nextafter(0.0, 1.0))
    few = lm.asarray([0.0, least, -1.0, 1.0], dtype="float64")
    assert lm.histogram(few, 10, range=(0.0, least)).hist.tolist() == [0.0] * 9 + [2.0]
    for call in [
        lambda: lm.histogram(lm.asarray([nan])),
        lambda: lm.histogram(lm.ones([2]), 0),
        lambda: lm.histogram(lm.ones([2]), range=(2, 1)),
        lambda: lm.histogram(lm.ones([2]), lm.asarray([1.0])),
        lambda: lm.histogram(lm.ones([2]), lm.asarray([2.0, 1.0])),
        lambda: lm.histogram(lm.ones([2]), weights=lm.ones([3])),
        lambda: lm.histogram(lm.ones([2]), range=(1, 2, 3)),
    ]:
        with pytest.raises(ValueError, match=r"\[histogram\]"):
            call()
    for call in [lambda: lm.histogram(lm.ones([2]), 2.5), lambda: lm.histogram(lm.ones([2]), range="no")]:
        with pytest.raises(TypeError, match=r"\[histogram\]"):
            call()


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
