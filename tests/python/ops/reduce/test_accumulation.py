"""Reductions in every dtype, against numpy in a wider one."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
ALL = ["bool", *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX]
#: Relative rounding of one element.
EPSILON = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "float64": 1e-14, "complex64": 1e-6, "complex128": 1e-14}
SHAPES = [(7,), (5, 33), (33, 5), (2, 40, 3), (3000,)]
AXES = [None, 0, -1]


def pair(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> tuple[lm.Tensor, np.ndarray]:
    """A tensor, and its values in a dtype that numpy has and that holds sums of them."""
    if dtype == "bool":
        wide = rng.random(shape) < 0.7
    elif dtype in SIGNED:
        wide = rng.integers(-3, 4, shape)
    elif dtype in UNSIGNED:
        wide = rng.integers(0, 4, shape).astype("uint64")
    elif dtype in FLOATS:
        wide = np.round(rng.uniform(-2, 2, shape) * 64) / 64  # exact in all of them
    else:
        wide = rng.uniform(-2, 2, shape) + 1j * rng.uniform(-2, 2, shape)
        wide = wide.astype(dtype)
    return lm.asarray(wide).astype(dtype), wide


def values(x: lm.Tensor) -> np.ndarray:
    return x.astype("float32").numpy() if x.dtype in (lm.bfloat16, lm.float16) else x.numpy()


def tolerance(dtype: str) -> float:
    return 4 * EPSILON.get(dtype, 0)


def result_dtype(dtype: str) -> str:
    return "uint64" if dtype in UNSIGNED else "int64" if dtype in [*SIGNED, "bool"] else dtype


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ALL)
def test_sum(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x, wide = pair(shape, dtype, rng)
    for axis in AXES:
        got = lm.sum(x, axis=axis)
        assert got.dtype.name == result_dtype(dtype)
        expected = np.sum(wide, axis=axis)
        scale = np.sum(np.abs(wide), axis=axis).max()
        np.testing.assert_allclose(values(got), expected, rtol=tolerance(dtype), atol=tolerance(dtype) * scale / 100)


@pytest.mark.parametrize("dtype", ALL)
def test_prod(dtype: str, rng: np.random.Generator) -> None:
    x, wide = pair((2, 5, 4), dtype, rng)
    for axis in AXES:
        got = lm.prod(x, axis=axis)
        assert got.dtype.name == result_dtype(dtype)
        expected = np.prod(wide, axis=axis)
        np.testing.assert_allclose(values(got), expected, rtol=10 * tolerance(dtype), atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [d for d in ALL if d not in COMPLEX])
def test_extremes_and_their_positions(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x, wide = pair(shape, dtype, rng)
    for axis in AXES:
        for name in ("max", "min"):
            got = getattr(lm, name)(x, axis=axis)
            assert got.dtype.name == dtype
            np.testing.assert_array_equal(values(got), getattr(np, name)(wide, axis=axis))
            position = getattr(lm, "arg" + name)(x, axis=axis)
            assert position.dtype == lm.int64
            np.testing.assert_array_equal(position.numpy(), getattr(np, "arg" + name)(wide, axis=axis))


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_extremes_reach_the_ends_of_the_range(dtype: str) -> None:
    ends = np.iinfo(dtype)
    x = lm.asarray(np.array([ends.max, 1, ends.min] * 30, dtype))
    assert (lm.max(x).item(), lm.min(x).item()) == (ends.max, ends.min)
    assert (lm.argmax(x).item(), lm.argmin(x).item()) == (0, 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nan_wins(dtype: str) -> None:
    x = np.arange(70.0)
    x[[40, 60]] = np.nan
    for shape in [(70,), (70, 1), (35, 2)]:
        t = lm.asarray(x.reshape(shape)).astype(dtype)
        assert np.isnan(values(lm.max(t))) and np.isnan(values(lm.min(t)))
        assert lm.argmax(t).item() == lm.argmin(t).item() == 40


@pytest.mark.parametrize("dtype", ALL)
def test_truth_and_counts(dtype: str, rng: np.random.Generator) -> None:
    x, wide = pair((6, 40), dtype, rng)
    keep = (rng.random((6, 40)) < 0.9) & (np.arange(6) > 1)[:, None] | (np.arange(6) == 0)[:, None]
    wide = np.where(keep, wide, 0).astype(wide.dtype)
    x = lm.asarray(wide).astype(dtype)
    for axis in AXES:
        np.testing.assert_array_equal(lm.any(x, axis=axis).numpy(), np.any(wide, axis=axis))
        np.testing.assert_array_equal(lm.all(x, axis=axis).numpy(), np.all(wide, axis=axis))
        count = lm.count_nonzero(x, axis=axis)
        assert count.dtype == lm.int64
        np.testing.assert_array_equal(count.numpy(), np.count_nonzero(wide, axis=axis))


def test_negative_zero_is_zero() -> None:
    for dtype in FLOATS + COMPLEX:
        x = lm.asarray([-0.0, 0.0]).astype(dtype)
        assert not lm.any(x).item() and lm.count_nonzero(x).item() == 0


def test_counts_over_several_axes_and_of_long_rows(rng: np.random.Generator) -> None:
    x = rng.random((3, 5, 4, 6)) < 0.5
    for axis in [(0, 2), (1, 3), (0, 1, 2, 3)]:
        np.testing.assert_array_equal(lm.count_nonzero(lm.asarray(x), axis=axis).numpy(), np.count_nonzero(x, axis))
    long = rng.integers(0, 3, 300_001).astype("uint8")
    assert lm.count_nonzero(lm.asarray(long)).item() == np.count_nonzero(long)
    assert lm.sum(lm.asarray(long)).item() == long.sum()
    assert lm.count_nonzero(lm.zeros([0, 3]), axis=0).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_16_bit_floats_are_rounded_once(dtype: str) -> None:
    # In 16 bits ones stop adding up at 2048 and 256.
    x = lm.ones([60_000, 2]).astype(dtype)
    for axis in (0, None):
        expected = lm.asarray(60_000.0 * (2 if axis is None else 1)).astype(dtype)
        assert lm.all(lm.sum(x, axis=axis).astype("float32") == expected.astype("float32")).item()
    assert lm.sum(x, dtype="float32").item() == 120_000
    # The sum is beyond float16's range, the mean is not.
    assert lm.mean(x).item() == 1


def test_integers_wrap_around_in_the_dtype_asked_for() -> None:
    x = lm.asarray(np.full(3, 100, "int8"))
    assert lm.sum(x).item() == 300
    assert lm.sum(x, dtype="int8").item() == 300 - 256
    assert lm.sum(lm.asarray([1.5, 1.5]), dtype="int64").item() == 2
    assert lm.prod(lm.asarray(np.full(3, 100, "uint8")), dtype="uint8").item() == 100**3 % 256


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_gradient_has_the_dtype_of_x(dtype: str) -> None:
    x = lm.ones([3, 4], dtype=dtype)
    x.stop_gradient = False
    for f in (lm.sum, lambda t: lm.sum(t, dtype="float32"), lambda t: lm.sum(t, axis=0, dtype="float64").sum()):
        (g,) = lm.grad(f(x), [x])
        assert g.dtype == x.dtype and g.astype("float32").tolist() == [[1.0] * 4] * 3


def test_the_same_bits_for_any_number_of_threads(rng: np.random.Generator) -> None:
    x = lm.asarray(rng.normal(size=(700, 300)))
    inputs = [x.astype(dtype) for dtype in ("float16", "bfloat16", "complex64")]
    before = lm.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 7):
            lm.set_num_threads(threads)
            results.append([values(lm.sum(t, axis=a)).tobytes() for t in inputs for a in (None, 0, 1)])
    finally:
        lm.set_num_threads(before)
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32", "bfloat16"])
def test_bools_are_joined_not_the_sums(dtype: str) -> None:
    x = lm.asarray([[2, -2], [0, 0], [16, 16]]).astype(dtype)
    assert lm.sum(x, 1, dtype=lm.bool).tolist() == [True, False, True]
    assert lm.prod(x, 1, dtype=lm.bool).tolist() == [True, False, True]
