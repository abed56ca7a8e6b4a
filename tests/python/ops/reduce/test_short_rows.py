"""Rows of every length up to some vectors: kernels take several at once, and what is left over in other ways."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lamella as lm

ROWS = 41
WIDTHS = [*range(1, 42), 63, 64, 65, 100, 131]
REAL = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]


def sample(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Numbers of which several in a row are the same; near 1 where they are complex, as they are multiplied."""
    if dtype in COMPLEX:
        return (rng.uniform(0.9, 1.1, shape) * np.exp(1j * rng.uniform(-1, 1, shape))).astype(dtype)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    return rng.integers(0 if dtype[0] == "u" else -5, 6, shape).astype(dtype)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_of_extremes(name: str, dtype: str, rng: np.random.Generator) -> None:
    for width in WIDTHS:
        x = sample((ROWS, width), dtype, rng)
        if dtype.startswith("float"):
            x[3 % ROWS, width // 2 :] = np.nan
            x[5, : width // 2] = -np.inf
        got = getattr(lm, name)(lm.asarray(x), axis=1)
        np.testing.assert_array_equal(got.numpy(), getattr(np, name)(x, axis=1), f"{width} columns")


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["sum", "prod", "mean"])
def test_reductions_of_complex_numbers(name: str, axis: int, dtype: str, rng: np.random.Generator) -> None:
    tolerance = 2e-5 if dtype == "complex64" else 1e-13
    for width in WIDTHS:
        x = sample((ROWS, width), dtype, rng)
        got = getattr(lm, name)(lm.asarray(x), axis=axis)
        expected = getattr(np, name)(x.astype("complex128"), axis=axis)
        np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, atol=tolerance, err_msg=f"{width} columns")
        for row in (0, ROWS - 1):  # wherever it stands
            alone = getattr(lm, name)(lm.asarray(x[row : row + 1]), axis=1)
            if axis == 1:
                np.testing.assert_array_equal(got[row].numpy(), alone[0].numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "complex64"])
@pytest.mark.parametrize("columns", [250, 256, 257, 511, 513, 700, 1030])
def test_reductions_of_wide_rows(columns: int, dtype: str, rng: np.random.Generator) -> None:
    for rows in (1, 2, 3, 4, 5, 31, 33, 70, 300):
        values = rng.integers(-3, 4, (rows, columns))
        x = lm.asarray(values).astype(dtype)
        total = lm.sum(x, axis=0).astype("complex128" if dtype == "complex64" else "float64").numpy()
        np.testing.assert_array_equal(total, values.sum(0).astype(total.dtype) if dtype != "bfloat16" else total)
        if dtype == "bfloat16":
            np.testing.assert_allclose(total, values.sum(0), rtol=8e-3, atol=1e-6)
        if dtype != "complex64":
            np.testing.assert_array_equal(lm.max(x, axis=0).astype("float64").numpy(), values.max(0))


