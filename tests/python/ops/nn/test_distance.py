"""Distances and similarities of rows, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm


@pytest.mark.parametrize(
    ("shape1", "shape2", "axis"),
    [((1, 2, 3), (2, 1, 3), -2), ((4, 1), (4, 3), 1), ((3,), (2, 1), 0), ((2, 3), (3,), 1), ((1,), (5,), 0)],
)
def test_cosine_similarity_along_an_axis_that_is_broadcast(
    shape1: tuple[int, ...], shape2: tuple[int, ...], axis: int, rng: np.random.Generator
) -> None:
    a, b = rng.normal(size=shape1), rng.normal(size=shape2)
    wide1, wide2 = np.broadcast_arrays(a, b)
    norms = np.linalg.norm(wide1, axis=axis) * np.linalg.norm(wide2, axis=axis)
    got = lm.cosine_similarity(lm.asarray(a), lm.asarray(b), axis=axis)
    np.testing.assert_allclose(got.numpy(), (wide1 * wide2).sum(axis) / norms, rtol=1e-12)


@pytest.mark.parametrize("p", [-1.0, 0.0, float("-inf")])
def test_distances_by_any_order(p: float, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    got = lm.pairwise_distance(lm.asarray(a), lm.asarray(b), p, 0.0)
    np.testing.assert_allclose(got.numpy(), [np.linalg.norm(d, p) for d in a - b], rtol=1e-12)
    with pytest.raises(ValueError, match="p must be a number, got NaN"):
        lm.pairwise_distance(lm.asarray(a), lm.asarray(b), float("nan"))
