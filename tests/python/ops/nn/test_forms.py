"""Forms of functions for networks that PyTorch has, too: dtypes asked for, filters, bags, single classes, windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
from scipy.signal import windows as reference_windows

import lamella as lm

from ..gradcheck import check_gradients

vmap = lm.autograd.vmap


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(9).normal(size=shape)


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (lm.softmax, sp.softmax),
        (lm.log_softmax, sp.log_softmax),
        (lm.softmin, lambda x, axis: sp.softmax(-x, axis)),
    ],
)
def test_softmax_in_a_dtype(function: Callable[..., lm.Tensor], reference: Callable[..., np.ndarray]) -> None:
    x = np.random.default_rng(2).integers(0, 9, (3, 4))
    for given in ("int64", "uint8", "float16", "float32"):
        y = function(lm.asarray(x.astype(given)), 0, dtype="float64")
        assert y.dtype.name == "float64"
        np.testing.assert_allclose(y.numpy(), reference(x.astype("float64"), axis=0), rtol=1e-12)
    z = lm.tensor(x, dtype="float32", stop_gradient=False)
    function(z, dtype="float64")[0, 0].backward()
    assert z.grad is not None and z.grad.dtype.name == "float32"
    assert function(lm.ones([2]), dtype="bfloat16").dtype.name == "bfloat16"
    with lm.autocast(dtype="bfloat16"):
        assert function(lm.ones([2]), dtype="float64").dtype.name == "float64"
    with pytest.raises(TypeError, match=r"dtype must be floating"):
        function(lm.ones([2]), dtype="int32")


def filtered(x: np.ndarray, out: int, reach: float, weigh: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The last axis at another size, by a filter that is widened where it shrinks."""
    ratio = x.shape[-1] / out
    wide = max(1.0, ratio)
    result = []
    for o in range(out):
        center = ratio * (o + 0.5)
        first = max(int(center - reach * wide + 0.5), 0)
        last = min(int(center + reach * wide + 0.5), x.shape[-1])
        weights = weigh((np.arange(first, last) - center + 0.5) / wide)
        result.append((x[..., first:last] * weights).sum(-1) / weights.sum())
    return np.stack(result, -1)


def triangle(t: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 - np.abs(t))


def cubic(t: np.ndarray) -> np.ndarray:
    t = np.abs(t)
    return np.where(t < 1, (1.5 * t - 2.5) * t * t + 1, np.where(t < 2, ((-0.5 * t + 2.5) * t - 4) * t + 2, 0))


@pytest.mark.parametrize("size", [(3, 4), (9, 2), (1, 1), (12, 20)])
def test_interpolation_without_aliases(size: tuple[int, int]) -> None:
    x = numbers(1, 2, 7, 9)
    for mode, reach, weigh in (("bilinear", 1.0, triangle), ("bicubic", 2.0, cubic)):
        rows = np.swapaxes(filtered(np.swapaxes(x, -1, -2), size[0], reach, weigh), -1, -2)
        wanted = filtered(rows, size[1], reach, weigh)
        got = lm.interpolate(lm.asarray(x), size, mode=mode, antialias=True)
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-9, atol=1e-12)
    check_gradients(lambda a: lm.interpolate(a * a, (3, 4), mode="bicubic", antialias=True), numbers(1, 1, 5, 6))


def test_settings_of_interpolation() -> None:
    x = lm.asarray(numbers(1, 1, 5))
    for mode in ("linear", "nearest"):
        default = lm.interpolate(x, 7, mode=mode).numpy()
        np.testing.assert_array_equal(lm.interpolate(x, 7, mode=mode, align_corners=None).numpy(), default)
    by_sizes = lm.interpolate(x, 8, mode="linear").numpy()
    found = lm.interpolate(x, scale_factor=1.7, mode="linear", recompute_scale_factor=True).numpy()
    np.testing.assert_array_equal(found, by_sizes)
    for settings in ({"antialias": True}, {"size": 3, "scale_factor": None, "recompute_scale_factor": True}):
        with pytest.raises(ValueError, match=r"^\[interpolate\]"):
            lm.interpolate(x, **{"scale_factor": 1.5, "mode": "linear", **settings})


