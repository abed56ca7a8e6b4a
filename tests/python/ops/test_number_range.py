"""Python's integers beside integer tensors whose dtype does not hold them: compared exactly, wrapped, or refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

import lamella as lm

DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
COMPARISONS = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
#: Operators whose results wrap around, and are right modulo 2^n for any integer.
WRAPPING = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
Call = Callable[[lm.Tensor, int], Any]
REFUSING: dict[str, Call] = {
    "floor_divide": lambda x, n: x // n,
    "floor_divide of the number": lambda x, n: n // x,
    "remainder": lambda x, n: x % n,
    "fmod": lm.fmod,
    "pow": lambda x, n: x**n,
    "bitwise_left_shift": lambda x, n: x << n,
    "bitwise_right_shift": lambda x, n: x >> n,
    "maximum": lm.maximum,
    "minimum": lm.minimum,
    "fmax": lm.fmax,
    "fmin": lm.fmin,
    "maximum_": lambda x, n: lm.maximum_(x.clone(), n),
    "heaviside": lm.heaviside,
    "where": lambda x, n: lm.where(x > 1, n, x),
    "threshold": lambda x, n: lm.threshold(x, 1, n),
    "hardtanh": lambda x, n: lm.hardtanh(x, min(n, 0), max(n, 0)),
    "clip_between": lambda x, n: lm.clip_between(x, x, n),
    "addcmul": lambda x, n: lm.addcmul(x, x, x, value=n),
    "full": lambda x, n: lm.full([2], n, dtype=x.dtype),
    "full_like": lm.full_like,
    "fill_": lambda x, n: x.clone().fill_(n),
    "copy_": lambda x, n: x.clone().copy_(n),
    "__setitem__": lambda x, n: x.clone().__setitem__(0, n),
    "__setitem__ of a mask": lambda x, n: x.clone().__setitem__(x > 1, n),
    "masked_fill": lambda x, n: lm.masked_fill(x, x > 1, n),
    "index_fill": lambda x, n: lm.index_fill(x, 0, lm.asarray([0]), n),
    "scatter": lambda x, n: lm.scatter(x, 0, lm.asarray([0]), n),
    "pad": lambda x, n: lm.pad(x, [1, 1], value=n),
    "searchsorted": lm.searchsorted,
    "asarray": lambda x, n: lm.asarray([n], dtype=x.dtype),
    "asarray of a float": lambda x, n: lm.asarray([1.5, float(n)], dtype=x.dtype),
}


def limits(dtype: str) -> tuple[int, int]:
    info = lm.iinfo(dtype)
    return info.min, info.max


def beyond(dtype: str) -> list[int]:
    """Integers that `dtype` does not hold, of those that 64 bits do."""
    low, high = limits(dtype)
    numbers = [
        high + 1,
        high + 2,
        2 * high + 3,
        low - 1,
        low - 2,
        2 * low - 1,
        2**32,
        2**63 - 1,
        2**63,
        2**64 - 1,
        -(2**63),
    ]
    return [n for n in numbers if not low <= n <= high and -(2**63) <= n < 2**64]


def elements(dtype: str) -> list[int]:
    low, high = limits(dtype)
    return [low, low + 1, 0, 1, 2, 44, high - 1, high]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_exact(name: str, dtype: str) -> None:
    ours, theirs = getattr(lm, name), COMPARISONS[name]
    values = elements(dtype)
    x = lm.asarray(values, dtype=dtype)
    for n in beyond(dtype):
        expected = [theirs(v, n) for v in values]
        assert ours(x, n).tolist() == theirs(x, n).tolist() == expected
        assert ours(n, x).tolist() == [theirs(n, v) for v in values]
        assert [ours(x[i], n).item() for i in range(len(values))] == expected
        out = lm.empty([len(values)], dtype="bool")
        assert ours(x, n, out=out).tolist() == out.tolist() == expected
        assert lm.vmap(lambda v, n=n: ours(v, n))(x).tolist() == expected
        assert lm.compile(lambda v, n=n: ours(v, n))(x).tolist() == expected
        assert lm.isin(x, n).tolist() == [False] * len(values)
        assert lm.isin(x, n, invert=True).tolist() == [True] * len(values)
        assert not lm.isin(n, x).item()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WRAPPING)
def test_wrapping_operators_are_right_modulo_the_range(name: str, dtype: str) -> None:
    low, high = limits(dtype)
    span = high - low + 1
    values = elements(dtype)
    x = lm.asarray(values, dtype=dtype)
    for n in beyond(dtype):
        if n >= 2**63:
            with pytest.raises(ValueError, match=rf"\[{name}\] the integer {n} does not fit into dtype {dtype}"):
                getattr(lm, name)(x, n)
            continue
        expected = [(WRAPPING[name](v, n) - low) % span + low for v in values]
        assert getattr(lm, name)(x, n).tolist() == expected
        assert getattr(lm, name + "_")(x.clone(), n).tolist() == expected
        assert getattr(lm, name)(x, n, out=lm.empty_like(x)).tolist() == expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REFUSING)
def test_other_operators_refuse(name: str, dtype: str) -> None:
    x = lm.asarray([1, 2, 3], dtype=dtype)
    for n in beyond(dtype):
        wrong = "a negative power of an integer" if name == "pow" and n < 0 else "does not fit into"
        with pytest.raises(ValueError, match=wrong):
            REFUSING[name](x, n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_beyond_the_dtype_do_not_limit(dtype: str) -> None:
    low = limits(dtype)[0]
    values = elements(dtype)
    x = lm.asarray(values, dtype=dtype)
    for n in beyond(dtype):
        free: dict[str, Any] = {"min" if n < low else "max": n}
        assert lm.clip(x, **free).tolist() == lm.clip_(x.clone(), **free).tolist() == values
        both = (n, 2) if n < low else (1, n)
        expected = [min(v, 2) if n < low else max(v, 1) for v in values]
        assert lm.clip(x, *both).tolist() == lm.clip_(x.clone(), *both).tolist() == expected
        with pytest.raises(ValueError, match=rf"\[clip\] the integer {n} does not fit into dtype {dtype}"):
            lm.clip(x, max=n) if n < low else lm.clip(x, min=n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_other_than_zero_are_true(dtype: str) -> None:
    x = lm.asarray([0, 1, 2], dtype=dtype)
    for n in beyond(dtype):
        assert lm.logical_and(x, n).tolist() == [False, True, True]
        assert lm.logical_or(x, n).tolist() == [True, True, True]
        assert lm.logical_xor(n, x).tolist() == [True, False, False]


@pytest.mark.parametrize("dtype", DTYPES)
def test_ranges_end_within_the_dtype(dtype: str) -> None:
    low, high = limits(dtype)
    for step in (1, 3):
        first = max(low, high - 4 * step)
        assert lm.arange(first, min(first + 4 * step + 1, 2**64 - 1), step, dtype=dtype).tolist() == list(
            range(first, min(first + 4 * step + 1, 2**64 - 1), step)
        )
        assert lm.arange(low + 4 * step, max(low - 1, -(2**63)), -step, dtype=dtype).tolist() == list(
            range(low + 4 * step, max(low - 1, -(2**63)), -step)
        )
    refused = [(high - 2, high + 3, 1)] if high < 2**63 else []
    refused += [(low + 1, low - 2, -1), (low - 2, low + 2, 1)] if low > -(2**63) else []
    for call in refused:
        with pytest.raises(ValueError, match=rf"\[arange\] {dtype} does not hold all integers from"):
            lm.arange(*call, dtype=dtype)


def test_ranges_around_the_end_of_int64() -> None:
    assert lm.arange(2**63 - 1, 2**63 + 2, dtype="uint64").tolist() == [2**63 - 1, 2**63, 2**63 + 1]
    assert lm.arange(2**63 + 1, 2**63 - 2, -2, dtype="uint64").tolist() == [2**63 + 1, 2**63 - 1]
    assert lm.arange(2**63 + 1, 2**63 - 2, dtype="uint64").tolist() == []
    assert lm.arange(2**63, 2**63 + 4096, 2048, dtype="float64").tolist() == [2.0**63, 2.0**63 + 2048]
