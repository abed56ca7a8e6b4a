"""What elementwise kernels take care of by themselves: blocks, repeated operands, small dtypes, integer division."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from scipy import special

import lamella as lm

from ..samples import DTYPES

SMALL = ["int8", "uint8", "int16", "uint16"]
INTEGERS = [*SMALL, "int32", "uint32", "int64", "uint64"]
HALVES = ["float16", "bfloat16"]
#: Around a vector and around a block.
LENGTHS = [1, 2, 15, 16, 17, 63, 64, 65, 511, 513, 1024, 1030, 4099]


BINARY = [
    *("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor"),
]


def spread(dtype: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Integers over the whole range, small and large ones, the ends among them."""
    limits = np.iinfo(dtype)
    bits = rng.integers(1, limits.bits, n, endpoint=True)
    values = rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True) >> (limits.bits - bits).astype(dtype)
    ends = np.array([limits.min, limits.max, 0, 1, limits.max - 1], dtype)
    values[: len(ends)] = ends[:n]
    return values.astype(dtype)


def wrapped(values: np.ndarray, dtype: str) -> np.ndarray:
    """Python integers as ones of the dtype."""
    limits = np.iinfo(dtype)
    return np.array([(int(v) - limits.min) % 2**limits.bits + limits.min for v in values], dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division(dtype: str, rng: np.random.Generator) -> None:
    pairs = itertools.product(spread(dtype, 40, rng).tolist(), spread(dtype, 40, rng).tolist())
    # A vector with one huge operand takes another way than one without.
    pairs = sorted([*pairs, *((7, d) for d in range(1, 65)), *((n, 3) for n in range(64))], key=lambda p: abs(p[0]))
    a, b = np.array(pairs, dtype=object).T
    by = np.where(b == 0, 1, b)
    quotients, zeros = a // by, b == 0
    left, right = lm.asarray(a.astype(dtype)), lm.asarray(b.astype(dtype))
    np.testing.assert_array_equal(lm.floor_divide(left, right).numpy(), np.where(zeros, 0, wrapped(quotients, dtype)))
    rests = wrapped(a - quotients * by, dtype)
    np.testing.assert_array_equal(lm.remainder(left, right).numpy(), np.where(zeros, 0, rests))
    truncated = np.array([0 if d == 0 else abs(n) % abs(d) * (-1 if n < 0 else 1) for n, d in pairs], dtype)
    np.testing.assert_array_equal(lm.fmod(left, right).numpy(), truncated)
    for number in (3, 7, 100):
        np.testing.assert_array_equal((left // number).numpy(), wrapped(a // number, dtype))
        np.testing.assert_array_equal((left % number).numpy(), wrapped(a % number, dtype))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", SMALL)
def test_small_integers(dtype: str, n: int, rng: np.random.Generator) -> None:
    a, b = spread(dtype, n, rng), spread(dtype, n, rng)[::-1].copy()
    b[::3] = a[::3]
    x, y = lm.asarray(a), lm.asarray(b)
    for name in [
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "logical_and",
        "logical_or",
        "logical_xor",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
    ]:
        np.testing.assert_array_equal(getattr(lm, name)(x, y).numpy(), getattr(np, name)(a, b), err_msg=name)
        number = getattr(lm, name)(x, 5).numpy()
        np.testing.assert_array_equal(number, getattr(np, name)(a, np.array(5, dtype)), err_msg=name)
    for name in ("negative", "abs", "sign", "bitwise_invert", "logical_not"):
        np.testing.assert_array_equal(getattr(lm, name)(x).numpy(), getattr(np, name)(a), err_msg=name)
    np.testing.assert_array_equal(lm.relu(x).numpy(), np.maximum(a, 0))
    np.testing.assert_array_equal(lm.clip(x, 3, 9).numpy(), np.clip(a, 3, 9))
    np.testing.assert_array_equal(lm.where(lm.asarray(a < b), x, y).numpy(), np.where(a < b, a, b))
    np.testing.assert_array_equal((x[::2] + y[::2]).numpy(), a[::2] + b[::2])


def all_halves(dtype: str) -> tuple[lm.Tensor, np.ndarray]:
    """Every value of the dtype, and the same in float32."""
    bits = np.arange(65536, dtype=np.uint16)
    if dtype == "float16":
        return lm.asarray(bits.view(np.float16)), bits.view(np.float16).astype(np.float32)
    values = (bits.astype(np.uint32) << 16).view(np.float32)
    return lm.astype(lm.asarray(values), lm.bfloat16), values


def same(got: lm.Tensor, expected: np.ndarray) -> None:
    """The same values, signs of zeros included."""
    values = got.numpy() if got.dtype == lm.bool else lm.astype(got, lm.float32).numpy()
    np.testing.assert_array_equal(values, expected)
    if got.dtype != lm.bool:
        real = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(values[real]), np.signbit(expected[real]))


@pytest.mark.parametrize("dtype", HALVES)
def test_every_number_of_16_bits(dtype: str, rng: np.random.Generator) -> None:
    x, a = all_halves(dtype)
    wide = lm.asarray(a)
    for name in ["negative", "abs", "sign", "relu", "isnan", "isinf", "isfinite", "signbit"]:
        same(getattr(lm, name)(x), getattr(lm, name)(wide).numpy())
    for order in (rng.permutation(65536), np.arange(65536), np.arange(65536) ^ 0x8000):
        y, b = lm.take(x, lm.asarray(order)), lm.asarray(a[order])
        for name in [
            "maximum",
            "minimum",
            "copysign",
            "equal",
            "not_equal",
            "less",
            "less_equal",
            "greater",
            "greater_equal",
        ]:
            same(getattr(lm, name)(x, y), getattr(lm, name)(wide, b).numpy())
        same(lm.where(x > y, x, y), lm.where(wide > b, wide, b).numpy())
    same(lm.clip(x, -0.5, 2.0), lm.clip(wide, -0.5, 2.0).numpy())
    same(lm.hardtanh(x), lm.hardtanh(wide).numpy())
    same(lm.threshold(x, 0.5, 0.25), lm.threshold(wide, 0.5, 0.25).numpy())
    same(lm.hardshrink(x, 0.25), lm.hardshrink(wide, 0.25).numpy())
    same(
        lm.nan_to_num(x, nan=2.0, posinf=8.0, neginf=-8.0),
        lm.nan_to_num(wide, nan=2.0, posinf=8.0, neginf=-8.0).numpy(),
    )


@pytest.mark.parametrize("dtype", HALVES)
def test_arithmetic_of_every_number_of_16_bits_is_rounded_once(dtype: str, rng: np.random.Generator) -> None:
    x, a = all_halves(dtype)
    wide = lm.asarray(a)

    def agree(function: Callable[..., lm.Tensor], *orders: np.ndarray) -> None:
        got = function(x, *(lm.take(x, lm.asarray(order)) for order in orders))
        exact = function(wide, *(lm.asarray(a[order]) for order in orders))
        assert got.dtype.name == dtype
        np.testing.assert_array_equal(got.astype("float32").numpy(), exact.astype(dtype).astype("float32").numpy())

    for unary in (lm.square, lm.reciprocal, lm.sqrt, lm.rsqrt, lm.floor, lm.ceil, lm.trunc, lm.round, lm.frac):
        agree(unary)
    for unary in (lambda u: lm.leaky_relu(u, 0.25), lm.hardsigmoid, lm.hardswish, lm.softsign):
        agree(unary)
    shuffled = [rng.permutation(65536) for _ in range(2)]
    for binary in (lm.add, lm.subtract, lm.multiply, lm.divide, lm.squared_difference):
        agree(binary, shuffled[0])
    agree(lambda u, v, w: lm.lerp(u, v, w), *shuffled)
    agree(lambda u, v, w: lm.addcmul(u, v, w, value=0.5), *shuffled)
    agree(lambda u, v, w: lm.addcdiv(u, v, w, value=0.5), *shuffled)


def skip_without_half_kernels(dtype: object) -> None:
    if "float16" in str(dtype) and lm.config.config()["cpu kernels"] == "x86-64-v2":
        pytest.skip("x86-64-v2 has no instructions for float16: it is computed as float is, where 1 + erf(x) cancels")


@pytest.mark.parametrize("name", ["gelu_erf", "erfc"])
@pytest.mark.parametrize("dtype", HALVES)
def test_functions_of_every_number_of_16_bits(dtype: str, name: str) -> None:
    """Half a unit in the last place from the exact value, and little more: also where 1 + erf(x) would cancel."""
    skip_without_half_kernels(dtype)
    x, a = all_halves(dtype)
    finite = np.isfinite(a)
    a = a[finite].astype("float64")
    exact = a * special.ndtr(a) if name == "gelu_erf" else special.erfc(a)
    got = getattr(lm, name)(x).astype("float32").numpy()
    digits, lowest = (10, -24) if dtype == "float16" else (7, -133)
    unit = np.exp2(np.maximum(np.floor(np.log2(np.maximum(np.abs(exact), 1e-300))) - digits, lowest))
    errors = np.abs(got[finite] - exact) / unit
    assert errors.max() <= 0.52, a[errors.argmax()]
    ends = lm.asarray([math.inf, -math.inf, math.nan]).astype(dtype)
    limits = [math.inf, 0.0, math.nan] if name == "gelu_erf" else [0.0, 2.0, math.nan]
    np.testing.assert_array_equal(getattr(lm, name)(ends).astype("float32").numpy(), limits)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_second_element(dtype: str, n: int, rng: np.random.Generator) -> None:
    """Beside dense and repeated operands; the last element of a row is the last of its memory."""
    a, b, c = (rng.uniform(0.5, 2.0, 3 * (2 * n - 1)).astype(dtype).reshape(3, -1)[:, ::2] for _ in range(3))
    x, y, z = (
        lm.asarray(np.lib.stride_tricks.as_strided(v, (3, 2 * n - 1), (v.strides[0], v.itemsize)))[:, ::2]
        for v in (a, b, c)
    )
    dense, column, one = lm.asarray(np.ascontiguousarray(b)), y[:, :1], y[1, 0]
    for other, v in ((y, b), (dense, b), (column, b[:, :1]), (one, b[1, 0])):
        for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
            np.testing.assert_array_equal(getattr(lm, name)(x, other).numpy(), getattr(np, name)(a, v))
        np.testing.assert_array_equal((other - x).numpy(), v - a)
        near = np.where(c < 0.5, a + c * (v - a), v - (1 - c) * (v - a))
        np.testing.assert_array_equal(lm.lerp(x, other, z).numpy(), near)
        np.testing.assert_array_equal(lm.addcmul(x, other, z, value=0.5).numpy(), a + np.array(0.5, dtype) * v * c)
        np.testing.assert_array_equal(lm.addcdiv(z, x, other, value=0.5).numpy(), c + np.array(0.5, dtype) * a / v)
    np.testing.assert_array_equal(lm.kron(x, dense[:2]).numpy(), np.kron(a, b[:2]))
    kept = dense.numpy().copy()
    dense.sub_(x)
    np.testing.assert_array_equal(dense.numpy(), kept - a)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", HALVES)
def test_rows_of_halves(dtype: str, n: int, rng: np.random.Generator) -> None:
    matrix = lm.asarray(rng.standard_normal((3, 2 * n)).astype("float32")).astype(dtype)
    column = matrix[:, :1]
    wide = matrix.astype("float32").numpy()
    for x, a in ((matrix, wide), (matrix[:, ::2], wide[:, ::2]), (matrix[:, ::-1], wide[:, ::-1])):
        for y, b in ((x, a), (column, wide[:, :1]), (x[1], a[1])):
            expected = lm.asarray(a * b).astype(dtype).astype("float32").numpy()
            np.testing.assert_array_equal((x * y).astype("float32").numpy(), expected)


@pytest.mark.parametrize("dtype", HALVES)
def test_neighbors_of_every_number_of_16_bits(dtype: str) -> None:
    x, a = all_halves(dtype)
    ordered = np.unique(a[np.isfinite(a)])  # one zero
    place = np.searchsorted(ordered, a[np.isfinite(a)])
    finite = lm.asarray(np.isfinite(a))
    for towards, step, end in ((math.inf, 1, math.inf), (-math.inf, -1, -math.inf)):
        around = np.array([*ordered, math.inf, -math.inf])  # -1 is the last one, and so is what follows the largest
        got = lm.astype(lm.nextafter(x, towards)[finite], lm.float32).numpy()
        beyond = place + step == (len(ordered) if step > 0 else -1)
        np.testing.assert_array_equal(got, np.where(beyond, end, around[np.where(beyond, 0, place + step)]))
    same(lm.nextafter(x, x)[finite], a[np.isfinite(a)])
    assert lm.isnan(lm.nextafter(x, math.nan)).all()
    smallest = lm.nextafter(lm.zeros([1], dtype=x.dtype), -1.0)
    assert np.signbit(lm.nextafter(smallest, 1.0).astype(lm.float32).numpy()).all()  # minus zero, as in C


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neighbors(dtype: str, rng: np.random.Generator) -> None:
    tiny = np.nextafter(np.array(0, dtype), np.array(1, dtype))
    limits = np.finfo(dtype)
    ends = [0.0, -0.0, math.inf, -math.inf, math.nan, tiny, -tiny, limits.tiny, limits.max, limits.min, 1.0, -1.0]
    a = np.concatenate([np.repeat(ends, len(ends)), rng.standard_normal(1000)]).astype(dtype)
    b = np.concatenate([np.tile(ends, len(ends)), rng.standard_normal(1000)]).astype(dtype)
    with np.errstate(over="ignore"):
        expected = np.nextafter(a, b)
    got = lm.nextafter(lm.asarray(a), lm.asarray(b)).numpy()
    np.testing.assert_array_equal(got, expected)
    real = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[real]), np.signbit(expected[real]))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64", "bool"])
