"""Values at the ends of dtypes, and tensors without axes: the eager numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .running import check

F = lm.nn.functional
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32")
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
NUMBERS = (-(2**40), -300, -3, 44, 300, 2**33, 2**63 - 1, 1e6, -math.inf)


def ends(dtype: str) -> lm.Tensor:
    """Numbers at the ends of a dtype, and what larger numbers wrap around to."""
    if dtype == "bool":
        return lm.asarray(np.array([True, False]))
    if dtype.startswith("float"):
        return lm.asarray(np.array([-math.inf, -65504, -3, 0, 44, 65504, math.inf, math.nan], dtype=dtype))
    limits = np.iinfo(dtype)
    return lm.asarray(np.array([limits.min, 0, 1, 44, limits.max - 2, limits.max], dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons_with_numbers(dtype: str) -> None:
    def compared(x: lm.Tensor) -> list[lm.Tensor]:
        results = [f(*pair) for f in COMPARISONS for number in NUMBERS for pair in ((x, number), (number, x))]
        if dtype != "bool":
            integers = [number for number in NUMBERS if isinstance(number, int)]
            results += [f for number in integers for f in (lm.isclose(x, number), lm.isin(x, number, invert=True))]
        return results

    check(compared, [ends(dtype)], dynamic_axes={"x": [0]})


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_bounds_beyond_a_dtype(dtype: str) -> None:
    limits = np.iinfo(dtype)
    low, high = max(-(2**63), int(limits.min) - 300), min(2**63 - 1, int(limits.max) + 300)

    def clipped(x: lm.Tensor) -> list[lm.Tensor]:
        return [lm.clip(x, low, None), lm.clip(x, None, high), lm.clip(x, low, 44), lm.clip(x, low, high)]

    check(clipped, [ends(dtype)])


@pytest.mark.parametrize("dtype", ["bool", "float32", "int64"])
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_amounts_of_pads(mode: str, dtype: str) -> None:
    given = lm.asarray((np.arange(24).reshape(2, 3, 4) % 5 + 1).astype(dtype))

    def padded(x: lm.Tensor) -> list[lm.Tensor]:
        return [lm.pad(x, amounts, mode) for amounts in ((1, 1), (-1, 1), (1, -1), (-1, 2), (-1, -1), (1, 2, -1, 1))]

    check(padded, [given])
    check(padded, [given], dynamic_axes={"x": [0, 1, 2]})


@pytest.mark.parametrize("opset", [17, 20])
def test_infinities_of_float16(opset: int) -> None:
    given = lm.asarray(np.array([0, -0.0, 1, -2, math.inf, -math.inf, math.nan], dtype="float16"))

    def found(x: lm.Tensor) -> list[lm.Tensor]:
        tests = [lm.isinf(x), lm.isfinite(x), lm.isposinf(x), lm.isneginf(x), lm.isclose(x, x + 1, equal_nan=True)]
        return [*tests, lm.nan_to_num(x), lm.nan_to_num(x, 1.0, 2.0, 3.0), lm.atan2(x, lm.flip(x, 0))]

    check(found, [given], opset_version=opset, tolerance={"rtol": 2e-3, "atol": 2e-3})


#: Of tensors without axes, which axes 0 and -1 stand for as a whole.
SCALARS: dict[str, Callable[[lm.Tensor, int, bool], Any]] = {
    **{
        name: (lambda x, axis, keepdims, name=name: getattr(lm, name)(x, axis=axis, keepdims=keepdims))
        for name in ("sum", "mean", "prod", "max", "min", "any", "all", "var", "std", "logsumexp", "aminmax", "argmax")
    },
    "median": lambda x, axis, keepdims: lm.median(x, axis=axis, keepdims=keepdims),
    "nanmean": lambda x, axis, keepdims: lm.nanmean(x, axis=axis, keepdims=keepdims),
    "quantile": lambda x, axis, keepdims: lm.quantile(x, 0.3, axis=axis, keepdims=keepdims),
    "quantiles": lambda x, axis, keepdims: lm.quantile(x, lm.asarray([0.3, 0.5]), axis=axis, keepdims=keepdims),
    "vector_norm": lambda x, axis, keepdims: lm.linalg.vector_norm(x, axis=axis, keepdims=keepdims),
    "mode": lambda x, axis, keepdims: lm.mode(x, axis, keepdims),
    "kthvalue": lambda x, axis, keepdims: lm.kthvalue(x, 1, axis, keepdims),
    "topk": lambda x, axis, keepdims: lm.topk(x, 1, axis),
}


@pytest.mark.parametrize("name", SCALARS)
def test_reductions_of_tensors_without_axes(name: str) -> None:
    f = SCALARS[name]
    check(lambda x: [f(x, axis, keepdims) for axis in (0, -1) for keepdims in (False, True)], [lm.asarray(-1.5)])


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("reduction", ["amax", "amin"])
def test_bools_reduced_into_places(reduction: str, include_self: bool) -> None:
    rows = lm.asarray(np.array([[0, 1, 1], [2, 1, 0]]))

    def scattered(x: lm.Tensor, source: lm.Tensor) -> list[lm.Tensor]:
        settings: dict[str, Any] = {"include_self": include_self}
        into = lm.index_reduce(x, 0, lm.asarray([2, 2]), source, reduction, **settings)
        return [lm.scatter_reduce(x, 0, rows, source, reduction, **settings), into]

    bools = [lm.asarray(np.arange(n * 3).reshape(n, 3) % k == 0) for n, k in ((3, 2), (2, 4))]
    check(scattered, bools, input_names=["x", "source"], opset_version=18)


@pytest.mark.parametrize("dtype", ["uint64", "int64", "float16"])
def test_the_order_of_numbers(dtype: str) -> None:
    """Also of those that int64 has not, and of those that int64 rounds."""
    numbers = [7.25, 0.5, 7.5, 0.25, 7.25] if dtype == "float16" else [2**63 - 1, 0, 2**63 - 2, 5, 5]
    given = lm.asarray(np.array([2**64 - 1, *numbers, 2**63] if dtype == "uint64" else numbers, dtype=dtype))

    def in_order(x: lm.Tensor) -> list[Any]:
        ends_of = [lm.cummax(x, 0), lm.cummin(x, 0), lm.cummax(lm.flip(x, 0), 0)]
        return [lm.sort(x), lm.argsort(x, descending=True)[:2], lm.topk(x, 3), lm.median(x), *ends_of, lm.unique(x)]

    check(in_order, [given])


def test_scans_of_infinities() -> None:
    given = lm.asarray([-math.inf, -math.inf, 1.0, math.inf, -math.inf])
    check(lambda x: [lm.cummax(x, 0), lm.cummin(-x, 0)], [given])


def test_places_beyond_the_dtype_of_an_index() -> None:
    small = lm.asarray(np.array([44, 3, 200], dtype="uint8"))
    check(lambda x: [F.one_hot(x, 300), *lm.unravel_index(x, (2, 300))], [small])
    check(lambda x: lm.ravel_multi_index([x // 200, x], (2, 300)), [small])
