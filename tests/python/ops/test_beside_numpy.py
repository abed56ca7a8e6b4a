"""Functions that numpy and PyTorch have for tables of numbers: slopes, positions, runs, histograms, quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .gradcheck import check_gradients

FLOATS = ["float32", "float64"]
HALVES = ["float16", "bfloat16"]
NAN = float("nan")


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(5).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("axis", [None, 0, 1, (1, 0), -1])
def test_gradient(dtype: str, edge_order: int, axis: Any) -> None:
    x = numbers(dtype, 3, 5)
    axes = range(2) if axis is None else axis if isinstance(axis, tuple) else [axis]
    places = [np.cumsum(np.arange(1, 1 + x.shape[a])).astype(numbers(dtype, 1).real.dtype) for a in axes]
    for spacing, given in [
        ([2.5], 2.5),
        ([0.5, 2.0][: len(axes)], [0.5, 2.0][: len(axes)]),
        (places, [lm.asarray(p) for p in places]),
    ]:
        expected = np.gradient(x, *spacing, axis=axis, edge_order=edge_order)
        expected = expected if isinstance(expected, list | tuple) else [expected]
        got = lm.gradient(lm.asarray(x), spacing=given, axis=axis, edge_order=edge_order)
        assert len(got) == len(expected)
        for y, wanted in zip(got, expected, strict=True):
            assert y.dtype.name == dtype
            np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_gradient_of_other_input() -> None:
    assert lm.gradient(lm.asarray([1, 2, 4]))[0].tolist() == [1.0, 1.5, 2.0]
    assert lm.gradient(lm.asarray([1.0, 3.0]), spacing=lm.asarray(2.0))[0].tolist() == [1.0, 1.0]
    assert lm.gradient(lm.asarray(1.0)) == ()
    assert [y.shape for y in lm.gradient(lm.ones([3, 0, 2]).to_device("meta"), axis=(0, 2))] == [(3, 0, 2)] * 2
    for dtype in HALVES:
        y = lm.gradient(lm.cast(lm.asarray([1.0, 2.0, 4.0]), dtype))[0]
        assert y.dtype.name == dtype and y.tolist() == [1.0, 1.5, 2.0]
    x = numbers("float64", 4, 6)
    np.testing.assert_allclose(lm.gradient(lm.asarray(x).T[::1, ::2])[1].numpy(), np.gradient(x.T[:, ::2])[1])


def test_derivatives_of_gradient() -> None:
    x, places = numbers("float64", 2, 4), np.array([0.0, 1.0, 1.5, 4.0])
    check_gradients(lambda a, p: lm.gradient(a * a, spacing=p, axis=1, edge_order=2)[0], x, places)
    check_gradients(lambda a, h: lm.gradient(a * a, spacing=h, axis=1)[0], x, np.array(0.7))


@pytest.mark.parametrize("dtype", [*FLOATS, *HALVES])
def test_frexp(dtype: str) -> None:
    values = [1.0, 0.0, -0.0, -6.0, 0.7, 3e-5, float("inf"), -float("inf"), NAN]
    x = lm.cast(lm.asarray(values, dtype="float64"), dtype)
    mantissa, exponent = lm.frexp(x)
    assert mantissa.dtype.name == dtype and exponent.dtype.name == "int32"
    m, e = np.frexp(lm.cast(x, "float64").numpy())
    np.testing.assert_array_equal(lm.cast(mantissa, "float64").numpy(), m)
    np.testing.assert_array_equal(exponent.numpy(), np.where(np.isfinite(m), e, 0))


def test_frexp_of_small_numbers_and_derivatives() -> None:
    for dtype, tiny in (("float32", 1e-45), ("float64", 5e-324)):
        x = lm.tensor([tiny, 3 * tiny, 1.0], dtype=dtype, stop_gradient=False)
        mantissa, exponent = lm.frexp(x)
        expected = np.frexp(np.array([tiny, 3 * tiny, 1.0], dtype))
        np.testing.assert_array_equal(mantissa.detach().numpy(), expected[0])
        np.testing.assert_array_equal(exponent.numpy(), expected[1])
    check_gradients(lambda a: lm.frexp(a * a).mantissa * a, np.array([[0.3, 5.1], [-1.2, 90.0]]))
    assert lm.frexp(lm.zeros([0, 2])).mantissa.shape == (0, 2)
    assert lm.frexp(lm.ones([2]).to_device("meta")).exponent.shape == (2,)
    x = numbers("float32", 3, 4)
    np.testing.assert_array_equal(lm.frexp(lm.asarray(x).T).mantissa.numpy(), np.frexp(x.T)[0])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_positions(dtype: str) -> None:
    flat = np.array([[0, 7], [23, 11]]).astype(dtype)
    axes = lm.unravel_index(lm.asarray(flat), (2, 3, 4))
    for got, expected in zip(axes, np.unravel_index(flat, (2, 3, 4)), strict=True):
        assert got.dtype.name == "int64"
        np.testing.assert_array_equal(got.numpy(), expected)
    np.testing.assert_array_equal(lm.ravel_multi_index(axes, (2, 3, 4)).numpy(), flat)
    assert lm.ravel_multi_index([lm.asarray([[0], [1]]), lm.asarray([0, 2])], (2, 3)).tolist() == [[0, 2], [3, 5]]
    assert lm.unravel_index(lm.zeros([0], dtype="int64"), (0, 2))[0].shape == (0,)
    assert lm.unravel_index(lm.asarray(0), ()) == ()


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


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_quantiles_beside_nan(interpolation: str, axis: int | None, keepdims: bool) -> None:
    x = numbers("float64", 4, 5)
    x[0, :3], x[:, 1] = NAN, NAN
    shares = np.array([0.0, 0.3, 0.5, 1.0])
    for q in (shares, 0.45):
        given = lm.asarray(q) if isinstance(q, np.ndarray) else q
        percent = lm.asarray(q * 100) if isinstance(q, np.ndarray) else q * 100
        setting: dict[str, Any] = {"axis": axis, "keepdims": keepdims, "interpolation": interpolation}
        wanted = _quantiles(x, q, axis, keepdims, interpolation)
        np.testing.assert_allclose(lm.nanquantile(lm.asarray(x), given, **setting).numpy(), wanted, rtol=1e-12)
        np.testing.assert_allclose(lm.nanpercentile(lm.asarray(x), percent, **setting).numpy(), wanted, rtol=1e-12)
        y = numbers("float64", 4, 5)
        expected = np.quantile(y, q, axis=axis, keepdims=keepdims, method=interpolation)
        np.testing.assert_allclose(lm.percentile(lm.asarray(y), percent, **setting).numpy(), expected, rtol=1e-9)


def _quantiles(x: np.ndarray, q: Any, axis: int | None, keepdims: bool, interpolation: str) -> np.ndarray:
    """nanquantile, row by row; NaN for a row of NaN alone."""

    def of_row(row: np.ndarray) -> np.ndarray:
        kept = row[~np.isnan(row)]
        return np.full(np.shape(q), NAN) if kept.size == 0 else np.quantile(kept, q, method=interpolation)

    result = np.asarray(of_row(x.reshape(-1)) if axis is None else np.apply_along_axis(of_row, axis, x))
    if axis is not None and np.ndim(q) == 1:
        result = np.moveaxis(result, axis, 0)
    if keepdims:
        lead = np.ndim(q)
        result = (
            result.reshape([*result.shape[:lead], *[1] * x.ndim])
            if axis is None
            else np.expand_dims(result, axis if axis < 0 else axis + lead)
        )
    return result


def test_derivatives_of_quantiles() -> None:
    x = numbers("float64", 3, 4)
    check_gradients(lambda a, q: lm.nanquantile(a * a, q, axis=1), x, np.array([0.2, 0.7]))
    check_gradients(lambda a, q: lm.percentile(a * a, q, axis=0), x, np.array(45.0))
    x = lm.tensor([1.0, NAN, 3.0, 7.0], stop_gradient=False)
    lm.nanquantile(x, 0.25).backward()
    assert x.grad is not None and x.grad.tolist() == [0.5, 0.0, 0.5, 0.0]


@pytest.mark.parametrize("dtype", [*FLOATS, "complex128", "int64"])
@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_round_to_decimals(dtype: str, decimals: int) -> None:
    x = np.array([0.0, 1.2345, -1.25, 127.5, 15, 25, -1234.5678]).astype(dtype)
    got = lm.round(lm.asarray(x), decimals)
    assert got.dtype.name == dtype
    np.testing.assert_allclose(got.numpy(), np.round(x, decimals), rtol=1e-6)


def test_round_of_extremes_and_its_forms() -> None:
    x = lm.asarray([1e38, -1e-30, float("inf"), NAN, 1.256])
    np.testing.assert_array_equal(lm.round(x, 10).numpy(), np.array([1e38, -0.0, np.inf, np.nan, 1.256], "float32"))
    for decimals in (400, 2**62):
        np.testing.assert_array_equal(lm.round(x, decimals).numpy(), x.numpy())
    assert lm.round(lm.asarray([1e38, 3.0]), -(2**62)).tolist() == [0.0, 0.0]
    y = lm.asarray([1.256])
    assert y.round_(2).tolist() == lm.round(lm.asarray([1.256]), decimals=2).tolist()
    assert lm.round(lm.asarray([1.256]), 1, out=y) is y and abs(y.item() - 1.3) < 1e-6
    assert lm.round(lm.asarray([1.6]), out=y).tolist() == [2.0]
    z = lm.tensor([1.26], stop_gradient=False)
    lm.round(z, 1).sum().backward()
    assert z.grad is not None and z.grad.tolist() == [0.0]


def test_take_without_an_axis() -> None:
    x = numbers("float64", 2, 3)
    places = np.array([[5, 0], [-1, 2]])
    np.testing.assert_array_equal(lm.take(lm.asarray(x), lm.asarray(places)).numpy(), np.take(x, places))
    assert lm.take(lm.asarray(3.0), lm.asarray([0, 0])).tolist() == [3.0, 3.0]
    check_gradients(lambda a: lm.take(a * a, lm.asarray(places)), x)


MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: lm.gradient(lm.ones([3]), edge_order=3), ValueError, r"\[gradient\] edge_order"),
    (lambda: lm.gradient(lm.ones([2]), edge_order=2), ValueError, r"\[gradient\] edge_order 2 needs"),
    (lambda: lm.gradient(lm.ones([3]), axis=1), IndexError, r"\[gradient\]"),
    (lambda: lm.gradient(lm.ones([3, 3]), axis=(0, 0)), ValueError, r"\[gradient\]"),
    (lambda: lm.gradient(lm.ones([3, 3]), spacing=[1.0, 2.0, 3.0]), ValueError, r"\[gradient\] spacing"),
    (lambda: lm.gradient(lm.ones([3]), spacing=lm.ones([2])), ValueError, r"\[gradient\] the places"),
    (lambda: lm.frexp(lm.asarray([1])), TypeError, r"\[frexp\]"),
    (lambda: lm.unravel_index(lm.asarray([6]), (2, 3)), IndexError, r"\[unravel_index\] indices"),
    (lambda: lm.unravel_index(lm.asarray([-1]), (2, 3)), IndexError, r"\[unravel_index\] indices"),
    (lambda: lm.unravel_index(lm.asarray([1.0]), (2, 3)), TypeError, r"\[unravel_index\]"),
    (lambda: lm.unravel_index(lm.asarray([0]), (2, -3)), ValueError, r"\[unravel_index\] shape"),
    (lambda: lm.unravel_index(lm.asarray([0]), (2**40, 2**40)), ValueError, r"\[unravel_index\]"),
    (lambda: lm.ravel_multi_index([lm.asarray([0])], (2, 3)), ValueError, r"\[ravel_multi_index\]"),
    (lambda: lm.ravel_multi_index([lm.asarray([2])], (2,)), IndexError, r"\[ravel_multi_index\]"),
    (lambda: lm.histc(lm.ones([2]), 0), ValueError, r"\[histc\] bins"),
    (lambda: lm.histc(lm.ones([2]), 3, 1.0, 0.0), ValueError, r"\[histc\] min"),
    (lambda: lm.histc(lm.asarray([NAN])), ValueError, r"\[histc\] the ends"),
    (lambda: lm.histogramdd(lm.ones([3])), ValueError, r"\[histogramdd\] x"),
    (lambda: lm.histogramdd(lm.ones([3, 2]), [1, 2, 3]), ValueError, r"\[histogramdd\] bins"),
    (lambda: lm.histogramdd(lm.ones([3, 2]), 2, range=[0.0, 1.0]), ValueError, r"\[histogramdd\] range"),
    (lambda: lm.histogramdd(lm.ones([3, 2]), 2, weights=lm.ones([2])), ValueError, r"\[histogramdd\] weights"),
    (lambda: lm.histogramdd(lm.ones([3, 4]), 2**16), ValueError, r"\[histogramdd\]"),
    (lambda: lm.nanquantile(lm.ones([3]), 1.5), ValueError, r"\[nanquantile\] q"),
    (lambda: lm.percentile(lm.ones([3]), 101), ValueError, r"\[percentile\] q"),
    (lambda: lm.nanpercentile(lm.ones([3]), 5, interpolation="cubic"), ValueError, r"\[nanpercentile\] interpolation"),
    (lambda: lm.take(lm.ones([2, 2]), lm.asarray([4])), IndexError, r"\[take\]"),
]


@pytest.mark.parametrize(("call", "error", "message"), MISTAKES)
def test_mistakes(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