def test_repeated_and_strided_operands(dtype: str, n: int, rng: np.random.Generator) -> None:
    matrix = rng.integers(0, 2 if dtype == "bool" else 50, (5, n)).astype(dtype)
    row, column = matrix[2].copy(), matrix[:, :1].copy()
    x = lm.asarray(matrix)
    for other in (row, column, matrix[1, 0]):
        np.testing.assert_array_equal((x + lm.asarray(other)).numpy(), matrix + other)
        np.testing.assert_array_equal((lm.asarray(other) * x).numpy(), other * matrix)
    np.testing.assert_array_equal((lm.asarray(column) + lm.asarray(row)).numpy(), column + row)
    np.testing.assert_array_equal((x[:, ::2] + x[:, ::2]).numpy(), matrix[:, ::2] + matrix[:, ::2])
    np.testing.assert_array_equal((x[:, ::-1] * x).numpy(), matrix[:, ::-1] * matrix)
    wide = lm.zeros([5, 2 * n], dtype=x.dtype)
    lm.add(x, lm.asarray(column), out=wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2].numpy(), matrix + column)
    assert not wide[:, 1::2].numpy().any()


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 10, 16, 17, 31, 32, 63, 100, 255, 256])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "uint64", "bool", "complex128", "float16"])
def test_short_rows(dtype: str, width: int, rng: np.random.Generator) -> None:
    for elements in (900, 4000, 70_000):  # rows by themselves, lines of them, lines that threads share
        matrix = rng.integers(0, 2 if dtype == "bool" else 9, (-(-elements // width), width)).astype(dtype)
        apart = np.repeat(matrix, 2, axis=0)
        row, column = matrix[1].copy(), matrix[:, 1:2].copy() if width > 1 else matrix.copy()
        x, r, c = lm.asarray(matrix), lm.asarray(row), lm.asarray(column)
        np.testing.assert_array_equal((x + r).numpy(), matrix + row)
        np.testing.assert_array_equal((c * x).numpy(), column * matrix)
        np.testing.assert_array_equal((c + r).numpy(), column + row)
        np.testing.assert_array_equal((x == c).numpy(), matrix == column)
        np.testing.assert_array_equal(lm.where(c == 1, x, r).numpy(), np.where(column == 1, matrix, row))
        # A row and a column that do not lie side by side, rows apart from each other, a row of what is written.
        np.testing.assert_array_equal((lm.asarray(apart)[::2, :] + r[::-1]).numpy(), matrix + row[::-1])
        np.testing.assert_array_equal((x * lm.asarray(apart)[::2, :1]).numpy(), matrix * matrix[:, :1])
        out = lm.zeros([matrix.shape[0], width + 1], dtype=x.dtype)
        lm.add(x, c, out=out[:, :width])
        np.testing.assert_array_equal(out.numpy(), np.pad(matrix + column, ((0, 0), (0, 1))))
        # Rows and columns that other axes have, too.
        stack = np.stack([matrix, matrix + 1 if dtype != "bool" else ~matrix])
        many, rows, columns = lm.asarray(stack), stack[:, 1:2], stack[:, :, :1].copy()
        np.testing.assert_array_equal((many + r).numpy(), stack + row)
        np.testing.assert_array_equal((many * lm.asarray(rows)).numpy(), stack * rows)
        np.testing.assert_array_equal((many * lm.asarray(columns)).numpy(), stack * columns)
        np.testing.assert_array_equal((c + many).numpy(), column + stack)
        x = lm.tensor(matrix)
        x += x[1]
        np.testing.assert_array_equal(x.numpy(), matrix + row)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 129, 255])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "uint64", "bool", "complex128", "float16"])
