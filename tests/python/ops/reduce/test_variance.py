"""Variances, logarithms of sums, sums without NaN: against numpy and scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import lamella as lm

AXES = [None, 0, 1, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2), ()]


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.filterwarnings("ignore:Degrees of freedom")  # numpy's, for one number and a correction of 1
def test_variance(name: str, dtype: str, keepdims: bool, axis: object, rng: np.random.Generator) -> None:
    x = (rng.normal(size=(4, 5, 6)) * 5).astype(dtype)
    for correction in (0, 1, 0.5):
        got = getattr(lm, name)(lm.asarray(x), axis=axis, correction=correction, keepdims=keepdims)
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x.astype("float64"), axis=axis, ddof=correction, keepdims=keepdims)
        assert got.shape == expected.shape
        assert got.dtype.name == (dtype if dtype.startswith("float") else "float32")
        if axis != () or correction != 1:
            np.testing.assert_allclose(got.numpy(), expected, rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(1,), (33,), (1025,), (200_000,), (3, 70_000), (700, 30), (30, 700), (5, 90, 1500)])
def test_variance_of_values_far_from_zero(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    """A difference of sums of squares would have no digit left."""
    x = (rng.normal(size=shape) + 1000).astype("float32")
    for axis in (None, 0, -1):
        got = lm.var(lm.asarray(x), axis=axis)
        np.testing.assert_allclose(got.numpy(), x.astype("float64").var(axis=axis), rtol=1e-4)


def test_variance_of_strided_and_16_bit_input(rng: np.random.Generator) -> None:
    x = rng.normal(size=(6, 8, 4))
    t = lm.asarray(x)
    for axis in (0, 1, (0, 2)):
        np.testing.assert_allclose(lm.var(t[::2, ::-1], axis=axis).numpy(), x[::2, ::-1].var(axis=axis))
        np.testing.assert_allclose(lm.var(t.T, axis=axis).numpy(), x.T.var(axis=axis))
        half = lm.std(t.astype("bfloat16"), axis=axis)
        assert half.dtype == lm.bfloat16
        np.testing.assert_allclose(half.astype("float32").numpy(), x.std(axis=axis), rtol=2e-2)


def test_variance_of_too_few() -> None:
    assert np.isnan(lm.var(lm.ones([1]), correction=1).item())
    assert lm.var(lm.asarray([1.0, 2.0]), correction=3).item() == np.inf
    assert np.isnan(lm.var(lm.zeros([0])).item())
    assert lm.var(lm.zeros([0, 3]), axis=1).shape == (0,)
    with pytest.raises(IndexError, match=r"\[std\]"):
        lm.std(lm.zeros([2]), axis=1)


def test_gradient_of_a_standard_deviation_of_zero_is_zero() -> None:
    x = lm.tensor([2.0, 2.0], stop_gradient=False)
    lm.std(x).backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_variance_has_the_same_bits_for_any_number_of_threads(rng: np.random.Generator) -> None:
    inputs = [lm.asarray(rng.normal(size=shape).astype("float32")) for shape in [(300_000,), (700, 300), (3, 90_000)]]
    before = lm.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 7):
            lm.set_num_threads(threads)
            results.append([lm.var(x, axis=a).numpy().tobytes() for x in inputs for a in (None, 0, -1)])
    finally:
        lm.set_num_threads(before)
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis: object, keepdims: bool, rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 4, 5)) * 300
    got = lm.logsumexp(lm.asarray(x), axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(got.numpy(), sp.logsumexp(x, axis=axis, keepdims=keepdims), rtol=1e-12)


def test_logsumexp_at_infinity_and_of_nothing() -> None:
    inf = float("inf")
    x = lm.tensor([[-inf, -inf], [inf, 1.0], [-inf, 3.0]], stop_gradient=False)
    y = lm.logsumexp(x, axis=1)
    assert y.tolist() == [-inf, inf, 3.0]
    (g,) = lm.grad((y * lm.asarray([1.0, 0.0, 1.0])).sum(), [x])
    assert g[0].tolist() == [0.0, 0.0] and g[2].tolist() == [0.0, 1.0]
    assert lm.logsumexp(lm.zeros([0])).item() == -inf
    assert lm.logsumexp(lm.zeros([2, 0]), axis=1, keepdims=True).tolist() == [[-inf], [-inf]]
    assert lm.logsumexp(lm.zeros([4], dtype="int32")).item() == pytest.approx(np.log(4))


def test_sums_without_nan() -> None:
    x = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])
    t = lm.tensor(x, stop_gradient=False)
    assert lm.nansum(t, axis=1).tolist() == [4.0, 0.0]
    means = lm.nanmean(t, axis=1)
    assert means[0].item() == 2.0 and np.isnan(means[1].item())
    (g,) = lm.grad(lm.nansum(t), [t])
    assert g.tolist() == [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    assert lm.nansum(lm.asarray([1, 2], dtype="int8")).dtype == lm.int64
