"""Searching, sets and counting, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_searchsorted(dtype: str, side: str, rng: np.random.Generator) -> None:
    high = 2 if dtype == "bool" else 50
    for n in (0, 1, 2, 7, 64, 200):
        a = np.sort(rng.integers(0, high, n)).astype("float64" if "float" in dtype else dtype)
        v = rng.integers(0, high, (30, 5)).astype(a.dtype)
        got = lm.searchsorted(lm.asarray(a).astype(dtype), lm.asarray(v).astype(dtype), side=side)
        assert got.dtype == lm.int64
        np.testing.assert_array_equal(got.numpy(), np.searchsorted(a, v, side=side))


def test_searchsorted_arguments(rng: np.random.Generator) -> None:
    a = rng.permutation(20)
    v = rng.integers(-2, 25, 9)
    sorter = np.argsort(a)
    got = lm.searchsorted(lm.asarray(a), lm.asarray(v), sorter=lm.asarray(sorter))
    np.testing.assert_array_equal(got.numpy(), np.searchsorted(a, v, sorter=sorter))
    x = lm.asarray([1, 3, 5])
    assert lm.searchsorted(x, 3).item() == 1 and lm.searchsorted(x, 3, side="right").item() == 2
    assert lm.searchsorted(x, 3.5).item() == 2
    assert lm.searchsorted(x, lm.asarray([0.5, 5.5])).tolist() == [0, 3]
    nan = float("nan")
    assert lm.searchsorted(lm.asarray([1.0, nan, nan]), nan).item() == 1
    assert lm.searchsorted(lm.asarray([1.0, nan, nan]), nan, side="right").item() == 3
    assert lm.searchsorted(lm.asarray([-0.0, 0.0]), 0.0).item() == 0
    assert lm.searchsorted(lm.zeros([0]), lm.ones([2])).tolist() == [0, 0]
    rows = np.sort(rng.normal(size=(3, 2, 6)), -1)
    wanted = rng.normal(size=(3, 2, 4))
    got = lm.searchsorted(lm.asarray(rows), lm.asarray(wanted))
    for i in np.ndindex(3, 2):
        np.testing.assert_array_equal(got.numpy()[i], np.searchsorted(rows[i], wanted[i]))


def test_searchsorted_refuses() -> None:
    x = lm.asarray([1.0, 2.0])
    with pytest.raises(ValueError, match="side"):
        lm.searchsorted(x, x, side="middle")
    with pytest.raises(ValueError, match="axis"):
        lm.searchsorted(lm.asarray(1.0), x)
    with pytest.raises(ValueError, match=r"\[searchsorted\]"):
        lm.searchsorted(lm.ones([2, 3]), lm.ones([3, 3]))
    with pytest.raises(IndexError, match="sorter"):
        lm.searchsorted(x, x, sorter=lm.asarray([0, 2]))
    with pytest.raises(TypeError, match="sorter"):
        lm.searchsorted(x, x, sorter=x)
    with pytest.raises(TypeError, match="complex64"):
        lm.searchsorted(lm.zeros([2], dtype="complex64"), lm.zeros([2], dtype="complex64"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_isin(dtype: str, rng: np.random.Generator) -> None:
    high = 2 if dtype == "bool" else 30
    a = rng.integers(0, high, (6, 7))
    b = rng.integers(0, high, 9)
    x, among = lm.asarray(a).astype(dtype), lm.asarray(b).astype(dtype)
    np.testing.assert_array_equal(lm.isin(x, among).numpy(), np.isin(a.astype(bool) if high == 2 else a, b))
    np.testing.assert_array_equal(lm.isin(x, among, invert=True).numpy(), ~lm.isin(x, among).numpy())


def test_isin_of_special_input() -> None:
    nan = float("nan")
    assert lm.isin(lm.asarray([1.0, nan, 0.0]), lm.asarray([nan, -0.0])).tolist() == [False, False, True]
    assert lm.isin(lm.asarray([1, 2]), 2).tolist() == [False, True]
    assert lm.isin(2, lm.asarray([1, 2])).item() is True
    assert lm.isin(lm.asarray([1, 2]), lm.zeros([0], dtype="int64")).tolist() == [False, False]
    with pytest.raises(TypeError, match=r"\[isin\]"):
        lm.isin(1, 2)


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_unique(dtype: str, rng: np.random.Generator) -> None:
    a = rng.integers(0, 2 if dtype == "bool" else 9, (4, 50)).astype("float64")
    if dtype.startswith("complex"):
        a = a + 1j * rng.integers(0, 3, a.shape)
    a = a.astype(bool) if dtype == "bool" else a
    x = lm.asarray(a).astype(dtype)
    values, indices, inverse, counts = np.unique(a, return_index=True, return_inverse=True, return_counts=True)
    got = lm.unique_all(x)
    assert got.values.dtype == x.dtype
    wide = "complex128" if dtype.startswith("complex") else "float64"
    np.testing.assert_array_equal(got.values.astype(wide).numpy(), values.astype(wide))
    np.testing.assert_array_equal(got.indices.numpy(), indices)
    np.testing.assert_array_equal(got.inverse_indices.numpy(), inverse)
    np.testing.assert_array_equal(got.counts.numpy(), counts)
    for part in (lm.unique_values(x), lm.unique_counts(x).values, lm.unique_inverse(x).values):
        np.testing.assert_array_equal(part.astype(wide).numpy(), values.astype(wide))
    np.testing.assert_array_equal(lm.unique_counts(x)[1].numpy(), counts)
    np.testing.assert_array_equal(lm.unique_inverse(x)[1].numpy(), inverse)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_unique_of_bytes(dtype: str, rng: np.random.Generator) -> None:
    for n in (0, 1, 7, 1000, 200_000):
        drawn = rng.integers(-128 if dtype == "int8" else 0, 128 if dtype == "int8" else 256, n)
        for wide in (drawn, drawn // 64, drawn * 0 + 1):
            a = wide.astype(dtype)
            values, counts = np.unique(a, return_counts=True)
            got = lm.unique_counts(lm.asarray(a))
            np.testing.assert_array_equal(got.values.numpy(), values)
            np.testing.assert_array_equal(got.counts.numpy(), counts)
            assert got.values.dtype.name == dtype and got.counts.dtype == lm.int64
            np.testing.assert_array_equal(lm.unique_values(lm.asarray(a)).numpy(), values)


def test_unique_of_special_input() -> None:
    nan = float("nan")
    got = lm.unique_all(lm.asarray([nan, 0.0, nan, -0.0, 1.0]))
    assert got.values.tolist()[:2] == [0.0, 1.0] and np.isnan(got.values.numpy()[2:]).all()
    assert got.counts.tolist() == [2, 1, 1, 1] and got.indices.tolist() == [1, 4, 0, 2]
    assert got.inverse_indices.tolist() == [2, 0, 3, 0, 1]
    empty = lm.unique_all(lm.zeros([2, 0]))
    assert empty.values.shape == (0,) and empty.inverse_indices.shape == (2, 0)
    scalar = lm.unique_all(lm.asarray(3))
    assert scalar.values.tolist() == [3] and scalar.inverse_indices.shape == ()
    with pytest.raises(RuntimeError, match="meta"):
        lm.unique_values(lm.zeros([2]).to("meta"))


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_unique_in_one_form(dtype: str, axis: int | None, rng: np.random.Generator) -> None:
    a = rng.integers(0, 2, (30, 3, 4)).astype("float64")
    if dtype.startswith("complex"):
        a = a - 1j * rng.integers(0, 2, a.shape)
    x = lm.asarray(a.astype(bool) if dtype == "bool" else a).astype(dtype)
    values, inverse, counts = np.unique(a, return_inverse=True, return_counts=True, axis=axis)
    wide = "complex128" if dtype.startswith("complex") else "float64"
    got = lm.unique(x, return_inverse=True, return_counts=True, axis=axis)
    np.testing.assert_array_equal(got[0].astype(wide).numpy(), values)
    np.testing.assert_array_equal(got[1].numpy(), inverse.reshape(got[1].shape))
    assert got[1].shape == (x.shape if axis is None else (x.shape[axis],)) and got[0].dtype == x.dtype
    np.testing.assert_array_equal(got[2].numpy(), counts)
    np.testing.assert_array_equal(lm.unique(x, axis=axis, sorted=False).astype(wide).numpy(), values)
    np.testing.assert_array_equal(lm.unique(x, return_counts=True, axis=axis)[1].numpy(), counts)


def test_unique_slices_of_special_input() -> None:
    nan = float("nan")
    rows = lm.asarray([[0.0, 1.0], [nan, 1.0], [-0.0, 1.0], [nan, 1.0]])
    values, inverse, counts = lm.unique(rows, return_inverse=True, return_counts=True, axis=0)
    assert values.shape == (3, 2) and counts.tolist() == [2, 1, 1] and inverse.tolist() == [0, 1, 0, 2]
    assert lm.unique(lm.zeros([3, 0]), axis=0).shape == (1, 0) and lm.unique(lm.zeros([0, 3]), axis=0).shape == (0, 3)
    signed = lm.asarray([[-1, 200], [-1, -200], [3, 0]])
    assert lm.unique(signed, axis=0).tolist() == [[-1, -200], [-1, 200], [3, 0]]
    assert lm.unique(signed.T, axis=1).tolist() == [[-1, -1, 3], [-200, 200, 0]]
    with pytest.raises(IndexError, match="unique"):
        lm.unique(rows, axis=2)
    with pytest.raises(RuntimeError, match="meta"):
        lm.unique(rows.to("meta"), axis=0)
    with pytest.raises(RuntimeError, match="vmap"):
        lm.autograd.vmap(lambda x: lm.unique(x, axis=0))(lm.zeros([2, 3, 2]))


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


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "uint32", "int8"])
def test_isin_at_the_ends_of_integers(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = lm.asarray(np.asarray([limits.min, 0, 1, limits.max], dtype))
    assert lm.isin(x, x[3:]).tolist() == [False, False, False, True]
    assert lm.isin(x, x[:1]).tolist() == [True, limits.min == 0, False, False]
    assert lm.isin(x, x[1:3]).tolist() == [limits.min == 0, True, True, False]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_isin_knows_no_nan(dtype: str) -> None:
    x = lm.asarray([float("nan"), float("inf"), -0.0, 2.0]).astype(dtype)
    assert lm.isin(x, x).tolist() == [False, True, True, True]
    assert lm.isin(x, x, invert=True).tolist() == [True, False, False, False]
    assert lm.isin(x, lm.asarray([0.0]).astype(dtype)).tolist() == [False, False, True, False]


def test_isin_of_many_and_of_examples(rng: np.random.Generator) -> None:
    a, b = rng.integers(0, 5000, (3, 4000)), rng.integers(0, 5000, (3, 700))
    np.testing.assert_array_equal(lm.isin(lm.asarray(a), lm.asarray(b)).numpy(), np.isin(a, b))
    expected = np.stack([np.isin(x, y) for x, y in zip(a, b, strict=True)])
    np.testing.assert_array_equal(lm.autograd.vmap(lm.isin)(lm.asarray(a), lm.asarray(b)).numpy(), expected)
    one = lm.autograd.vmap(lambda x: lm.isin(x, lm.asarray(b[0])))(lm.asarray(a))
    np.testing.assert_array_equal(one.numpy(), np.isin(a, b[0]))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8"])
def test_many_searches(dtype: str, side: str, rng: np.random.Generator) -> None:
    for n in (0, 1, 2, 3, 7, 8, 100):
        ordered = np.sort(rng.integers(0, 60, n).astype(dtype))
        wanted = rng.integers(0, 70, 5003).astype(dtype)
        if dtype.startswith("float"):
            ordered[n - n // 4 :] = np.nan
            wanted[::7] = np.nan
        got = lm.searchsorted(lm.asarray(ordered), lm.asarray(wanted), side=side)
        np.testing.assert_array_equal(got.numpy(), np.searchsorted(ordered, wanted, side))
