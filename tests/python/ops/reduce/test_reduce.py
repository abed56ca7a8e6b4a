"""Reductions against numpy, along every choice of axes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import lamella as lm

from ..gradcheck import check_gradients

SUMS = {"sum": np.sum, "prod": np.prod, "mean": np.mean}
EXTREMES = {"max": np.max, "min": np.min}
LOGIC = {"any": np.any, "all": np.all}
POSITIONS = {"argmax": np.argmax, "argmin": np.argmin}
DTYPES = ["bool", "int32", "int64", "float32", "float64"]
AXES = [None, 0, -1, 1, (0, 2), (0, 1), (1, 2), (0, 1, 2), ()]


def sample(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    if dtype == "bool":
        return rng.random(shape) < 0.7
    if dtype.startswith("int"):
        return rng.integers(-3, 4, shape, dtype=dtype)
    return rng.uniform(-1.5, 1.5, shape).astype(dtype)


def tolerance(dtype: str) -> float:
    return {"float32": 1e-5, "float64": 1e-13}.get(dtype, 0)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*SUMS, *EXTREMES, *LOGIC])
def test_values(name: str, dtype: str, axis: object, keepdims: bool, rng: np.random.Generator) -> None:
    x = sample((3, 4, 5), dtype, rng)
    got = getattr(lm, name)(lm.asarray(x), axis=axis, keepdims=keepdims)
    reference = (SUMS | EXTREMES | LOGIC)[name]
    wide = x.astype("float64") if dtype.startswith("float") and name in SUMS else x
    expected = reference(wide, axis=axis, keepdims=keepdims)
    assert got.shape == expected.shape
    np.testing.assert_allclose(
        got.numpy().astype("float64"), np.asarray(expected, "float64"), rtol=1e-5, atol=tolerance(dtype)
    )


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bool"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_positions_are_the_first(name: str, dtype: str, axis: int | None, rng: np.random.Generator) -> None:
    x = sample((4, 5, 6), dtype, rng)
    got = getattr(lm, name)(lm.asarray(x), axis=axis)
    assert got.dtype == lm.int64
    np.testing.assert_array_equal(got.numpy(), POSITIONS[name](x, axis=axis))


def test_result_dtypes() -> None:
    for dtype, expected in [("bool", lm.int64), ("int32", lm.int64), ("int64", lm.int64), ("float32", lm.float32)]:
        x = lm.ones([3], dtype=dtype)
        assert lm.sum(x).dtype == expected
        assert lm.prod(x).dtype == expected
        assert lm.any(x).dtype == lm.bool
    assert lm.mean(lm.ones([3], dtype="int32")).dtype == lm.float32
    assert lm.sum(lm.ones([3]), dtype="float64").dtype == lm.float64


@pytest.mark.parametrize("shape", [(1,), (7,), (1000,), (33, 65), (128, 3), (3, 1000), (100003,), (5, 6, 7, 8)])
@pytest.mark.parametrize("transpose", [False, True])
def test_float32_sums_are_pairwise(shape: tuple[int, ...], transpose: bool, rng: np.random.Generator) -> None:
    x = rng.uniform(0, 1, shape).astype("float32")
    t = lm.asarray(x)
    if transpose:
        x, t = x.T, t.T
    for axis in [None, 0, -1]:
        expected = x.astype("float64").sum(axis=axis)
        np.testing.assert_allclose(lm.sum(t, axis=axis).numpy(), expected, rtol=5e-7)


def test_the_same_bits_for_any_number_of_threads(rng: np.random.Generator) -> None:
    x = lm.asarray(rng.normal(size=(700, 300)).astype("float32"))
    before = lm.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 7):
            lm.set_num_threads(threads)
            results.append([lm.sum(x, axis=axis).numpy().tobytes() for axis in (None, 0, 1)])
    finally:
        lm.set_num_threads(before)
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize(("name", "value"), [("sum", 0.0), ("prod", 1.0), ("any", False), ("all", True)])
def test_nothing_reduces_to_the_neutral_element(name: str, value: object) -> None:
    assert getattr(lm, name)(lm.zeros([0, 3])).item() == value
    assert getattr(lm, name)(lm.zeros([0, 3]), axis=0).tolist() == [value] * 3
    assert getattr(lm, name)(lm.zeros([0, 3]), axis=1).shape == (0,)


@pytest.mark.parametrize("name", [*EXTREMES, *POSITIONS])
def test_an_extreme_of_nothing_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match=rf"\[{name}\]"):
        getattr(lm, name)(lm.zeros([0]))
    assert getattr(lm, name)(lm.zeros([2, 0]), axis=0).shape == (0,)


def test_mean_of_nothing_is_nan() -> None:
    assert np.isnan(lm.mean(lm.zeros([0])).item())


@pytest.mark.parametrize("name", ["max", "min"])
def test_nan_propagates(name: str) -> None:
    for n in (3, 100):
        x = np.zeros(n, "float32")
        x[n // 2] = np.nan
        assert np.isnan(getattr(lm, name)(lm.asarray(x)).item())
        assert getattr(lm, "arg" + name)(lm.asarray(x)).item() == n // 2


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
def test_gradients(name: str, axis: object, keepdims: bool, rng: np.random.Generator) -> None:
    x = rng.permutation(np.linspace(-1.4, 1.5, 12)).reshape(3, 4)
    check_gradients(lambda t: getattr(lm, name)(t, axis=axis, keepdims=keepdims), x)


def test_ties_share_the_gradient() -> None:
    x = lm.tensor([1.0, 3.0, 3.0, 2.0], stop_gradient=False)
    x.max().backward()
    assert x.grad.tolist() == [0.0, 0.5, 0.5, 0.0]


def test_product_gradient_with_zeros() -> None:
    x = lm.tensor([2.0, 0.0, 3.0], stop_gradient=False)
    x.prod().backward()
    assert x.grad.tolist() == [0.0, 6.0, 0.0]


@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmax", "any"])
def test_bad_axes(name: str) -> None:
    x = lm.ones([2, 3])
    for axis in (2, -3):
        with pytest.raises(IndexError, match=rf"\[{name}\].*axis"):
            getattr(lm, name)(x, axis=axis)
    with pytest.raises(TypeError, match=name):
        getattr(lm, name)(x, axis="first")
    if name != "argmax":
        with pytest.raises(ValueError, match=name):
            getattr(lm, name)(x, axis=(0, 0))


def test_strided_and_broadcast_inputs(rng: np.random.Generator) -> None:
    x = rng.normal(size=(6, 8, 4))
    t = lm.asarray(x)
    for view, expected in [
        (t[::2, ::-1], x[::2, ::-1]),
        (lm.permute_dims(t, [2, 0, 1]), x.transpose(2, 0, 1)),
        (lm.broadcast_to(t[:, :1], [6, 8, 4]), np.broadcast_to(x[:, :1], x.shape)),
    ]:
        for axes in itertools.chain([None], range(3)):
            np.testing.assert_allclose(view.sum(axis=axes).numpy(), expected.sum(axis=axes), rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(view.max(axis=axes).numpy(), expected.max(axis=axes))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 3, 15, 16, 17, 64, 65, 100, 1030])
def test_logsumexp_of_rows(width: int, dtype: str, rng: np.random.Generator) -> None:
    x = (rng.normal(size=(12, width)) * 8 + 100).astype(dtype)
    x[1] = -np.inf
    x[2, 0] = np.inf
    x[3, -1] = np.nan
    x[4, 1:] = -np.inf
    x[5] *= 50
    with np.errstate(all="ignore"):
        wide = x.astype("float64")
        expected = np.logaddexp.reduce(wide, axis=1)
        everything = np.logaddexp.reduce(wide[6:].reshape(-1))
    got = lm.logsumexp(lm.asarray(x), axis=1)
    np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance(dtype))
    assert lm.logsumexp(lm.asarray(x), axis=1, keepdims=True).shape == (12, 1)
    np.testing.assert_allclose(lm.logsumexp(lm.asarray(x[6:])).item(), everything, rtol=tolerance(dtype))


REDUCTIONS = ("sum", "mean", "prod", "max", "min", "any", "all", "count_nonzero", "logsumexp", "nansum", "nanmean")


@pytest.mark.parametrize("axis", [0, -1, (0,)])
@pytest.mark.parametrize("name", [*REDUCTIONS, "var", "std", "argmax", "argmin", "aminmax"])
def test_a_number_is_reduced_along_its_one_element(name: str, axis: Any) -> None:
    if name.startswith("arg") and isinstance(axis, tuple):
        axis = axis[0]
    function = getattr(lm, name)
    x = lm.asarray(2.5)
    for keepdims in (False, True):
        got, wanted = function(x, axis=axis, keepdims=keepdims), function(x)
        for y, w in zip(got if name == "aminmax" else [got], wanted if name == "aminmax" else [wanted], strict=True):
            assert y.shape == () and y.dtype == w.dtype and y.item() == w.item()
    with pytest.raises(IndexError, match="out of range"):
        function(x, axis=1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("function", [lm.mean, lm.nanmean, lm.var, lm.std, lm.nanmedian, lm.logsumexp])
def test_counts_and_sums_beyond_16_bits(function: Any, dtype: str) -> None:
    x = lm.asarray((np.arange(70000) % 2 * 2 + 1).astype("float32")).astype(dtype)
    want = function(x.astype("float32")).astype(dtype)
    assert function(x).item() == want.item()