#: Layouts of a matrix of 12 columns more than are looked at.
LAYOUTS: dict[str, Callable[..., lm.Tensor | np.ndarray]] = {
    "rows": lambda x: x[:, :-12],
    "cut": lambda x: x[:, 5:-7],
    "steps": lambda x: x[:, :-12:2],
    "thirds": lambda x: x[:, ::3],
    "transposed": lambda x: x[:, 6:-6].T,
    "backwards": lambda x: x[:, ::-1],
    "column": lambda x: x[:, 3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("dtype", "to"),
    [
        *((dtype, to) for dtype in ("int8", "int32", "float32", "float64") for to in ("bfloat16", "float16", "int64")),
        *((dtype, to) for dtype in COMPLEX for to in ("float32", "float64", "int16", "bfloat16", "complex64")),
        *((dtype, "bool") for dtype in (*COMPLEX, "float32", "int64")),
    ],
)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_casts_of_layouts(dtype: str, to: str, layout: str, rng: np.random.Generator) -> None:
    for width in (14, 20, 45, 90):
        x = sample((60, width), dtype, rng)
        if dtype in COMPLEX:
            x = x * 3
            x[::4] = 0
            x[1::4] = 2j
        got = LAYOUTS[layout](lm.asarray(x)).astype(to)
        expected = LAYOUTS[layout](x)
        if np.iscomplexobj(expected) and to not in ("bool", *COMPLEX):
            expected = expected.real
        if to == "bfloat16":
            exact = lm.asarray(np.ascontiguousarray(expected.astype("float32"))).astype(to)
            np.testing.assert_array_equal(got.astype("float32").numpy(), exact.astype("float32").numpy())
        else:
            np.testing.assert_array_equal(got.numpy(), expected.astype(to))


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_which_complex_numbers_are_true(dtype: str, step: int) -> None:
    parts = [0.0, -0.0, np.nan, np.inf, -1.0, float(np.finfo(dtype).smallest_subnormal)]
    x = np.asarray([complex(re, im) for re in parts for im in parts] * 3, dtype=dtype)
    expected = np.asarray([z.real != 0 or z.imag != 0 for z in x.tolist()])
    np.testing.assert_array_equal(lm.asarray(x)[::step].astype("bool").numpy(), expected[::step])


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
def test_parts_of_rows_that_are_set(dtype: str, rng: np.random.Generator) -> None:
    for width in WIDTHS:
        x = sample((ROWS, width + 3), dtype, rng)
        column = sample((ROWS, 1), dtype, rng)
        ours = lm.asarray(x, copy=True)
        ours[:, 1 : 1 + width] = 1
        x[:, 1 : 1 + width] = 1
        np.testing.assert_array_equal(ours.numpy(), x)
        ours[:, 2 : 2 + width] = lm.asarray(column)
        x[:, 2 : 2 + width] = column
        np.testing.assert_array_equal(ours.numpy(), x)
        ours[:, ::2] = 0
        x[:, ::2] = 0
        np.testing.assert_array_equal(ours.numpy(), x)


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
def test_operands_that_are_read_backwards(dtype: str, rng: np.random.Generator) -> None:
    for shape in ((1500,), (40, 33), (7, 300)):
        x = sample(shape, dtype, rng)
        y = sample(shape, dtype, rng)
        backwards = lm.flip(lm.asarray(y))
        np.testing.assert_allclose((lm.asarray(x) + backwards).numpy(), x + np.flip(y), rtol=1e-6)
        np.testing.assert_array_equal((backwards == lm.asarray(x)).numpy(), np.flip(y) == x)


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
def test_copies_of_what_is_read_backwards(dtype: str, rng: np.random.Generator) -> None:
    for width in WIDTHS:
        x = sample((5, width), dtype, rng)
        for axis in (0, 1, (0, 1)):
            np.testing.assert_array_equal(lm.contiguous(lm.flip(lm.asarray(x), axis=axis)).numpy(), np.flip(x, axis))


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float32", "int64", "complex128"])
def test_few_that_are_taken_of_each_row(dtype: str, rng: np.random.Generator) -> None:
    for rows, size, count in ((300, 4, 4), (300, 4, 1), (40, 40, 31), (128, 7, 32), (129, 3, 33), (1000, 100, 5)):
        values = sample((rows, 2, size), "float32" if dtype == "bfloat16" else dtype, rng)
        x = lm.asarray(values).astype(dtype)
        numbers = rng.integers(0, size, count)
        for layout, expected in ((x, values), (x[:, 1:], values[:, 1:]), (x[::-1, :, :], values[::-1])):
            got = lm.take(layout, lm.asarray(numbers), axis=2)
            got = got.astype("float32") if dtype == "bfloat16" else got
            np.testing.assert_array_equal(got.numpy(), expected[:, :, numbers])
        with pytest.raises(IndexError):
            lm.take(x, lm.asarray([*numbers, size]), axis=2)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "int32", "int64"])
@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "square", "isnan", "isinf", "isfinite"])
def test_integers_stay_whole(name: str, dtype: str, rng: np.random.Generator) -> None:
    for n in (0, 1, 63, 65, 1000):
        x = sample((n,), dtype, rng)
        got = getattr(lm, name)(lm.asarray(x))
        np.testing.assert_array_equal(got.numpy(), getattr(np, name)(x))
        assert got.dtype == (lm.bool if name.startswith("is") else lm.asarray(x).dtype)


def test_astype_keeps_the_order_of_axes() -> None:
    x = lm.ones((3, 4, 5)).permute_dims((2, 0, 1))
    y = x.astype("float64")
    assert y.strides == x.strides
    assert lm.ones((3, 4))[:, ::2].astype("float64").is_contiguous()


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pads_of_long_rows(mode: str, rng: np.random.Generator) -> None:
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    for shape, pad in (((40000,), (5, 7)), ((3, 20000), (0, 9)), ((2, 17000), (20000 if mode == "constant" else 3, 1))):
        x = rng.standard_normal(shape).astype("float32")
        got = lm.pad(lm.asarray(x), pad, mode=mode)
        expected = np.pad(x, [*[(0, 0)] * (x.ndim - 1), pad], mode=modes[mode])
        np.testing.assert_array_equal(got.numpy(), expected)
    both = lm.pad(lm.asarray(rng.standard_normal((2, 18000))), (2, 2, 1, 1), value=4.0)
    assert bool(lm.all(both[0] == 4.0)) and bool(lm.all(both[:, :2] == 4.0))