@pytest.mark.parametrize("pad", [(-4, 5), (-6, 4), (6, -7), (5, -4), (-2, 3), (-1, -1), (-3, 0)])
def test_replicating_from_what_is_cut(pad: tuple[int, int]) -> None:
    x = numbers(2, 4)
    places = np.clip(np.arange(4 + sum(pad)) - pad[0], 0, 3)
    np.testing.assert_array_equal(lm.pad(lm.asarray(x), pad, "replicate").numpy(), x[:, places])
    both = lm.pad(lm.asarray(x), (*pad, -2, 3), "replicate").numpy()
    np.testing.assert_array_equal(both, x[:, places][np.clip(np.arange(3) + 2, 0, 1)])
    check_gradients(lambda a: lm.pad(a * a, pad, "replicate"), x)


def test_nothing_to_replicate() -> None:
    for pad in ((-6, 2), (-6, 1), (2, -(2**62))):
        with pytest.raises(ValueError, match=r"^\[pad\] cannot cut"):
            lm.pad(lm.ones([2, 4]), pad, "replicate")
    with pytest.raises(ValueError, match=r'^\[pad\] mode "replicate" has no element'):
        lm.pad(lm.ones([2, 0]), (1, 1), "replicate")


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1, -1])
def test_bags_with_their_end(mode: str, padding: int | None) -> None:
    weight = numbers(5, 3)
    bags = [[0, 1], [], [4, 2, 3, 1], [4], []]
    flat = lm.asarray([i for bag in bags for i in bag] + [3, 3])
    offsets = lm.asarray([0, 2, 2, 6, 7, 7])

    def expected(bag: list[int]) -> np.ndarray:
        rows = weight[[i for i in bag if padding is None or i != padding % 5]]
        return getattr(rows, mode)(0) if len(rows) else np.zeros(3)

    got = lm.embedding_bag(flat, lm.asarray(weight), offsets, mode, padding_idx=padding, include_last_offset=True)
    np.testing.assert_allclose(got.numpy(), [expected(bag) for bag in bags], rtol=1e-12)
    check_gradients(
        lambda w: lm.embedding_bag(flat, w * w, offsets, mode, padding_idx=padding, include_last_offset=True), weight
    )
    got = lm.embedding_bag(flat, lm.asarray(weight), offsets, mode, padding_idx=padding)
    np.testing.assert_allclose(got.numpy(), [expected(bag) for bag in [*bags[:-1], [], [3, 3]]], rtol=1e-12)
    meta = lm.embedding_bag(
        flat.to_device("meta"), lm.asarray(weight).to_device("meta"), offsets.to_device("meta"), mode
    )
    assert meta.shape == (6, 3)
    mapped = vmap(lambda w: lm.embedding_bag(flat, w, offsets, mode))(lm.asarray(np.stack([weight, weight + 1])))
    np.testing.assert_allclose(mapped[0].numpy(), got.numpy() if padding is None else mapped[0].numpy())


def test_ends_of_bags() -> None:
    w, x = lm.ones([5, 3]), lm.asarray([0, 1, 2])
    assert lm.embedding_bag(x, w, lm.asarray([0]), include_last_offset=True).shape == (0, 3)
    factors = lm.asarray([1.0, 2.0, 5.0])
    assert lm.embedding_bag(x, w, lm.asarray([0, 2]), "sum", factors, include_last_offset=True).tolist() == [[3.0] * 3]
    for offsets in (None, lm.asarray([0, 4]), lm.zeros([0], dtype="int64"), lm.asarray([1])):
        with pytest.raises(ValueError, match=r"^\[embedding_bag\]"):
            lm.embedding_bag(x if offsets is not None else x[None], w, offsets, include_last_offset=True)


def test_lengths_in_lists() -> None:
    scores, targets = lm.asarray(numbers(6, 2, 3)), lm.asarray([[1, 1, 2], [2, 0, 0]])
    wanted = lm.ctc_loss(scores, targets, lm.asarray([6, 4]), lm.asarray([3, 1])).numpy()
    for lengths in (([6, 4], [3, 1]), ((6, 4), (3, 1)), (lm.asarray([6, 4]), (3, 1))):
        np.testing.assert_array_equal(lm.ctc_loss(scores, targets, *lengths).numpy(), wanted)
    with pytest.raises(ValueError, match=r"^\[ctc_loss\]"):
        lm.ctc_loss(scores, targets, [6], [3, 1])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_a_single_class(reduction: str) -> None:
    x, zero = lm.tensor(2.0, stop_gradient=False), lm.asarray(0)
    for loss in (lm.multi_margin_loss, lm.multilabel_margin_loss):
        value = loss(x, zero, reduction=reduction)
        assert value.shape == () and value.item() == 0.0
    scores = lm.asarray(numbers(5))
    one = lm.multi_margin_loss(scores, lm.asarray([1]), reduction=reduction)
    assert one.shape == ((1,) if reduction == "none" else ())
    assert one.sum().item() == lm.multi_margin_loss(scores, lm.asarray(1), reduction=reduction).item()


