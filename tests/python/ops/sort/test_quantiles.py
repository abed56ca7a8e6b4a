"""Quantiles beside NaN, against numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from ..gradcheck import check_gradients

NAN = float("nan")


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_quantiles_beside_nan(interpolation: str, axis: int | None, keepdims: bool, rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 5))
    x[0, :3], x[:, 1] = NAN, NAN
    shares = np.array([0.0, 0.3, 0.5, 1.0])
    for q in (shares, 0.45):
        given = lm.asarray(q) if isinstance(q, np.ndarray) else q
        percent = lm.asarray(q * 100) if isinstance(q, np.ndarray) else q * 100
        setting: dict[str, Any] = {"axis": axis, "keepdims": keepdims, "interpolation": interpolation}
        wanted = _quantiles(x, q, axis, keepdims, interpolation)
        np.testing.assert_allclose(lm.nanquantile(lm.asarray(x), given, **setting).numpy(), wanted, rtol=1e-12)
        np.testing.assert_allclose(lm.nanpercentile(lm.asarray(x), percent, **setting).numpy(), wanted, rtol=1e-12)
        y = rng.normal(size=(4, 5))
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


def test_derivatives_of_quantiles(rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 4))
    check_gradients(lambda a, q: lm.nanquantile(a * a, q, axis=1), x, np.array([0.2, 0.7]))
    check_gradients(lambda a, q: lm.percentile(a * a, q, axis=0), x, np.array(45.0))
    x = lm.tensor([1.0, NAN, 3.0, 7.0], stop_gradient=False)
    lm.nanquantile(x, 0.25).backward()
    assert x.grad is not None and x.grad.tolist() == [0.5, 0.0, 0.5, 0.0]


def test_the_gradient_of_a_quantile_by_its_share() -> None:
    x, shares = lm.asarray([1.0, 5.0, 2.0, 9.0]), np.array([0.1, 0.5, 0.9, 1.0])
    q = lm.tensor(shares, stop_gradient=False)
    lm.quantile(x, q).sum().backward()
    # Between neighbors the value moves (n - 1) times as fast as the share, times their distance.
    np.testing.assert_allclose(q.grad.numpy(), [3 * 1, 3 * 3, 3 * 4, 0], rtol=1e-6)


@pytest.mark.parametrize("function", [lm.quantile, lm.nanquantile])
def test_between_infinite_elements_is_their_limit(function: Callable[..., lm.Tensor]) -> None:
    def weighted(values: list[float], q: float) -> float:
        place = q * (len(values) - 1)
        low = math.floor(place)
        parts = [(values[low], low + 1 - place), (values[min(low + 1, len(values) - 1)], place - low)]
        return sum(value * weight for value, weight in parts if weight > 0)

    inf = math.inf
    for values in (
        [1.0, 2.0, inf],
        [1.0, inf, inf],
        [-inf, 1.0, 2.0],
        [-inf, inf, inf],
        [-inf, -inf, 1.0],
        [-3e38, 3e38],
    ):
        for q in (0.0, 0.125, 0.25, 0.5, 0.75, 1.0):
            got = function(lm.asarray(values), q).item()
            np.testing.assert_allclose(got, weighted(values, q), rtol=1e-6, err_msg=f"{values}, {q}")


@pytest.mark.parametrize("function", [lm.quantile, lm.nanquantile])
def test_places_are_exact_where_the_share_wants_a_gradient(function: Callable[..., lm.Tensor]) -> None:
    # Among 2000 elements a place in float16 would be off by up to one half.
    x = lm.arange(2000, dtype="float64").astype("float16")
    q = lm.tensor(0.9, dtype="float16", stop_gradient=False)
    y = function(x, q)
    assert y.item() == np.float16(1999 * q.item())
    assert abs(lm.grad(y, q).item() - 1999) < 2