def test_short_rows_that_lie_apart(dtype: str, width: int, rng: np.random.Generator) -> None:
    for rows in (3, 70, -(-40_000 // width)):
        whole = rng.integers(0, 2 if dtype == "bool" else 9, (rows, 2 * width + 1)).astype(dtype)
        x = lm.asarray(whole)
        for part in (slice(1, width + 1), slice(0, 2 * width, 2), slice(None, width, -1)):
            a, b = whole[:, part], np.ascontiguousarray(whole[:, :width])
            np.testing.assert_array_equal((x[:, part] + lm.asarray(b)).numpy(), a + b)
            np.testing.assert_array_equal((x[:, part] == x[:, -1:]).numpy(), a == whole[:, -1:])
            np.testing.assert_array_equal((x[:, part] * x[1, part]).numpy(), a * a[1])
            # A result that lies apart, and nothing between its elements is written.
            out, expected = lm.tensor(whole), whole.copy()
            lm.multiply(x[:, part], lm.asarray(b), out=out[:, part])
            expected[:, part] = a * b
            np.testing.assert_array_equal(out.numpy(), expected)
            out, expected = lm.tensor(whole), whole.copy()
            out[:, part] += out[:, part]
            expected[:, part] += a
            np.testing.assert_array_equal(out.numpy(), expected)
        tall = lm.asarray(np.ascontiguousarray(whole.T))
        np.testing.assert_array_equal((tall.T[:, :width] + x[:, :width]).numpy(), (whole + whole)[:, :width])
        deep = lm.asarray(np.stack([whole, whole[::-1]]))[:, :, ::2]
        np.testing.assert_array_equal((deep * deep).numpy(), deep.numpy() * deep.numpy())


@pytest.mark.parametrize("exponent", [2, 3, 1, 0, -1, 0.5, -0.5, 2.5, -2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_power_does_not_depend_on_its_neighbors(dtype: str, exponent: float, rng: np.random.Generator) -> None:
    values = rng.standard_normal(200) * 3
    parts = np.array([0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan, 1e30])
    if dtype.startswith("complex"):
        pairs = np.empty((len(parts), len(parts)), "complex128")
        pairs.real, pairs.imag = parts[:, None], parts
        values = np.concatenate([values + 1j * rng.standard_normal(200), pairs.ravel()])
    else:
        values = np.concatenate([values, parts])
    a = np.repeat(values, 2).astype(dtype)
    b = np.tile([exponent, 1.75], len(values)).astype(dtype)
    mixed = lm.pow(lm.asarray(a), lm.asarray(b)).numpy()[::2]
    alone = (lm.asarray(values.astype(dtype)) ** exponent).numpy()
    np.testing.assert_array_equal(alone, mixed)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_that_are_hardly_numbers(dtype: str, rng: np.random.Generator) -> None:
    """Infinite ones, zeros and denormal numbers, of operands of all sizes, beside others in a vector."""
    info = np.finfo(dtype)
    limit = {"float32": 128, "float64": 1024}[dtype]
    special = np.array([0.0, -0.0, 1, -1, math.inf, -math.inf, math.nan, info.smallest_subnormal, info.tiny, info.max])
    special = np.concatenate([special, 1 + np.array([-1, 1, 3, 1000]) * info.eps, [-2, -3, 0.5, -0.5, 1e5, -1e5, 1e30]])
    a, b = (side.ravel() for side in np.meshgrid(special, special))
    mantissas, exponents = rng.uniform(0.3, 3, 20000), rng.uniform(-1, 1, 20000)
    ends = rng.choice([limit, -limit - info.nmant, 0, 300], 20000) + rng.uniform(-3, 3, 20000)
    large = mantissas ** (10**exponents)
    with np.errstate(all="ignore"):
        a = np.concatenate([a, large]).astype(dtype)
        b = np.concatenate([b, ends / np.log2(large)]).astype(dtype)
        order = rng.permutation(len(a))
        a, b = a[order], b[order]
        got = lm.pow(lm.asarray(a), lm.asarray(b)).numpy()
        exact = np.power(a.astype("longdouble"), b.astype("longdouble"))
        expected = exact.astype(dtype)
    surely = ~np.isclose(exact, 2.0**limit, rtol=1e-5) if dtype == "float32" else np.isfinite(expected)
    np.testing.assert_allclose(got[surely], expected[surely], rtol=4 * info.eps, atol=2 * info.smallest_subnormal)
    assert np.isnan(got[np.isnan(expected)]).all()
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zeros & (got == 0)]), np.signbit(expected[zeros & (got == 0)]))


def test_clip_by_one_number() -> None:
    for dtype in (*SMALL, "int32", "int64", "uint64", "float32", "bfloat16"):
        a = np.array([0, 1, 2, 3, 100, 120])
        x = lm.astype(lm.asarray(a), getattr(lm, dtype))
        for limits in ({"min": 2}, {"max": 3}, {"min": 2, "max": 3}, {}):
            expected = np.clip(a, limits.get("min", 0), limits.get("max", 1000))
            np.testing.assert_array_equal(lm.clip(x, **limits).astype(lm.int64).numpy(), expected)
            y = lm.astype(x, x.dtype)
            assert lm.clip_(y, **limits) is y
            np.testing.assert_array_equal(y.astype(lm.int64).numpy(), expected)
    assert lm.clip(lm.asarray([1, 5]), 2.5).dtype == lm.float32
    z = lm.asarray([math.nan, -math.inf, math.inf])
    np.testing.assert_array_equal(lm.clip(z, min=0.0).numpy(), np.array([math.nan, 0, math.inf], "float32"))
    np.testing.assert_array_equal(lm.clip(z, max=0.0).numpy(), np.array([math.nan, -math.inf, 0], "float32"))
    x = lm.asarray([1.0, 2.0, 3.0])
    x.stop_gradient = False
    lm.clip(x, min=2.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0, 1, 1])


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"posinf": -1.0, "neginf": 1.0},
        {"posinf": 5.0},
        {"neginf": -5.0},
        {"posinf": -1.0, "neginf": 2.0},
        {"nan": 3.0},
    ],
)
def test_nan_to_num(limits: dict[str, Any]) -> None:
    a = np.array([1.0, math.nan, math.inf, -math.inf, -0.0, 3e38], "float32")
    x = lm.asarray(a)
    np.testing.assert_array_equal(lm.nan_to_num(x, **limits).numpy(), np.nan_to_num(a, **limits))
    x.stop_gradient = False
    lm.nan_to_num(x, **limits).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1, 0, 0, 0, 1, 1])


