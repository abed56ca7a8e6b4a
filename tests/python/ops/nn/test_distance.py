"""Distances and similarities of rows, against numpy."""

from __future__ import annotations

from collections.abc import Callable

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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "call",
    [
        lm.normalize,
        lambda x: lm.normalize(x, 3.0, axis=0),
        lambda x: lm.cosine_similarity(x, x[0]),
        lambda x: lm.cosine_similarity(x[0], x[1], axis=0),
        lambda x: lm.pairwise_distance(x, x),
        lambda x: lm.pairwise_distance(x, x * 2),
    ],
    ids=["normalize", "normalize, 3", "cosine, zero", "cosine", "distance of equals", "distance"],
)
def test_what_is_added_to_16_bit_floats_is_not_lost(call: Callable[[lm.Tensor], lm.Tensor], dtype: str) -> None:
    """eps is below the numbers of float16; results and gradients are those of float32, rounded once."""
    array = np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 0.5], [2.0**-14, 0.0, 2.0**-14]])

    def run(dtype: str) -> list[np.ndarray]:
        x = lm.asarray(array).astype(dtype)
        x.stop_gradient = False
        y = call(x)
        (g,) = lm.grad([y.astype("float32").sum()], [x])
        return [t.detach().astype("float64").numpy() for t in (y, g)]

    for got, want in zip(run(dtype), run("float32"), strict=True):
        rounded = lm.asarray(want).astype(dtype).astype("float64").numpy()  # large gradients become infinite
        np.testing.assert_allclose(got, rounded, rtol=float(2.0**-10 if dtype == "float16" else 2.0**-7))
