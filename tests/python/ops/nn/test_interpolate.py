"""Resampling of images, against matrices of weights."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm


def cubic(t: float) -> float:
    t, a = abs(t), -0.75
    return (
        (a + 2) * t**3 - (a + 3) * t**2 + 1 if t <= 1 else a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0
    )


def matrix(mode: str, n: int, out: int, ratio: float, align: bool) -> np.ndarray:
    """The weights of each element of the result."""
    w = np.zeros((out, n))
    for o in range(out):
        if mode == "nearest":
            w[o, min(int(o * ratio), n - 1)] = 1
        elif mode == "nearest-exact":
            w[o, min(int((o + 0.5) * ratio), n - 1)] = 1
        elif mode == "area":
            first, last = o * n // out, -(-(o + 1) * n // out)
            w[o, first:last] = 1 / (last - first)
        else:
            at = o * ((n - 1) / (out - 1) if out > 1 else 0) if align else (o + 0.5) * ratio - 0.5
            if mode == "linear":
                at = max(at, 0)
                for i in range(n + 2):
                    w[o, min(i, n - 1)] += max(0.0, 1 - abs(at - i))
            else:
                for i in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3):
                    w[o, np.clip(i, 0, n - 1)] += cubic(at - i)
    return w


MODES = [("nearest", False), ("nearest-exact", False), ("area", False), ("linear", False), ("linear", True),
         ("cubic", False), ("cubic", True)]  # fmt: skip


NAMES = {("linear", 1): "linear", ("linear", 2): "bilinear", ("linear", 3): "trilinear", ("cubic", 2): "bicubic"}


@pytest.mark.parametrize(
    ("axes", "mode"), [(n, mode) for n in (1, 2, 3) for mode in MODES if n == 2 or mode[0] != "cubic"], ids=str
)
def test_interpolate(axes: int, mode: tuple[str, bool], rng: np.random.Generator) -> None:
    kind, align = mode
    name = NAMES.get((kind, axes), kind)
    x = rng.normal(size=(2, 3, *(4, 5, 3)[:axes]))
    for size in [(7, 3, 5)[:axes], (1, 1, 1)[:axes], (4, 5, 3)[:axes], (9, 11, 2)[:axes]]:
        expected = x
        for i, out in enumerate(size):
            w = matrix(kind, x.shape[i + 2], out, x.shape[i + 2] / out, align)
            expected = np.moveaxis(np.tensordot(w, expected, (1, i + 2)), 0, i + 2)
        got = lm.interpolate(lm.asarray(x), size, mode=name, align_corners=align)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-11, atol=1e-12)
        single = lm.interpolate(lm.asarray(x.astype("float32")), size, mode=name, align_corners=align)
        np.testing.assert_allclose(single.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_interpolate_by_a_factor(rng: np.random.Generator) -> None:
    x = rng.normal(size=(1, 2, 5, 4))
    got = lm.interpolate(lm.asarray(x), scale_factor=(1.7, 0.6), mode="bilinear")
    assert got.shape == (1, 2, 8, 2)
    rows, columns = matrix("linear", 5, 8, 1 / 1.7, False), matrix("linear", 4, 2, 1 / 0.6, False)
    np.testing.assert_allclose(got.numpy(), rows @ x @ columns.T, rtol=1e-11)
    doubled = lm.interpolate(lm.arange(6).reshape(1, 1, 2, 3), scale_factor=2)
    assert doubled.dtype == lm.int64
    np.testing.assert_array_equal(doubled.numpy()[0, 0], np.arange(6).reshape(2, 3).repeat(2, 0).repeat(2, 1))


def test_interpolate_errors() -> None:
    x = lm.ones([1, 1, 4, 4])
    for settings in (
        {},
        {"size": 3, "scale_factor": 2},
        {"size": 3, "mode": "linear"},
        {"size": 3, "mode": "cubic"},
        {"size": 0},
        {"size": -1},
        {"size": (1, 2, 3)},
        {"size": 2**60},
        {"scale_factor": 0},
        {"scale_factor": -1.0},
        {"scale_factor": float("nan")},
        {"scale_factor": float("inf")},
        {"scale_factor": (1.0, 2.0, 3.0)},
        {"size": 3, "align_corners": True},
    ):
        with pytest.raises(ValueError, match=r"^\[interpolate\]"):
            lm.interpolate(x, **settings)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="3 to 5 axes"):
        lm.interpolate(lm.ones([4, 4]), 3)
    for bad in ("2", [None], {}):
        with pytest.raises(TypeError, match="scale_factor"):
            lm.interpolate(x, scale_factor=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["area", "linear", "bilinear", "trilinear"])
def test_infinite_elements_reach_only_what_weighs_them(mode: str) -> None:
    axes = {"linear": 1, "trilinear": 3}.get(mode, 2)
    x = np.zeros((1, 1) + (6,) * axes, "float32")
    x[(0, 0) + (2,) * axes] = np.inf
    for size in (6, 9, 4, 12):
        y = lm.interpolate(lm.asarray(x), [size] * axes, mode=mode).numpy()
        # The same with a large number instead tells where the element counts.
        large = lm.interpolate(lm.asarray(np.minimum(x, 1e6)), [size] * axes, mode=mode).numpy()
        np.testing.assert_array_equal(y, np.where(large > 0, np.inf, 0))