@pytest.mark.parametrize(
    ("name", "low", "high", "exact", "tolerance"),
    [
        ("lgamma", -30.0, 30.0, special.gammaln, 8e-7),
        ("lgamma", 0.99, 2.01, special.gammaln, 6e-7),
        ("lgamma", 0.5, 9.0, special.gammaln, 8e-7),
        ("lgamma", 1e3, 1e30, special.gammaln, 6e-7),
        ("lgamma", 0.0, 0.75, special.gammaln, 6e-7),
        ("lgamma", -1e-30, 1e-30, special.gammaln, 2e-7),
        ("erfinv", -1.0, 1.0, special.erfinv, 5e-7),
        ("trigamma", 1e-3, 60.0, lambda x: special.polygamma(1, x), 5e-7),
    ],
)
def test_special_functions(
    name: str, low: float, high: float, exact: Any, tolerance: float, rng: np.random.Generator
) -> None:
    def function(x: lm.Tensor) -> lm.Tensor:
        return lm.polygamma(1, x) if name == "trigamma" else getattr(lm, name)(x)

    a = rng.uniform(low, high, 20000).astype("float32")
    np.testing.assert_allclose(function(lm.asarray(a)).numpy(), exact(a.astype("float64")), rtol=tolerance)
    wide = rng.uniform(low, high, 20000)
    wide = wide[np.abs(wide - np.round(wide)) > 1e-2] if name == "lgamma" else wide
    np.testing.assert_allclose(function(lm.asarray(wide)).numpy(), exact(wide), rtol=1e-11, atol=1e-12)


