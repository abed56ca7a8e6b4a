"""What occurs in a tensor, and in its slices, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "bfloat16", "float32", "float64"]


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
