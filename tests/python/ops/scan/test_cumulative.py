"""Cumulative operators and differences, against numpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lamella as lm

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
SHAPES = [(1,), (40,), (5, 33), (33, 5), (3, 4, 300), (2, 700, 3)]
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "complex64": 1e-6}


def sample(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> tuple[lm.Tensor, np.ndarray]:
    if dtype == "bool":
        wide = rng.random(shape) < 0.5
    elif dtype in INTEGERS:
        wide = rng.integers(0 if dtype.startswith("u") else -2, 3, shape)
        wide = wide.astype("uint64" if dtype.startswith("u") else "int64")
    elif dtype in FLOATS:
        wide = np.round(rng.uniform(0.5, 1.5, shape) * 64) / 64
    else:
        wide = np.round(rng.uniform(0.5, 1.0, shape) * 64) / 64 + 1j * np.round(rng.uniform(-0.5, 0.5, shape) * 64) / 64
    return lm.asarray(wide).astype(dtype), wide


def values(x: lm.Tensor) -> np.ndarray:
    return x.astype("float32").numpy() if x.dtype in (lm.bfloat16, lm.float16) else x.numpy()


def result_dtype(dtype: str) -> str:
    return "uint64" if dtype.startswith("u") else "int64" if dtype in [*INTEGERS, "bool"] else dtype


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS, *COMPLEX])
def test_sums_and_products(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x, wide = sample(shape, dtype, rng)
    for axis in range(len(shape)):
        got = lm.cumulative_sum(x, axis=axis)
        assert got.dtype.name == result_dtype(dtype)
        np.testing.assert_allclose(values(got), np.cumsum(wide, axis=axis), rtol=TOLERANCE.get(dtype, 1e-13))
        product = lm.cumulative_prod(x, axis=axis)
        assert product.dtype.name == result_dtype(dtype)
        with np.errstate(all="ignore"):
            expected = np.cumprod(wide, axis=axis)
        fits = np.abs(expected) < 1e4  # within float16, and above what it rounds to 0
        fits &= np.abs(expected) > (1e-3 if dtype == "float16" else 1e-30)
        np.testing.assert_allclose(values(product)[fits], expected[fits], rtol=TOLERANCE.get(dtype, 1e-11))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_rows_of_any_length(dtype: str, rng: np.random.Generator) -> None:
    for n in (*range(1, 20), 33, 64, 131):
        x, wide = sample((37, n), dtype, rng)
        leaf = lm.tensor(x, stop_gradient=False)
        y = lm.cumsum(leaf, -1)
        np.testing.assert_allclose(y.detach().numpy(), np.cumsum(wide, -1), rtol=TOLERANCE.get(dtype, 1e-13))
        (g,) = lm.grad(y, [leaf], grad_outputs=[x])
        np.testing.assert_allclose(g.numpy(), wide[:, ::-1].cumsum(-1)[:, ::-1], rtol=TOLERANCE.get(dtype, 1e-13))
        expected = np.cumprod(wide, -1)
        np.testing.assert_allclose(lm.cumprod(x, -1).numpy(), expected, rtol=TOLERANCE.get(dtype, 1e-11) * 10)
    x = np.zeros((3, 40), dtype)
    x[1, 20] = complex(np.nan, 0)
    y = lm.cumsum(lm.asarray(x), -1).numpy()
    assert np.isfinite(y[[0, 2]]).all() and np.isfinite(y[1, :20]).all() and np.isfinite(y.imag).all()
    assert np.isnan(y.real[1, 20:]).all()


def test_arguments() -> None:
    x = lm.asarray([1.0, 2.0, 4.0])
    assert lm.cumulative_sum(x, include_initial=True).tolist() == [0.0, 1.0, 3.0, 7.0]
    assert lm.cumulative_prod(x, include_initial=True).tolist() == [1.0, 1.0, 2.0, 8.0]
    assert lm.cumulative_sum(x, dtype="float64").dtype == lm.float64
    assert lm.cumulative_sum(lm.asarray([100, 100], dtype="int8"), dtype="int8").tolist() == [100, 200 - 256]
    assert lm.cumulative_sum(lm.asarray([1.7, 1.7]), dtype="int32").tolist() == [1, 2]
    assert lm.cumsum(lm.asarray(3.0), 0).item() == 3.0 and lm.cumprod(lm.asarray(3.0), -1).item() == 3.0
    for name in ("cumulative_sum", "cumulative_prod"):
        f = getattr(lm, name)
        with pytest.raises(ValueError, match=rf"\[{name}\] axis must be given"):
            f(lm.ones([2, 2]))
        with pytest.raises(ValueError, match="axis must be given"):
            f(lm.asarray(1.0))
        with pytest.raises(IndexError, match=rf"\[{name}\]"):
            f(lm.ones([2, 2]), axis=2)
        assert f(lm.ones([0])).shape == (0,)
        assert f(lm.ones([0, 3]), axis=0, include_initial=True).shape == (1, 3)
        assert f(lm.ones([3, 0]), axis=0).shape == (3, 0)


def test_strided_input(rng: np.random.Generator) -> None:
    x = rng.normal(size=(6, 8, 4))
    t = lm.asarray(x)
    for axis in range(3):
        np.testing.assert_allclose(lm.cumsum(t.T, axis).numpy(), np.cumsum(x.T, axis), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(lm.cumsum(t[::-2, 1::3], axis).numpy(), np.cumsum(x[::-2, 1::3], axis), atol=1e-12)


def test_float32_sums_are_carried_in_float64() -> None:
    x = np.full(1_000_000, 0.1, "float32")
    expected = np.cumsum(x.astype("float64"))
    np.testing.assert_allclose(lm.cumsum(lm.asarray(x), 0).numpy(), expected, rtol=2e-7)
    # Neither do partial sums overflow that are within the range after all.
    big = np.array([-3e38, 3e38, 3e38, -3e38] * 5, "float32")
    np.testing.assert_array_equal(
        lm.cumsum(lm.asarray(big), 0).numpy(), np.cumsum(big, dtype="float64").astype("float32")
    )


def test_special_values_do_not_spread_backwards() -> None:
    for bad in (np.inf, np.nan):
        x = np.ones(37, "float32")
        x[20] = bad
        y = lm.cumsum(lm.asarray(x), 0).numpy()
        assert np.isfinite(y[:20]).all() and not np.isfinite(y[20:]).any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_logcumsumexp(dtype: str, rng: np.random.Generator) -> None:
    wide = np.round(rng.normal(size=(4, 30)) * 64) / 8
    x = lm.asarray(wide).astype(dtype)
    exact = x.astype("float64").numpy()
    for axis in (0, 1):
        got = lm.logcumsumexp(x, axis)
        assert got.dtype.name == dtype
        expected = np.logaddexp.accumulate(exact, axis)
        np.testing.assert_allclose(values(got), expected, rtol=TOLERANCE.get(dtype, 1e-12), atol=1e-6)


def test_logcumsumexp_at_infinity() -> None:
    inf = float("inf")
    x = lm.tensor([-inf, -inf, 0.0, 0.0, -inf], stop_gradient=False)
    y = lm.logcumsumexp(x, 0)
    assert y.tolist() == pytest.approx([-inf, -inf, 0.0, np.log(2), np.log(2)])
    (g,) = lm.grad(y[2:].sum(), [x])
    assert g.tolist() == pytest.approx([0.0, 0.0, 2.0, 1.0, 0.0])
    assert lm.logcumsumexp(lm.asarray([inf, 1.0]), 0).tolist() == [inf, inf]
    assert np.isnan(lm.logcumsumexp(lm.asarray([1.0, float("nan"), 2.0]), 0).numpy()).tolist() == [False, True, True]


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
def test_cumulative_extremes(name: str, dtype: str, rng: np.random.Generator) -> None:
    x, wide = sample((5, 300), dtype, rng)
    accumulate = np.maximum.accumulate if name == "cummax" else np.minimum.accumulate
    for axis in (0, 1):
        got, positions = getattr(lm, name)(x, axis)
        assert got.dtype == x.dtype and positions.dtype == lm.int64
        expected = accumulate(wide, axis)
        np.testing.assert_array_equal(values(got), expected)
        # The last of equal elements.
        for index in itertools.islice(np.ndindex(*wide.shape), 0, None, 7):
            line = wide[: index[0] + 1, index[1]] if axis == 0 else wide[index[0], : index[1] + 1]
            last = len(line) - 1 - np.argmax(line[::-1] == expected[index])
            assert positions.numpy()[index] == last


def test_cumulative_extremes_with_nan_and_names() -> None:
    nan = float("nan")
    for f in (lm.cummax, lm.cummin):
        result = f(lm.asarray([2.0, nan, 5.0, nan, 1.0]), 0)
        assert np.isnan(result.values.numpy()).tolist() == [False, True, True, True, True]
        assert result.indices.tolist() == [0, 1, 1, 3, 3]
        with pytest.raises(TypeError, match="complex64"):
            f(lm.zeros([2], dtype="complex64"), 0)


def test_product_gradients_with_zeros() -> None:
    x = lm.tensor([2.0, 0.0, 3.0, 0.0, 5.0], stop_gradient=False)
    lm.cumulative_prod(x).sum().backward()
    # d/dx1 (x0 x1 + x0 x1 x2 + ...) = 2 + 6; the second zero hides the rest.
    assert x.grad.tolist() == [1.0, 8.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
def test_diff(dtype: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 2 if dtype == "bool" else 9, (4, 6)).astype(dtype)
    t = lm.asarray(x)
    for axis, n in itertools.product((0, -1), range(4)):
        np.testing.assert_array_equal(lm.diff(t, axis=axis, n=n).numpy(), np.diff(x, axis=axis, n=n))
    assert lm.diff(t, n=9).shape == (4, 0)
    ends = lm.diff(lm.asarray([1.0, 4.0]), prepend=lm.asarray([0.0]), append=lm.asarray([9.0, 9.0]))
    assert ends.tolist() == [1.0, 3.0, 5.0, 0.0]
    with pytest.raises(ValueError, match=r"\[diff\]"):
        lm.diff(lm.asarray(1.0))
    with pytest.raises(ValueError, match=r"\[diff\] n,"):
        lm.diff(t, n=-1)


def test_no_differences_are_the_tensor_itself() -> None:
    x = lm.asarray([1, 4, 9])
    assert lm.diff(x, n=0, prepend=lm.asarray([0]), append=lm.asarray([0])).tolist() == [1, 4, 9]