def exact(name: str, values: Iterable[float]) -> list[float]:
    """By C's function of long doubles; Python's own lgamma is less exact around its zeros, and scipy's, too."""
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), f"{name}l")
    function.argtypes, function.restype = [ctypes.c_longdouble], ctypes.c_longdouble
    return [function(v) for v in values]


def exact_lgamma(values: Iterable[float]) -> list[float]:
    return exact("lgamma", values)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        *(("exp", *ends) for ends in ((-700.0, 700.0), (-1.0, 1.0), (-1e-3, 1e-3))),
        *(("log", *ends) for ends in ((0.0, 1.0), (0.7, 1.6), (0.999, 1.001), (0.0, 1e300), (0.0, 1e-300))),
        *(("tanh", *ends) for ends in ((-1e-3, 1e-3), (-1.0, 1.0), (-22.0, 22.0), (-1e-300, 1e-300))),
        *(("erf", *ends) for ends in ((-0.2, 0.2), (-1.0, 1.0), (-7.0, 7.0), (-1e-300, 1e-300))),
    ],
)
def test_functions_of_doubles(name: str, low: float, high: float, rng: np.random.Generator) -> None:
    """Within 4 roundings."""
    a = rng.uniform(low, high, 20000)
    got = getattr(lm, name)(lm.asarray(a)).numpy()
    np.testing.assert_allclose(got, exact(name, a), rtol=4 * 2.0**-52, atol=0)


