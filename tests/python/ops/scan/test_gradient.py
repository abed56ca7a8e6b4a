"""Slopes of samples, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamella as lm

from ..gradcheck import check_gradients

FLOATS = ["float32", "float64"]


HALVES = ["float16", "bfloat16"]


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
