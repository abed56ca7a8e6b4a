"""Searching in sorted and in any numbers, against numpy."""

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
    assert lm.isin(lm.asarray([True, False]), 300).tolist() == lm.isin(lm.asarray([True, False]), -1).tolist() == [0, 0]
    assert lm.isin(lm.asarray([True, False]), 1).tolist() == [True, False] and not lm.isin(2, lm.asarray([True]))
    assert lm.isin(2, lm.asarray([1, 2])).item() is True
    assert lm.isin(lm.asarray([1, 2]), lm.zeros([0], dtype="int64")).tolist() == [False, False]
    with pytest.raises(TypeError, match=r"\[isin\]"):
        lm.isin(1, 2)


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