def test_functions_of_doubles_at_the_ends() -> None:
    inf, nan = math.inf, math.nan
    same = np.testing.assert_array_equal
    ends = lm.asarray(np.array([0.0, -0.0, -1.0, inf, -inf, nan, 1.0, -5e-324, 1e308, -1e308]))
    same(lm.log(ends).numpy()[:8], [-inf, -inf, nan, inf, nan, nan, 0, nan])
    same(lm.exp(ends).numpy()[[0, 1, 3, 4, 5, 8, 9]], [1, 1, inf, 0, nan, inf, 0])
    for function in (lm.tanh, lm.erf):
        got = function(ends).numpy()
        same(got[[0, 1, 3, 4, 5, 8, 9]], [0, 0, 1, -1, nan, 1, -1])
        assert np.signbit(got[1])
    near = np.array([709.78, 709.79, -745.1, -745.2, 5e-324, 1e-310])
    same(lm.exp(lm.asarray(near)).numpy(), [math.exp(709.78), inf, 5e-324, 0, 1, 1])
    same(lm.log(lm.asarray(near[4:])).numpy(), [math.log(5e-324), math.log(1e-310)])


def test_erfinv_of_doubles_near_one() -> None:
    a = 1 - 10.0 ** np.linspace(-15.9, -2, 5000)
    for sign in (1, -1):
        got = lm.erfinv(lm.asarray(sign * a)).numpy()
        np.testing.assert_allclose(got, sign * special.erfcinv(1 - a), rtol=2e-15)
    beyond = lm.erfinv(lm.asarray(np.array([1.0, -1.0, 1.1, -2.0, math.nan, 0.0]))).numpy()
    np.testing.assert_array_equal(beyond, [math.inf, -math.inf, math.nan, math.nan, math.nan, 0])


