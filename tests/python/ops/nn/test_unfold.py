"""Windows of images, and their pixels in channels, against their definitions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import lamella as lm


def unfolded(x: np.ndarray, kernel: tuple, dilation: tuple, padding: tuple, stride: tuple) -> np.ndarray:
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    places = [(x.shape[i + 2] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    columns = np.empty((x.shape[0], x.shape[1], *kernel, *places))
    for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
        a, b = i * dilation[0], j * dilation[1]
        columns[:, :, i, j] = x[
            :, :, a : a + stride[0] * places[0] : stride[0], b : b + stride[1] * places[1] : stride[1]
        ]
    return columns.reshape(x.shape[0], -1, places[0] * places[1])


WINDOWS = [
    ((2, 3), (1, 1), (0, 0), (1, 1)),
    ((3, 3), (1, 1), (1, 1), (2, 2)),
    ((2, 2), (2, 3), (1, 2), (1, 3)),
    ((1, 5), (1, 1), (2, 4), (3, 1)),
]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_unfold_and_fold(window: tuple[Any, ...], rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3, 6, 7))
    expected = unfolded(x, *window)
    columns = lm.unfold(lm.asarray(x), *window)
    np.testing.assert_array_equal(columns.numpy(), expected)
    np.testing.assert_array_equal(lm.unfold(lm.asarray(x[0]), *window).numpy(), expected[0])
    # fold is the transpose: (unfold(x), c) = (x, fold(c)) for all x and c.
    c = rng.normal(size=expected.shape)
    image = lm.fold(lm.asarray(c), (6, 7), *window)
    np.testing.assert_allclose((expected * c).sum(), (x * image.numpy()).sum(), rtol=1e-12)
    counts = lm.fold(lm.ones(expected.shape), (6, 7), *window).numpy()
    np.testing.assert_allclose(lm.fold(columns, (6, 7), *window).numpy(), x * counts, rtol=1e-6)
    single = lm.unfold(lm.asarray(x.astype("float32")).T.T, *window)
    np.testing.assert_array_equal(single.numpy(), expected.astype("float32"))


def test_unfold_of_half_precision_and_nothing() -> None:
    x = lm.asarray([[[1.0, 2.0], [3.0, 4.0]]]).astype("bfloat16")
    assert lm.unfold(x, 2).dtype == lm.bfloat16
    assert lm.unfold(x, 2).astype("float32").tolist() == [[1], [2], [3], [4]]
    assert lm.unfold(lm.zeros([0, 3, 4, 4]), 2).shape == (0, 12, 9)


def test_window_errors() -> None:
    x = lm.ones([1, 2, 4, 4])
    for call in (
        lambda: lm.unfold(x, 5),
        lambda: lm.unfold(x, 0),
        lambda: lm.unfold(x, (2, 2, 2)),
        lambda: lm.unfold(x, 2, stride=0),
        lambda: lm.unfold(x, 2, padding=-1),
        lambda: lm.unfold(x, 2, dilation=2**40),
        lambda: lm.unfold(x[0, 0], 2),
        lambda: lm.fold(lm.ones([1, 7, 9]), (4, 4), 2),
        lambda: lm.fold(lm.ones([1, 8, 8]), (4, 4), 2),
        lambda: lm.fold(lm.ones([8]), (4, 4), 2),
        lambda: lm.pixel_shuffle(lm.ones([1, 3, 2, 2]), 2),
        lambda: lm.pixel_shuffle(lm.ones([3, 2]), 1),
        lambda: lm.pixel_unshuffle(lm.ones([1, 3, 3, 2]), 2),
        lambda: lm.pixel_unshuffle(lm.ones([1, 3, 3, 2]), 0),
    ):
        with pytest.raises(ValueError, match=r"^\[\w+\]"):
            call()


def test_pixel_shuffle(rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 12, 3, 5))
    y = lm.pixel_shuffle(lm.asarray(x), 2).numpy()
    assert y.shape == (2, 3, 6, 10)
    for c, i, j in itertools.product(range(3), range(2), range(2)):
        np.testing.assert_array_equal(y[:, c, i::2, j::2], x[:, c * 4 + i * 2 + j])
    np.testing.assert_array_equal(lm.pixel_unshuffle(lm.asarray(y), 2).numpy(), x)