def test_rrelu() -> None:
    x = numbers(50, 20)
    mean = (1 / 8 + 1 / 3) / 2
    np.testing.assert_allclose(lm.rrelu(lm.asarray(x)).numpy(), np.where(x > 0, x, x * mean), rtol=1e-12)
    given = lm.tensor(x, stop_gradient=False)
    y = lm.rrelu(given, 0.2, 0.6, training=True, generator=lm.Generator(seed=1))
    slopes = y.detach().numpy() / x
    assert (slopes[x > 0] == 1).all() and slopes[x < 0].min() >= 0.2 and slopes[x < 0].max() <= 0.6
    assert abs(slopes[x < 0].mean() - 0.4) < 0.02 and slopes[x < 0].std() > 0.1
    y.sum().backward()
    assert given.grad is not None
    np.testing.assert_allclose(given.grad.numpy(), slopes, rtol=1e-12)
    again = lm.rrelu(lm.asarray(x), 0.2, 0.6, True, generator=lm.Generator(seed=1))
    np.testing.assert_array_equal(again.numpy(), y.detach().numpy())
    for dtype in ("float16", "bfloat16", "float32"):
        assert lm.rrelu(lm.ones([2], dtype=dtype), training=True).dtype.name == dtype
    assert lm.rrelu(lm.asarray([1, -2]), training=True).dtype.name == "float32"
    with pytest.raises(ValueError, match=r"^\[rrelu\] lower"):
        lm.rrelu(lm.ones([2]), 0.5, 0.2)


def test_triplets_with_a_distance() -> None:
    a, b, c = (lm.asarray(numbers(4, 3) * k) for k in (1.0, 1.5, -0.7))
    for swap in (False, True):
        for reduction in ("none", "mean", "sum"):
            wanted = lm.triplet_margin_loss(a, b, c, swap=swap, reduction=reduction).numpy()
            got = lm.triplet_margin_with_distance_loss(a, b, c, swap=swap, reduction=reduction)
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12)
    city = lm.triplet_margin_with_distance_loss(
        a, b, c, distance_function=lambda x, y: lm.sum(lm.abs(x - y), axis=-1), margin=3.0, reduction="none"
    )
    x, y, z = a.numpy(), b.numpy(), c.numpy()
    np.testing.assert_allclose(city.numpy(), np.maximum(0, 3 + np.abs(x - y).sum(-1) - np.abs(x - z).sum(-1)))
    for settings in ({"margin": 0.0}, {"reduction": "all"}):
        with pytest.raises(ValueError, match=r"^\[triplet_margin_with_distance_loss\]"):
            lm.triplet_margin_with_distance_loss(a, b, c, **settings)
    with pytest.raises(ValueError, match=r"as many axes"):
        lm.triplet_margin_with_distance_loss(a, b[0], c)


WINDOWS: list[tuple[str, dict[str, Any], Callable[..., np.ndarray]]] = [
    ("bartlett", {}, reference_windows.bartlett),
    ("blackman", {}, reference_windows.blackman),
    ("cosine", {}, reference_windows.cosine),
    ("exponential", {"tau": 2.5}, reference_windows.exponential),
    ("gaussian", {"std": 1.5}, reference_windows.gaussian),
    ("general_cosine", {"a": [0.3, 0.5, 0.2]}, reference_windows.general_cosine),
    ("general_hamming", {"alpha": 0.7}, reference_windows.general_hamming),
    ("hamming", {}, reference_windows.hamming),
    ("hann", {}, reference_windows.hann),
    ("kaiser", {"beta": 12.0}, reference_windows.kaiser),
    ("kaiser", {"beta": 0.0}, reference_windows.kaiser),
    ("kaiser", {"beta": 600.0}, reference_windows.kaiser),
    ("nuttall", {}, reference_windows.nuttall),
]


@pytest.mark.parametrize(("name", "settings", "reference"), WINDOWS)
def test_windows(name: str, settings: dict[str, Any], reference: Callable[..., np.ndarray]) -> None:
    function = getattr(lm.signal.windows, name)
    for length in (0, 1, 2, 3, 8, 33):
        for sym in (False, True):
            wanted = reference(length, **settings, sym=sym)
            got = function(length, **settings, sym=sym, dtype="float64")
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-9, atol=1e-15)
    assert function(4, **settings).dtype.name == "float32"
    assert function(4, **settings, device="meta", dtype="bfloat16").shape == (4,)
    with pytest.raises(ValueError, match=r"length of a window"):
        function(-1, **settings)
    with pytest.raises(TypeError, match=r"dtype must be floating"):
        function(3, **settings, dtype="int32")