@pytest.mark.parametrize("dtype", [lm.bfloat16, lm.float16])
def test_gelu_far_from_zero(dtype: lm.DType) -> None:
    skip_without_half_kernels(dtype)
    a = np.concatenate([np.linspace(-20, 20, 4000), [math.inf, -100, 300, math.nan]])
    x = lm.asarray(a).astype(dtype)
    wide = x.astype(lm.float64).numpy()
    expected = np.where(wide == -math.inf, 0, wide * special.ndtr(wide))
    got = lm.nn.functional.gelu(x)
    # As bfloat16 or float16, or the number beside it.
    rounded = lm.asarray(expected).astype(dtype).astype(lm.float64).numpy()
    step = 2.0**-7 if dtype is lm.bfloat16 else 2.0**-10
    smallest = 2.0**-133 if dtype is lm.bfloat16 else 2.0**-24
    np.testing.assert_allclose(got.astype(lm.float64).numpy(), rounded, rtol=step, atol=smallest)


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.0, 1.0), (-3.2, -2.2), (-9.0, -1.0), (-500.0, -9.0), (0.74, 1.1), (1.9, 2.3), (1.0, 9.0), (8, 1e3)],
)
def test_lgamma_of_doubles(low: float, high: float, rng: np.random.Generator) -> None:
    """Within 8 roundings, also around its zeros."""
    a = rng.uniform(low, high, 5000)
    np.testing.assert_allclose(lm.lgamma(lm.asarray(a)).numpy(), exact_lgamma(a), rtol=8 * 2.0**-52, atol=0)


def test_lgamma_at_the_ends() -> None:
    finite = [5e-324, -5e-324, 1e-310, 1e-300, -1e-300, -1e-20, 1.0, 2.0, 1e8, -1e5 - 0.5, 2.5e305]
    got = lm.lgamma(lm.asarray(np.array(finite))).numpy()
    np.testing.assert_allclose(got, exact_lgamma(finite), rtol=1e-15)
    assert got[6] == got[7] == 0
    poles = lm.lgamma(lm.asarray(np.array([0.0, -0.0, -1.0, -2.0, -1e16, math.inf, -math.inf, 2.6e305]))).numpy()
    assert np.all(poles == math.inf)
    assert math.isnan(float(lm.lgamma(lm.asarray(math.nan))))


def test_square_roots_of_all_significands() -> None:
    """Two binades of floats have every significand with both parities of the exponent."""
    bits = np.arange(0x3F800000, 0x40800000, dtype="uint32")
    for part in np.array_split(bits, 8):
        x = part.view("float32")
        np.testing.assert_array_equal(lm.sqrt(lm.asarray(x)).numpy(), np.sqrt(x))


def test_square_roots_of_doubles(rng: np.random.Generator) -> None:
    """Rounded correctly, also close to where rounding turns, and in the company of zeros and negative numbers."""
    root = 1 + rng.random(200_000)
    near = (root * root).view("int64")[:, None] + np.arange(-2, 3)
    wide = rng.integers(0, 0x7FF0000000000000, 200_000).view("float64")
    for x in (near.view("float64").ravel(), wide, -wide[:999], np.ldexp(root, 1022), np.ldexp(root, -1070)):
        for zeros in (False, True):
            x[3::7] = -0.0 if zeros else x[3::7]
            got = lm.sqrt(lm.asarray(x)).numpy()
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(got.view("int64") << 1, np.sqrt(x).view("int64") << 1)  # but a NaN's sign
            np.testing.assert_array_equal(np.signbit(got)[x == 0], np.signbit(x)[x == 0])


@pytest.mark.parametrize("special_value", [0.0, -0.0, math.inf, -1.0, math.nan, 1e-40, 3e38])
def test_square_roots_beside_special_values(special_value: float) -> None:
    x = np.linspace(1, 4, 67, dtype="float32")
    x[::5] = special_value
    got = lm.sqrt(lm.asarray(x)).numpy()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, np.sqrt(x))
    np.testing.assert_array_equal(np.signbit(got[x == 0]), np.signbit(x[x == 0]))


