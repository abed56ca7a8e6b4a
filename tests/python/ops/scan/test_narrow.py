"""Reductions and scans of long matrices of a few columns: down them, where several rows stand in one vector, and along
their short rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import lamella as lm

#: The operator, along the first axis but one, and the same in float64 or in whole numbers.
CALLS: dict[str, tuple[Callable[..., lm.Tensor], Callable[[np.ndarray], np.ndarray]]] = {
    "cumsum": (lambda x: lm.cumsum(x, -2), lambda x: np.cumsum(x, -2)),
    "cumsum from behind": (lambda x: gradient(lambda y: lm.cumsum(y, -2), x), lambda x: behind(np.ones_like(x))),
    "cumprod": (lambda x: lm.cumprod(x, -2), lambda x: np.cumprod(x, -2)),
    "cumsum of rows": (lambda x: lm.cumsum(x, -1), lambda x: np.cumsum(x, -1)),
    "cumsum of rows from behind": (
        lambda x: gradient(lambda y: lm.cumsum(y, -1) * x, x),
        lambda x: behind(x.mT).mT,
    ),
    "cumprod of rows": (lambda x: lm.cumprod(x, -1), lambda x: np.cumprod(x, -1)),
    "cummax": (lambda x: lm.cummax(x, -2)[0], lambda x: np.maximum.accumulate(x, -2)),
    "cummin": (lambda x: lm.cummin(x, -2)[0], lambda x: np.minimum.accumulate(x, -2)),
    "cummax positions": (lambda x: lm.cummax(x, -2)[1], lambda x: positions(x, np.greater_equal)),
    "cummin positions": (lambda x: lm.cummin(x, -2)[1], lambda x: positions(x, np.less_equal)),
    "softmax": (lambda x: lm.softmax(x, -2), lambda x: sp.softmax(x, -2)),
    "log_softmax": (lambda x: lm.log_softmax(x, -2), lambda x: sp.log_softmax(x, -2)),
    "softmax gradient": (
        lambda x: gradient(lambda y: (lm.softmax(y, -2) * x).sum(), x),
        lambda x: sp.softmax(x, -2) * (x - (sp.softmax(x, -2) * x).sum(-2, keepdims=True)),
    ),
    "log_softmax gradient": (
        lambda x: gradient(lambda y: (lm.log_softmax(y, -2) * x).sum(), x),
        lambda x: x - sp.softmax(x, -2) * x.sum(-2, keepdims=True),
    ),
    "sum": (lambda x: lm.sum(x, axis=-2), lambda x: x.sum(-2)),
    "max": (lambda x: lm.max(x, axis=-2), lambda x: x.max(-2)),
    "vecdot": (lambda x: lm.vecdot(x, x, axis=-2), lambda x: (x * x).sum(-2)),
}
FLOATS = {"bfloat16": 2e-2, "float16": 2e-3, "float32": 1e-5, "float64": 1e-12}
INTEGERS = ["bool", "int8", "int32", "int64", "uint8"]
ONLY_FLOATS = {name for name in CALLS if "softmax" in name or "behind" in name}
CASES = [(name, dtype) for name in CALLS for dtype in (FLOATS if name in ONLY_FLOATS else [*FLOATS, *INTEGERS])]
CASES.remove(("vecdot", "bool"))


def gradient(f: Callable[[lm.Tensor], lm.Tensor], x: lm.Tensor) -> lm.Tensor:
    leaf = lm.tensor(x, stop_gradient=False)
    return lm.grad(f(leaf).sum(), [leaf])[0]


def behind(x: np.ndarray) -> np.ndarray:
    return np.flip(np.cumsum(np.flip(x, -2), -2), -2)


def positions(x: np.ndarray, takes_over: np.ufunc) -> np.ndarray:
    """Of the last one of equal extremes."""
    best, at = x[..., 0, :].copy(), np.zeros(x[..., 0, :].shape, "int64")
    result = np.empty(x.shape, "int64")
    for i in range(x.shape[-2]):
        newer = takes_over(x[..., i, :], best)
        best, at = np.where(newer, x[..., i, :], best), np.where(newer, i, at)
        result[..., i, :] = at
    return result


def sample(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> tuple[lm.Tensor, np.ndarray]:
    if dtype in FLOATS:
        x = lm.asarray(rng.uniform(0.9, 1.1, shape)).astype(dtype)
        return x, x.astype("float64").numpy()
    wide = rng.integers(0 if dtype[0] in "bu" else -2, 2 if dtype == "bool" else 4, shape)
    return lm.asarray(wide).astype(dtype), wide.astype("uint64" if dtype[0] == "u" else "int64")


def agree(name: str, x: lm.Tensor, exact: np.ndarray, dtype: str) -> None:
    ours, theirs = CALLS[name]
    got = ours(x)
    number = got.astype("float64" if got.dtype.name in FLOATS else "int64").numpy()
    with np.errstate(over="ignore"):
        expected = theirs(exact).astype(number.dtype)
    tolerance = FLOATS.get(dtype, 0)
    if "vecdot" in name and dtype not in FLOATS:  # it stays in its dtype
        expected = expected.astype(dtype).astype(number.dtype)
    np.testing.assert_allclose(number, expected, rtol=tolerance, atol=tolerance * (50 if "gradient" in name else 1))


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_every_width(name: str, dtype: str, rng: np.random.Generator) -> None:
    for width in range(1, 41):
        # Less than a vector, a few, and more than a block of what is converted.
        for rows in (1, 2, 17, 130, 601) if width < 10 else (3, 130):
            x, exact = sample((rows, width), dtype, rng)
            agree(name, x, exact, dtype)


@pytest.mark.parametrize(
    ("name", "dtype"), [one for one in CASES if one[1] in ("bfloat16", "float32", "float64", "int32")]
)
def test_other_layouts(name: str, dtype: str, rng: np.random.Generator) -> None:
    for width in (1, 2, 3, 5, 8, 10, 33):
        x, exact = sample((3, 140, 2 * width + 1), dtype, rng)
        for part in (slice(width), slice(1, 2 * width, 2), slice(width, 0, -1)):
            agree(name, x[..., part], exact[..., part], dtype)
            agree(name, x[1, ::-1, part], exact[1, ::-1, part], dtype)
        x, exact = sample((width, 3, 140), dtype, rng)
        agree(name, lm.permute_dims(x, [1, 2, 0]), exact.transpose(1, 2, 0), dtype)


@pytest.mark.parametrize("shape", [(70_001, 3), (3, 30_000, 5), (12_000, 33), (9, 9000, 2), (1200, 700)], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits_for_any_number_of_threads(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x = lm.asarray(rng.normal(size=shape).astype("float32"))
    before = lm.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3, 7):
            lm.set_num_threads(threads)
            results.append(CALLS[name][0](x).numpy())
    finally:
        lm.set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "softmax", "log_softmax", "sum", "vecdot"])
def test_special_values_stay_in_their_column(name: str) -> None:
    for width in range(2, 18):
        for bad in (np.nan, np.inf):
            x = np.ones((100, width), "float32")
            x[57, width - 1] = bad
            y = CALLS[name][0](lm.asarray(x)).numpy()
            assert np.isfinite(y[..., : width - 1]).all()
            if name.startswith("cum"):
                assert np.isfinite(y[:57]).all()
            if np.isnan(bad):
                assert np.isnan(y[57:, -1] if name.startswith("cum") else y[..., -1]).all()


def test_long_sums_stay_accurate(rng: np.random.Generator) -> None:
    x = rng.uniform(0.05, 0.15, (400_003, 3)).astype("float32")
    t, exact = lm.asarray(x), x.astype("float64")
    np.testing.assert_allclose(lm.cumsum(t, 0).numpy(), np.cumsum(exact, 0), rtol=2e-7)
    np.testing.assert_allclose(lm.vecdot(t, t, axis=0).numpy(), (exact * exact).sum(0), rtol=1e-6)
    np.testing.assert_allclose(lm.softmax(t, 0).numpy(), sp.softmax(exact, 0), rtol=2e-6)
    # Products of some rows are within the range of neither dtype, and those from the first row on are.
    for dtype, low, high in (("float32", 1e-30, 1e30), ("float64", 1e-250, 1e250)):
        swings = np.tile(np.array([[low], [high], [high], [low]], dtype), (25, 3))
        np.testing.assert_allclose(
            lm.cumprod(lm.asarray(swings), 0).numpy(), np.cumprod(swings, 0, dtype="longdouble").astype(dtype), 1e-5
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("width", [1, 9, 255, 256, 257, 258, 513])
@pytest.mark.parametrize("function", [lm.cumulative_sum, lm.cumulative_prod])
def test_blocks_of_columns_of_half_floats(function: Any, width: int, dtype: str) -> None:
    x = lm.asarray((np.arange(5 * width).reshape(5, width) % 3 + 1).astype("float32"))
    wide = function(x, axis=0).astype(dtype).astype("float32").numpy()
    for given in (x.astype(dtype), x.astype(dtype).T.contiguous().T):
        assert np.array_equal(function(given, axis=0).astype("float32").numpy(), wide)