def test_windows_by_their_long_names() -> None:
    for name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
        long, short = getattr(lm, f"{name}_window"), getattr(lm.signal.windows, name)
        for length in (0, 1, 6):
            np.testing.assert_array_equal(long(length).numpy(), short(length, sym=False).numpy())
            np.testing.assert_array_equal(long(length, False).numpy(), short(length).numpy())
    np.testing.assert_allclose(lm.hamming_window(3, False, 0.6, 0.3).numpy(), [0.3, 0.9, 0.3], rtol=1e-6)
    center = lm.signal.windows.exponential(3, center=1.0, sym=False, dtype="float64")
    np.testing.assert_allclose(center.numpy(), np.exp([-1.0, 0.0, -1.0]))
    one = lm.signal.windows.exponential(1, center=2.0, tau=0.5, sym=False, dtype="float64")
    np.testing.assert_allclose(one.numpy(), [np.exp(-4.0)])
    for call in (
        lambda: lm.kaiser_window(3, beta=-1.0),
        lambda: lm.signal.windows.gaussian(3, std=0.0),
        lambda: lm.signal.windows.exponential(3, tau=0.0),
        lambda: lm.signal.windows.exponential(3, center=1.0),
        lambda: lm.signal.windows.general_cosine(3, a=[]),
    ):
        with pytest.raises(ValueError, match=r"^\["):
            call()


@pytest.mark.parametrize("axes", [2, 3])
def test_fractional_max_pool(axes: int) -> None:
    shape, kernel, out = (7, 8, 6)[:axes], (2, 3, 1)[:axes], (4, 3, 2)[:axes]
    x, samples = numbers(2, 3, *shape), np.random.default_rng(3).uniform(size=(2, 3, axes))
    name = f"fractional_max_pool{axes}d"

    def begins(sample: float, axis: int) -> list[int]:
        step = (shape[axis] - kernel[axis]) / (out[axis] - 1)
        found = [int((i + sample) * step) - int(sample * step) for i in range(out[axis] - 1)]
        return [*found, shape[axis] - kernel[axis]]

    wanted = np.zeros((2, 3, *out))
    for plane in np.ndindex(2, 3):
        order = samples[plane][::-1] if axes == 2 else samples[plane]
        first = [begins(order[axis], axis) for axis in range(axes)]
        for place in np.ndindex(*out):
            window = tuple(slice(first[a][i], first[a][i] + kernel[a]) for a, i in enumerate(place))
            wanted[plane + place] = x[plane][window].max()
    pooled, places = getattr(lm, name + "_with_indices")(lm.asarray(x), kernel, out, random_samples=lm.asarray(samples))
    np.testing.assert_array_equal(pooled.numpy(), wanted)
    flat = x.reshape(2, 3, -1)
    np.testing.assert_array_equal(
        np.take_along_axis(flat, places.numpy().reshape(2, 3, -1), -1).reshape(wanted.shape), wanted
    )
    one = getattr(lm, name)(lm.asarray(x[0]), kernel, out, random_samples=lm.asarray(samples[:1]))
    np.testing.assert_array_equal(one.numpy(), wanted[0])
    function = getattr(lm, name)
    check_gradients(lambda a: function(a * a, kernel, out, random_samples=lm.asarray(samples)), x)
    drawn = function(lm.asarray(x), 2, output_ratio=0.5, generator=lm.Generator(seed=1))
    assert drawn.shape == (2, 3, *[n // 2 for n in shape])
    again = function(lm.asarray(x), 2, output_ratio=0.5, generator=lm.Generator(seed=1))
    np.testing.assert_array_equal(drawn.numpy(), again.numpy())
    assert function(lm.asarray(x).to_device("meta"), 2, 3).shape == (2, 3, *[3] * axes)
    for settings in (
        {},
        {"output_size": 2, "output_ratio": 0.5},
        {"output_ratio": 1.5},
        {"output_size": 6},
        {"output_size": 0},
        {"output_size": 2, "random_samples": lm.ones([2, 3])},
    ):
        with pytest.raises(ValueError, match=rf"^\[{name}\]"):
            function(lm.asarray(x), 3, **settings)
    with pytest.raises(TypeError, match=rf"^\[{name}\]"):
        function(lm.ones([1, *shape], dtype="int64"), 2, 2)