def test_zeta_of_mixed_exponents() -> None:
    """A lane with the exponent 2 gives what it gives among others of 2; of negative arguments, by reflection."""
    q = np.array([0.25, 1.0, 3.5, 100.0, 1e10, math.inf, 0.0, -1.0, -0.5, -7.25, math.nan, 9.75] * 3)
    twos = lm.zeta(2.0, lm.asarray(q)).numpy()
    s = np.where(np.arange(len(q)) % 5 == 1, 3.0, 2.0)
    mixed = lm.zeta(lm.asarray(s), lm.asarray(q)).numpy()
    np.testing.assert_array_equal(mixed[s == 2], twos[s == 2])
    np.testing.assert_allclose(mixed[(s == 3) & (q > 0)], special.zeta(3.0, q[(s == 3) & (q > 0)]), rtol=1e-13)
    reflected = np.square(np.pi / np.sin(np.pi * np.array([-0.5, -7.25]))) - special.zeta(2.0, np.array([1.5, 8.25]))
    np.testing.assert_allclose(lm.zeta(2.0, lm.asarray(np.array([-0.5, -7.25]))).numpy(), reflected, rtol=1e-13)


FITTING = [0, 1, 2, 100, 127]
BEYOND = [300, -1, -129, 40000, 70000, -40000, 2.0**31, -(2.0**31), 2.0**40, 2.5, -2.5, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("source", DTYPES)
def test_casts_of_a_run_and_of_one_element(source: str) -> None:
    """Every pair of dtypes: the loop over a run, over a strided one and over one element give the same."""
    x = lm.astype(lm.asarray(np.resize(np.array([*FITTING, *BEYOND]), 700)), getattr(lm, source))
    for target in DTYPES:
        dtype = getattr(lm, target)
        run = lm.astype(x, dtype).astype(lm.complex128).numpy()
        one = [lm.astype(x[i], dtype).astype(lm.complex128).numpy() for i in range(len(FITTING) + len(BEYOND))]
        np.testing.assert_array_equal(run, np.resize(one, 700), err_msg=target)
        np.testing.assert_array_equal(lm.astype(x[::3], dtype).astype(lm.complex128).numpy(), run[::3], err_msg=target)
        known = np.array(FITTING, "float64")
        expected = known != 0 if "bool" in (source, target) else known
        np.testing.assert_array_equal(run[: len(FITTING)], expected.astype("complex128"), err_msg=target)


@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32", "int64"])
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_casts_to_integers_saturate(source: str, target: str) -> None:
    x = lm.astype(lm.asarray(np.resize(np.array(BEYOND), 300)), getattr(lm, source))
    values = x.astype(lm.float64).numpy()
    limits = np.iinfo(target)
    expected = [
        0 if math.isnan(v) else limits.min if v <= limits.min else limits.max if v >= limits.max else int(v)
        for v in values
    ]
    np.testing.assert_array_equal(lm.astype(x, getattr(lm, target)).numpy(), np.array(expected, target))


def test_complex_activations(rng: np.random.Generator) -> None:
    z = (rng.standard_normal(40) + 1j * rng.standard_normal(40)).astype("complex128")
    x = lm.asarray(z)
    s = 1 / (1 + np.exp(-z))
    np.testing.assert_allclose(lm.sigmoid(x).numpy(), s, rtol=1e-13)
    np.testing.assert_allclose(lm.silu(x).numpy(), z * s, rtol=1e-13)
    np.testing.assert_allclose(lm.tanhshrink(x).numpy(), z - np.tanh(z), rtol=1e-12)


def test_settings_out_of_order() -> None:
    with pytest.raises(ValueError, match=r"\[hardtanh\] min_val must not be above max_val, got 2 and 1"):
        lm.hardtanh(lm.ones([2]), 2.0, 1.0)
    with pytest.raises(ValueError, match=r"\[softshrink\] lambd must not be negative, got -0.5"):
        lm.softshrink(lm.ones([2]), -0.5)
    y = lm.zeros([2])
    with pytest.raises(ValueError, match=r"\[hardtanh\] min_val must not be above max_val"):
        lm.hardtanh(lm.ones([2]), 2.0, 1.0, out=y)
    with pytest.raises(ValueError, match=r"\[softshrink\] lambd must not be negative"):
        lm.softshrink(lm.ones([2]), -0.5, out=y)
    np.testing.assert_array_equal(y.numpy(), [0, 0])
    np.testing.assert_array_equal(lm.hardtanh(lm.asarray([5, -3, 0], dtype=lm.int32)).numpy(), [1, -1, 0])
