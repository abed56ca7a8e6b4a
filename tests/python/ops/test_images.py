"""Padding, windows, resampling and sampling of images, against numpy and their definitions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import lamella as lm

NUMPY_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", NUMPY_MODES)
@pytest.mark.parametrize("pad", [(1, 2), (2, 0, 0, 1), (1, 1, 2, 2, 0, 1)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_pad(dtype: str, pad: tuple[int, ...], mode: str, rng: np.random.Generator) -> None:
    x = (rng.normal(size=(2, 3, 4)) * 5).astype(dtype)
    widths = [(0, 0)] * (3 - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    if mode == "reflect" and len(pad) == 6:
        widths[0] = (0, 1)
    expected = np.pad(x, widths, NUMPY_MODES[mode], **({"constant_values": 1} if mode == "constant" else {}))
    got = lm.pad(lm.asarray(x), pad, mode, 1)
    assert got.dtype == getattr(lm, dtype)
    np.testing.assert_array_equal(got.numpy(), expected)


def test_pad_cuts_and_refuses() -> None:
    x = lm.arange(5)
    assert lm.pad(x, (-1, -2)).tolist() == [1, 2]
    assert lm.pad(x, (-1, 2), value=7).tolist() == [1, 2, 3, 4, 7, 7]
    assert lm.pad(x, ()).tolist() == [0, 1, 2, 3, 4]
    assert lm.pad(lm.zeros([0]), (1, 1)).tolist() == [0, 0]
    for pad, mode in [
        ((1,), "constant"),
        ((1, 1, 1, 1), "constant"),
        ((-3, -3), "constant"),
        ((5, 0), "reflect"),
        ((0, 6), "circular"),
        ((1, 1), "mirror"),
    ]:
        with pytest.raises(ValueError, match=r"^\[pad\]"):
            lm.pad(x, pad, mode)
    with pytest.raises(ValueError, match=r'^\[pad\] mode "replicate"'):
        lm.pad(lm.zeros([0]), (1, 1), "replicate")


@pytest.mark.parametrize("mode", NUMPY_MODES)
def test_gradients_of_pad(mode: str, rng: np.random.Generator) -> None:
    for pad in ((2, 1), (-1, 2), (1, 0, 2, -1), (1, 2, 1, 1, 0, 1)):
        if mode == "reflect" and len(pad) == 6:
            continue  # the first axis has no element beside its edge

        def padded(x: lm.Tensor, pad: tuple[int, ...] = pad) -> lm.Tensor:
            return lm.square(lm.pad(x, pad, mode, 0.5))

        x = lm.asarray(rng.normal(size=(1, 4, 4)))
        x.stop_gradient = False
        assert lm.autograd.gradcheck(padded, [x]) and lm.autograd.gradgradcheck(padded, [x])


def test_gradient_of_pad_in_low_precision() -> None:
    x = lm.ones([3], dtype="float16")
    x.stop_gradient = False
    lm.pad(x, (0, 4000), "replicate").backward(lm.ones([4003], dtype="float16"))
    # Summed in float32, and rounded once: 2048 + 1 is 2048 in float16.
    assert x.grad.tolist() == [1, 1, 4000]


def test_pad_of_examples_and_huge_sizes(rng: np.random.Generator) -> None:
    x = lm.asarray(rng.normal(size=(3, 2, 4)))
    for mode in NUMPY_MODES:
        got = lm.autograd.vmap(lambda e, mode=mode: lm.pad(e, (1, 2, 1, 0), mode))(x)
        np.testing.assert_array_equal(got.numpy(), lm.pad(x, (1, 2, 1, 0), mode).numpy())
    assert lm.pad(lm.zeros([2, 0]), (0, 0, 1, 1), "replicate").shape == (4, 0)
    assert lm.pad(lm.zeros([3], device="meta"), (1 << 40, 0)).shape == ((1 << 40) + 3,)
    for pad in ((1 << 62, 1 << 62), ((1 << 63) - 1, 0), (-(1 << 63), 0)):
        with pytest.raises(ValueError, match=r"\[pad\]|elements"):
            lm.pad(lm.zeros([3]), pad)


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


def sampled(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align: bool) -> np.ndarray:
    """One element at a time."""
    sizes, d = x.shape[2:], x.ndim - 2
    out = np.zeros((x.shape[0], x.shape[1], *grid.shape[1:-1]))

    def brought(at: float, n: int) -> float:
        if padding == "reflection":
            low, span = (0, n - 1) if align else (-0.5, n)
            if span == 0:
                return 0
            far = abs(at - low)
            turns, rest = far // span, far % span
            at = (rest if turns % 2 == 0 else span - rest) + low
        return at if padding == "zeros" else min(max(at, 0), n - 1)

    for place in np.ndindex(*grid.shape[:-1]):
        axes = []
        for i, n in enumerate(sizes):
            g = grid[place][d - 1 - i]
            at = (g + 1) / 2 * (n - 1) if align else ((g + 1) * n - 1) / 2
            if mode == "bicubic":
                low = int(np.floor(at))
                axes.append([(brought(j, n), cubic(at - j)) for j in range(low - 1, low + 3)])
                continue
            at = brought(at, n)
            low = int(np.floor(at))
            axes.append([(np.rint(at), 1.0)] if mode == "nearest" else [(low, low + 1 - at), (low + 1, at - low)])
        for corner in itertools.product(*axes):
            index = [int(i) for i, _ in corner]
            if all(0 <= i < n for i, n in zip(index, sizes, strict=True)):
                weight = np.prod([w for _, w in corner])
                out[(place[0], slice(None), *place[1:])] += weight * x[(place[0], slice(None), *index)]
    return out


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode: str, padding: str, align: bool, rng: np.random.Generator) -> None:
    x, grid = rng.normal(size=(2, 3, 4, 5)), rng.uniform(-1.9, 1.9, (2, 3, 6, 2))
    got = lm.grid_sample(lm.asarray(x), lm.asarray(grid), mode, padding, align)
    np.testing.assert_allclose(got.numpy(), sampled(x, grid, mode, padding, align), rtol=1e-11, atol=1e-12)
    x, grid = rng.normal(size=(1, 2, 3, 4, 2)), rng.uniform(-1.5, 1.5, (1, 2, 3, 2, 3))
    got = lm.grid_sample(lm.asarray(x), lm.asarray(grid), mode, padding, align)
    np.testing.assert_allclose(got.numpy(), sampled(x, grid, mode, padding, align), rtol=1e-11, atol=1e-12)


def test_grid_sample_of_odd_places() -> None:
    x = lm.ones([1, 1, 2, 2])
    far = lm.asarray([[[[float("nan"), 0.0], [float("inf"), 0.0], [-1e30, 1e30], [0.0, 0.0]]]])
    for padding in ("zeros", "border", "reflection"):
        lm.grid_sample(x, far, padding_mode=padding)
        assert lm.grid_sample(x, far, mode="nearest", padding_mode=padding)[0, 0, 0, 3].item() == 1


def test_affine_grid(rng: np.random.Generator) -> None:
    theta = rng.normal(size=(2, 2, 3))
    for align in (False, True):
        y, x = (np.linspace(-1, 1, n) if align else (np.arange(n) * 2 + 1) / n - 1 for n in (3, 4))
        base = np.stack([*np.meshgrid(x, y), np.ones((3, 4))], -1)
        got = lm.affine_grid(lm.asarray(theta), (2, 1, 3, 4), align)
        np.testing.assert_allclose(got.numpy(), np.einsum("hwk,nik->nhwi", base, theta), rtol=1e-11, atol=1e-13)
    identity = lm.asarray(np.eye(3, 4)[None])
    volume = rng.normal(size=(1, 2, 3, 4, 5))
    grid = lm.affine_grid(identity, (1, 2, 3, 4, 5))
    np.testing.assert_allclose(lm.grid_sample(lm.asarray(volume), grid).numpy(), volume, atol=1e-12)
    for size in ((2, 1, 3), (1, 1, 3, 4), (2, 1, 0, 4)):
        with pytest.raises(ValueError, match=r"^\[affine_grid\]"):
            lm.affine_grid(lm.asarray(theta), size)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-3), ("bfloat16", 2e-2)])
def test_bicubic_samples_of_volumes_in_16_bits(dtype: str, tolerance: float, rng: np.random.Generator) -> None:
    x = lm.asarray(rng.normal(size=(2, 3, 5, 5, 5))).astype(dtype)
    grid = lm.asarray(rng.uniform(-1, 1, size=(2, 4, 4, 4, 3))).astype(dtype)
    got = lm.grid_sample(x, grid, "bicubic")
    assert got.dtype.name == dtype
    expected = lm.grid_sample(x.astype("float64"), grid.astype("float64"), "bicubic").numpy()
    np.testing.assert_allclose(got.astype("float64").numpy(), expected, rtol=tolerance, atol=tolerance)


def test_grid_sample_errors() -> None:
    x, grid = lm.ones([1, 1, 2, 2]), lm.zeros([1, 3, 3, 2])
    for call, error in [
        (lambda: lm.grid_sample(x, grid[0]), ValueError),
        (lambda: lm.grid_sample(x, lm.zeros([1, 3, 3, 3])), ValueError),
        (lambda: lm.grid_sample(x, lm.zeros([2, 3, 3, 2])), ValueError),
        (lambda: lm.grid_sample(lm.ones([1, 1, 0, 2]), grid), ValueError),
        (lambda: lm.grid_sample(x, grid, mode="linear"), ValueError),
        (lambda: lm.grid_sample(x, grid, padding_mode="wrap"), ValueError),
        (lambda: lm.grid_sample(x, grid.astype("float64")), TypeError),
    ]:
        with pytest.raises(error, match=r"^\[grid_sample\]"):
            call()
