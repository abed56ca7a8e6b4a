"""Operators that are not elementwise in 16 bits: their results are those of float32, rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .calls import CALLS

EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
#: In float16, numbers of this size have squares that fit and sums of squares that do not.
LARGE = 40.0
LARGEST = 65504.0

Call = Callable[..., Any]


def tensors(result: Any) -> list[lm.Tensor]:
    if isinstance(result, lm.Tensor):
        return [result]
    return [x for part in result for x in tensors(part)] if isinstance(result, (tuple, list)) else []


def results(function: Call, arrays: list[lm.Tensor], dtype: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The floating values of a call whose floating arguments are of this dtype, and the gradients of a sum of them."""
    lm.seed(0)
    arguments = []
    for array in arrays:
        x = array.astype(dtype).detach() if array.dtype == lm.float32 else array
        if array.dtype == lm.float32:
            x.stop_gradient = False
        arguments.append(x)
    ys = [y for y in tensors(function(*arguments)) if str(y.dtype) in (*EPS, "float32")]
    recorded = [y.astype("float64") for y in ys if not y.stop_gradient]
    gradients: list[np.ndarray] = []
    if recorded:
        total = sum(((y * lm.cos(lm.arange(y.size, dtype="float64").reshape(y.shape))).sum() for y in recorded), 0.0)
        leaves = [x for x in arguments if not x.stop_gradient]
        found = lm.grad(total, leaves, allow_unused=True)
        gradients = [g.astype("float64").numpy() for g in found if g is not None]
    return [y.detach().astype("float64").numpy() for y in ys], gradients


def check(name: str, dtype: str, scale: float, with_gradients: bool) -> None:
    for function, leaves in CALLS[name]:
        given = [x.detach() for x in leaves]
        arrays = [
            (x * scale).astype(dtype).astype("float32") if str(x.dtype) in ("float32", "float64") else x for x in given
        ]
        try:
            found = results(function, arrays, dtype)
        except TypeError as error:
            # Calls that mix in a tensor of another dtype, and operators that are not for 16 bits.
            assert dtype in str(error), error
            continue
        except ValueError:
            assert scale != 1.0  # numbers that the operator does not take
            continue
        exact = results(function, arrays, "float32")
        for got, want in zip(found[: 1 + with_gradients], exact, strict=False):
            for a, b in zip(got, want, strict=True):
                fits = np.isfinite(b) & (np.abs(b) < LARGEST / 4)
                if not fits.any():
                    continue
                size = max(float(np.abs(b[fits]).max()), 0.01)
                np.testing.assert_allclose(a[fits], b[fits], rtol=0, atol=16 * EPS[dtype] * size, err_msg=name)


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("name", CALLS)
def test_results_and_gradients_are_those_of_float32(name: str, dtype: str) -> None:
    check(name, dtype, 1.0, with_gradients=True)


# nanpercentile's call cubes its argument, which itself is beyond the range then.
@pytest.mark.parametrize("name", [name for name in CALLS if name != "nanpercentile"])
def test_no_step_on_the_way_is_beyond_the_range_of_float16(name: str) -> None:
    check(name, "float16", LARGE, with_gradients=False)
