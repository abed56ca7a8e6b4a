"""Pooling against windows written out in numpy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lamella as lm

from ..draws import integers

MAX = {1: lm.max_pool1d, 2: lm.max_pool2d, 3: lm.max_pool3d}
MAX_WITH_INDICES = {1: lm.max_pool1d_with_indices, 2: lm.max_pool2d_with_indices, 3: lm.max_pool3d_with_indices}
AVG = {1: lm.avg_pool1d, 2: lm.avg_pool2d, 3: lm.avg_pool3d}
LP = {1: lm.lp_pool1d, 2: lm.lp_pool2d, 3: lm.lp_pool3d}
ADAPTIVE_AVG = {1: lm.adaptive_avg_pool1d, 2: lm.adaptive_avg_pool2d, 3: lm.adaptive_avg_pool3d}
ADAPTIVE_MAX = {1: lm.adaptive_max_pool1d, 2: lm.adaptive_max_pool2d, 3: lm.adaptive_max_pool3d}
ADAPTIVE_MAX_WITH_INDICES = {
    1: lm.adaptive_max_pool1d_with_indices,
    2: lm.adaptive_max_pool2d_with_indices,
    3: lm.adaptive_max_pool3d_with_indices,
}

#: One window along one axis: the places inside, and how many there are with the padding.
Window = tuple[list[int], int]


def numbers(value: Any, axes: int) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else tuple(value)


def windows(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> list[Window]:
    reach = dilation * (kernel - 1) + 1
    steps = (n + 2 * padding - reach) / stride
    count = (math.ceil(steps) if ceil_mode else math.floor(steps)) + 1
    while ceil_mode and (count - 1) * stride >= n + padding:
        count -= 1
    result = []
    for i in range(count):
        places = range(i * stride - padding, i * stride - padding + reach, dilation)
        padded = min(places.start + reach, n + padding) - places.start
        result.append(([p for p in places if 0 <= p < n], padded))
    return result


def adaptive_windows(n: int, count: int) -> list[Window]:
    bounds = [(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]
    return [(list(range(a, b)), b - a) for a, b in bounds]


def pooled(
    x: np.ndarray, per_axis: list[list[Window]], take: Callable[[np.ndarray, tuple[Window, ...]], Any]
) -> np.ndarray:
    """The result of `take` for each plane and window."""
    out = tuple(len(axis) for axis in per_axis)
    leading = x.shape[: x.ndim - len(out)]
    y = np.empty((*leading, *out))
    for plane in np.ndindex(*leading):
        for at in np.ndindex(*out):
            chosen = tuple(axis[i] for axis, i in zip(per_axis, at, strict=True))
            y[(*plane, *at)] = take(x[plane][np.ix_(*[places for places, _ in chosen])], chosen)
    return y


def all_windows(x: np.ndarray, axes: int, kernel: Any, **setting: Any) -> list[list[Window]]:
    given = [
        numbers(v, axes)
        for v in (kernel, setting.get("stride") or kernel, setting.get("padding", 0), setting.get("dilation", 1))
    ]
    return [
        windows(n, *rest, setting.get("ceil_mode", False)) for n, *rest in zip(x.shape[-axes:], *given, strict=True)
    ]


SETTINGS: list[tuple[int, Any, dict[str, Any]]] = [
    (1, 2, {}),
    (1, 3, {"stride": 2, "padding": 1, "ceil_mode": True}),
    (1, 4, {"stride": 5, "ceil_mode": True}),
    (1, 13, {"stride": 4, "ceil_mode": True}),
    (2, 2, {}),
    (2, (3, 2), {"stride": (1, 3), "padding": (1, 0)}),
    (2, 3, {"stride": 2, "padding": 1, "ceil_mode": True}),
    (2, 5, {"stride": 1, "padding": 2}),
    (3, 2, {"stride": (2, 1, 2), "padding": (0, 1, 1), "ceil_mode": True}),
]
DILATED: list[tuple[int, Any, dict[str, Any]]] = [
    (1, 2, {"dilation": 3}),
    (1, 2, {"dilation": 3, "padding": 2, "stride": 1}),
    (2, (2, 3), {"dilation": (4, 2), "padding": (1, 2), "stride": 1}),
    (2, 3, {"dilation": 2, "stride": 2, "ceil_mode": True}),
    (1, 3, {"dilation": 6, "stride": 5, "ceil_mode": True}),
]
FLOATS = ("float16", "bfloat16", "float32", "float64")
TOLERANCE = {"float64": 1e-12, "float32": 1e-6, "bfloat16": 8e-3, "float16": 1e-3}


def shape(axes: int) -> tuple[int, ...]:
    return (2, 3, *(11, 9, 7)[:axes])


def rounded(x: np.ndarray, dtype: str) -> tuple[lm.Tensor, np.ndarray]:
    t = lm.asarray(x).astype(dtype)
    return t, t.astype("float64").numpy()


def values(t: lm.Tensor) -> np.ndarray:
    return t.detach().astype("float64").numpy()


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint16", "int32", "int64"])
@pytest.mark.parametrize(("axes", "kernel", "setting"), [*SETTINGS, *DILATED], ids=str)
def test_max_pool(axes: int, kernel: Any, setting: dict[str, Any], dtype: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=shape(axes)) if "float" in dtype else rng.integers(0, 100, shape(axes))
    t, x = rounded(x, dtype)
    per_axis = all_windows(x, axes, kernel, **setting)
    expected = pooled(x, per_axis, lambda part, _: part.max())
    y = MAX[axes](t, kernel, **setting)
    assert y.dtype == t.dtype
    np.testing.assert_array_equal(values(y), expected)
    again, places = MAX_WITH_INDICES[axes](t, kernel, **setting)
    np.testing.assert_array_equal(values(again), expected)
    assert places.dtype == lm.int64 and places.stop_gradient
    flat = x.reshape(*x.shape[:2], -1)
    picked = np.take_along_axis(flat, places.numpy().reshape(*x.shape[:2], -1), -1)
    np.testing.assert_array_equal(picked.reshape(expected.shape), expected)
    np.testing.assert_array_equal(values(MAX[axes](t[1], kernel, **setting)), expected[1])


def test_max_pool_takes_the_first_of_several_and_nan() -> None:
    x = lm.asarray([[[[1.0, 3.0, 3.0], [3.0, 0.0, 3.0], [3.0, np.nan, 1.0]]]])
    y, places = lm.max_pool2d_with_indices(x, 2, 1)
    np.testing.assert_array_equal(y.numpy()[0, 0], [[3, 3], [np.nan, np.nan]])
    np.testing.assert_array_equal(places.numpy()[0, 0], [[1, 1], [7, 7]])
    np.testing.assert_array_equal(lm.max_pool2d(x, 2, 1).numpy(), y.numpy())
    low = lm.full([1, 1, 4], -np.inf)
    y, places = lm.max_pool1d_with_indices(low, 2)
    assert y.tolist() == [[[-np.inf] * 2]] and places.tolist() == [[[0, 2]]]


def test_max_pool_window_without_elements() -> None:
    """A dilated window may step over a short axis: it has no largest element, and no gradient."""
    x = lm.tensor([[[1.0, 2.0]]], stop_gradient=False)
    y, places = lm.max_pool1d_with_indices(x, 2, 1, padding=2, dilation=3)
    assert y.tolist() == [[[2.0, -np.inf, 1.0]]] and places.tolist() == [[[1, -1, 0]]]
    y.sum().backward()
    assert x.grad.tolist() == [[[1.0, 1.0]]]
    assert lm.max_pool1d(x.detach(), 2, 1, padding=2, dilation=3).tolist() == y.tolist()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("axes", "kernel", "setting"), SETTINGS, ids=str)
def test_avg_pool(axes: int, kernel: Any, setting: dict[str, Any], dtype: str, rng: np.random.Generator) -> None:
    t, x = rounded(rng.normal(size=shape(axes)), dtype)
    per_axis = all_windows(x, axes, kernel, **setting)
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    for options, take in [
        ({}, lambda part, chosen: part.sum() / math.prod(n for _, n in chosen)),
        ({"count_include_pad": False}, lambda part, _: part.mean() if part.size else 0.0),
        ({"divisor_override": 7}, lambda part, _: part.sum() / 7),
    ]:
        y = AVG[axes](t, kernel, **setting, **options)
        assert y.dtype == t.dtype
        expected = pooled(x, per_axis, take)
        np.testing.assert_allclose(values(y), expected, **tolerance)
        np.testing.assert_allclose(values(AVG[axes](t[1], kernel, **setting, **options)), expected[1], **tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(70, 60, 20), (40, 45, 0), (300, 1, 0), (5, 3, 2)], ids=str)
def test_avg_pool_of_long_rows(kernel: int, stride: int, padding: int, dtype: str, rng: np.random.Generator) -> None:
    """Windows that overlap, that leave gaps, and one for all; the gradient is the transpose."""
    t, x = rounded(rng.normal(size=(3, 1, 300)), dtype)
    per_axis = all_windows(x, 1, kernel, stride=stride, padding=padding)
    t = t.detach()
    t.stop_gradient = False
    y = lm.avg_pool1d(t, kernel, stride, padding)
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    np.testing.assert_allclose(values(y), pooled(x, per_axis, lambda part, _: part.sum() / kernel), **tolerance)
    dy, g = rounded(rng.normal(size=y.shape), dtype)
    y.backward(dy)
    want = np.zeros_like(x)
    for o, (places, _) in enumerate(per_axis[0]):
        want[..., places] += g[..., o : o + 1] / kernel
    np.testing.assert_allclose(values(t.grad), want, **tolerance)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("norm", [1.0, 2.0, 3.5])
def test_lp_pool(axes: int, norm: float, rng: np.random.Generator) -> None:
    x = rng.uniform(0.1, 2, size=shape(axes))
    for setting in ({}, {"stride": 1}, {"stride": 2, "ceil_mode": True}):
        per_axis = all_windows(x, axes, 3, **setting)
        expected = pooled(x, per_axis, lambda part, _: (part**norm).sum() ** (1 / norm))
        np.testing.assert_allclose(LP[axes](lm.asarray(x), norm, 3, **setting).numpy(), expected, rtol=1e-12)
        signed = rng.normal(size=x.shape)
        got = LP[axes](lm.asarray(signed), np.inf, 3, **setting)
        np.testing.assert_array_equal(got.numpy(), pooled(signed, per_axis, lambda part, _: np.abs(part).max()))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("norm", [0.5, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("scale", ["tiny", "huge"])
@pytest.mark.parametrize("mapped", [False, True], ids=["plain", "vmap"])
def test_lp_pool_of_powers_beyond_the_range(
    dtype: str, norm: float, scale: str, mapped: bool, rng: np.random.Generator
) -> None:
    """Values and gradients scale with x where its powers under- or overflow, and so where odd powers keep signs."""
    x = rng.uniform(0.5, 2, size=(3, 2, 4))
    if norm == 3:
        x[:, :, 0] = -x[:, :, 0] / 8
    factor = (
        {"tiny": 2.0**-90, "huge": 2.0**110}[scale] if dtype == "float32" else 2.0 ** (900 - 1800 * (scale == "tiny"))
    )

    def pooled_with_gradient(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        leaf = lm.asarray(values.astype(dtype))
        leaf.stop_gradient = False
        y = lm.vmap(lambda plane: lm.lp_pool1d(plane, norm, 2))(leaf) if mapped else lm.lp_pool1d(leaf, norm, 2)
        y.backward(lm.ones(y.shape, dtype=dtype))
        assert leaf.grad is not None
        return y.detach().numpy(), leaf.grad.numpy()

    expected, slopes = pooled_with_gradient(x)
    got, grad = pooled_with_gradient(x * factor)
    np.testing.assert_allclose(got / factor, expected, rtol=1e-5 if dtype == "float32" else 1e-13)
    np.testing.assert_allclose(grad, slopes, rtol=1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("axes", "size"), [(1, 1), (1, 4), (1, 13), (2, 1), (2, (3, 5)), (2, (11, 9)), (3, (2, 9, 3)), (2, 0)], ids=str
)
def test_adaptive_pools(axes: int, size: Any, dtype: str, rng: np.random.Generator) -> None:
    t, x = rounded(rng.normal(size=shape(axes)), dtype)
    per_axis = [adaptive_windows(n, m) for n, m in zip(x.shape[2:], numbers(size, axes), strict=True)]
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    means = pooled(x, per_axis, lambda part, _: part.mean())
    np.testing.assert_allclose(values(ADAPTIVE_AVG[axes](t, size)), means, **tolerance)
    np.testing.assert_allclose(values(ADAPTIVE_AVG[axes](t[0], size)), means[0], **tolerance)
    tops = pooled(x, per_axis, lambda part, _: part.max())
    np.testing.assert_array_equal(values(ADAPTIVE_MAX[axes](t, size)), tops)
    y, places = ADAPTIVE_MAX_WITH_INDICES[axes](t, size)
    np.testing.assert_array_equal(values(y), tops)
    picked = np.take_along_axis(x.reshape(*x.shape[:2], -1), places.numpy().reshape(*x.shape[:2], -1), -1)
    np.testing.assert_array_equal(picked.reshape(tops.shape), tops)


def test_adaptive_pools_beyond_memory() -> None:
    # Raised before the windows are listed, which would take gigabytes themselves.
    for pool in (lm.adaptive_avg_pool1d, lm.adaptive_max_pool1d):
        with pytest.raises(MemoryError, match="824633720448 bytes"):
            pool(lm.ones([16, 3, 3], dtype="float64"), 2**31 - 1)


def test_adaptive_pools_that_keep_sizes(rng: np.random.Generator) -> None:
    """None in output_size stands for the input's size."""
    x = lm.asarray(rng.normal(size=(2, 3, 5, 7, 4)))
    for pools in (ADAPTIVE_AVG, ADAPTIVE_MAX):
        assert pools[3](x, (None, 2, None)).tolist() == pools[3](x, (5, 2, 4)).tolist()
        assert pools[2](x[0], [None, 3]).tolist() == pools[2](x[0], [7, 3]).tolist()
        assert pools[2](x[0], (None, None)).tolist() == x[0].tolist() == pools[2](x[0], [None]).tolist()
        assert pools[1](x[0, 0], [None]).tolist() == x[0, 0].tolist()
        with pytest.raises(TypeError, match="output_size: expected an int, or a sequence of ints and None"):
            pools[2](x[0], "ab")
        with pytest.raises(ValueError, match="output_size takes one number"):
            pools[2](x[0], (None, 1, None))
    layer = lm.nn.AdaptiveMaxPool2d((None, 2), return_indices=True)
    values, places = layer(x[0])
    expected = lm.adaptive_max_pool2d_with_indices(x[0], (7, 2))
    assert (values.tolist(), places.tolist()) == (expected[0].tolist(), expected[1].tolist())


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_local_response_norm(size: int, rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 5, 3, 2))
    squares = np.pad(x**2, [(0, 0), (size // 2, (size - 1) // 2), (0, 0), (0, 0)])
    means = sum(squares[:, i : i + 5] for i in range(size)) / size
    got = lm.local_response_norm(lm.asarray(x), size, alpha=0.3, beta=0.6, k=1.5)
    np.testing.assert_allclose(got.numpy(), x / (1.5 + 0.3 * means) ** 0.6, rtol=1e-12)
    assert lm.local_response_norm(lm.ones([0, 3, 2]), 3).shape == (0, 3, 2)
    with pytest.raises(ValueError, match="size must be at least 1"):
        lm.local_response_norm(lm.asarray(x), 0)
    with pytest.raises(ValueError, match=r"\[n, channels, \.\.\]"):
        lm.local_response_norm(lm.ones([3]), 1)


def pools() -> Iterator[tuple[Callable[[lm.Tensor], lm.Tensor], int]]:
    for axes in (1, 2, 3):
        yield (lambda x, f=MAX[axes]: f(x, 2, 1)), axes
        yield (lambda x, f=AVG[axes]: f(x, 2, 1)), axes
        yield (lambda x, f=ADAPTIVE_AVG[axes]: f(x, 3)), axes
        yield (lambda x, f=ADAPTIVE_MAX[axes]: f(x, 3)), axes


def test_empty_meta_and_strided(rng: np.random.Generator) -> None:
    for pool, axes in pools():
        x = rng.normal(size=(2, 3, 5, 6, 7)[: axes + 2])
        y = pool(lm.asarray(x))
        np.testing.assert_array_equal(pool(lm.asarray(x.T.copy()).T).numpy(), y.numpy())
        assert pool(lm.asarray(x).to("meta")).shape == y.shape
        none = lm.tensor(x[:0], stop_gradient=False)
        got = pool(none)
        assert got.shape == (0, *y.shape[1:])
        got.sum().backward()
        assert none.grad.shape == none.shape
        assert pool(lm.ones([2, 0, *x.shape[2:]])).shape == (2, 0, *y.shape[2:])


def test_the_same_bits_for_any_number_of_threads(rng: np.random.Generator) -> None:
    x = lm.tensor(rng.normal(size=(8, 16, 40, 40)).astype("float32"), stop_gradient=False)

    def results() -> list[np.ndarray]:
        ys = [lm.max_pool2d(x, 3, 2, 1), lm.avg_pool2d(x, 3, 2, 1), lm.adaptive_avg_pool2d(x, 7)]
        return [a.detach().numpy() for y in ys for a in (y, *lm.grad([(y * y).sum()], [x]))]

    expected = results()
    before = lm.get_num_threads()
    try:
        for count in (1, 2, 5):
            lm.set_num_threads(count)
            for one, other in zip(expected, results(), strict=True):
                np.testing.assert_array_equal(one, other)
    finally:
        lm.set_num_threads(before)


BAD: list[tuple[Callable[[lm.Tensor], Any], str]] = [
    (lambda x: lm.max_pool2d(x, 0), "kernel_size must be at least 1"),
    (lambda x: lm.max_pool2d(x, [2, 2, 2]), "kernel_size takes one number"),
    (lambda x: lm.max_pool2d(x, 2, 0), "stride must be at least 1"),
    (lambda x: lm.max_pool2d(x, 2, padding=2), "padding must be at most half"),
    (lambda x: lm.max_pool2d(x, 2, padding=-1), "padding must be at least 0"),
    (lambda x: lm.max_pool2d(x, 2, dilation=0), "dilation must be at least 1"),
    (lambda x: lm.max_pool2d(x, 6), "does not fit"),
    (lambda x: lm.max_pool2d(x, 2**31 - 1, dilation=2**31 - 1), "does not fit"),
    (lambda x: lm.max_pool2d(x, 2**40), "32 bits"),
    (lambda x: lm.max_pool2d(x[0, 0], 2), "2 spatial axes"),
    (lambda x: lm.max_pool2d(x[:, :, :0], 1), "no elements along axis 2"),
    (lambda x: lm.avg_pool2d(x, 2, divisor_override=0), "divisor_override must not be 0"),
    (lambda x: lm.lp_pool2d(x, 0, 2), "norm_type must be positive"),
    (lambda x: lm.adaptive_avg_pool2d(x, -1), "output_size must be at least 0"),
    (lambda x: lm.adaptive_max_pool2d(x, [1, 2, 3]), "output_size takes one number"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_arguments(call: Callable[[lm.Tensor], Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"_pool2d\] .*" + message):
        call(lm.ones([1, 2, 5, 5]))


def test_wrong_dtypes() -> None:
    x = lm.ones([1, 1, 4])
    with pytest.raises(TypeError, match=r"_pool1d\] does not take dtype int64"):
        lm.adaptive_avg_pool1d(x.astype("int64"), 2)
    with pytest.raises(TypeError, match=r"\[max_pool1d\] does not take dtype bool"):
        lm.max_pool1d(x.astype("bool"), 2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "float16"])
@pytest.mark.parametrize(("n", "count"), [(1000, 7), (64, 3), (50, 1), (37, 2)])
def test_places_in_large_windows(n: int, count: int, dtype: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 20, (2, 3, n)).astype(dtype)  # with several that are the largest
    if dtype in ("float32", "float64"):
        x[0, 0, n // 2 :: 5] = np.nan
        x[1, 2] = -np.inf
    values, places = ADAPTIVE_MAX_WITH_INDICES[1](lm.asarray(x), count)
    for at in np.ndindex(2, 3):
        for o, (window, _) in enumerate(adaptive_windows(n, count)):
            part = x[at][window]
            best = int(np.argmax(np.isnan(part))) if np.isnan(part).any() else int(np.argmax(part))
            assert places.numpy()[(*at, o)] == window[best]
            np.testing.assert_array_equal(values.numpy()[(*at, o)], part[best])


def quotient(sums: np.ndarray, counts: Any) -> np.ndarray:
    return np.trunc(sums / counts).astype("int64")


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32"])
def test_means_of_windows_of_integers(dtype: str, rng: np.random.Generator) -> None:
    x = integers(rng, dtype, 2, 3, 6, 7) * 25
    sums = lambda **more: lm.avg_pool2d(lm.asarray(x.astype("float64")), 3, 2, 1, divisor_override=1, **more).numpy()  # noqa: E731
    ones = lm.avg_pool2d(lm.ones(x.shape), 3, 2, 1, divisor_override=1).numpy()
    cases: list[tuple[dict[str, Any], Any]] = [
        ({}, 9),
        ({"count_include_pad": False}, ones),
        ({"divisor_override": 4}, 4),
        ({"divisor_override": -1}, -1),
    ]
    for setting, counts in cases:
        y = lm.avg_pool2d(lm.asarray(x), 3, 2, 1, **setting)
        assert y.dtype.name == dtype
        np.testing.assert_array_equal(y.numpy(), quotient(sums(), counts).astype(dtype))
    assert (
        lm.avg_pool1d(lm.asarray(x[0]), 7).tolist()
        == quotient(x[0].astype("float64").sum(-1, keepdims=True), 7).tolist()
    )
    assert lm.avg_pool3d(lm.asarray(x), (3, 2, 2)).shape == (2, 1, 3, 3)
    with pytest.raises(TypeError, match=r"\[avg_pool1d\] does not take dtype uint64"):
        lm.avg_pool1d(lm.ones([1, 1, 4], dtype="uint64"), 2)


def test_means_of_extreme_integers() -> None:
    low, high = -(2**63), 2**63 - 1
    x = lm.asarray([[[low, high]]])
    assert lm.avg_pool1d(x, 1).tolist() == [[[low, high]]]
    assert lm.avg_pool2d(x[None], (1, 1), divisor_override=-1).tolist() == [[[[low, -high]]]]  # -low is not an int64
    assert lm.avg_pool2d(x[None], (1, 1), divisor_override=high).tolist()[0][0][0][0] in (-1, -2)
    assert lm.local_response_norm(lm.asarray([[[3]], [[-4]]]), 2, alpha=2.0, beta=1.0, k=1.0).dtype.name == "float32"


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "complex64", "complex128"])
def test_windows_keep_the_dtype(dtype: str, rng: np.random.Generator) -> None:
    image = rng.integers(0, 2, (2, 3, 5, 6))
    x = lm.asarray(image).astype(dtype)
    columns = lm.unfold(x, (2, 3), padding=1, stride=2)
    assert columns.dtype.name == dtype
    wanted = lm.unfold(lm.asarray(image.astype("float64")), (2, 3), padding=1, stride=2)
    np.testing.assert_array_equal(columns.astype("complex128").numpy(), wanted.numpy())
    if dtype == "bool":
        with pytest.raises(TypeError, match=r"\[fold\] does not take dtype bool"):
            lm.fold(columns, (5, 6), (2, 3), padding=1, stride=2)
        return
    back = lm.fold(columns, (5, 6), (2, 3), padding=1, stride=2)
    assert back.dtype.name == dtype
    sums = lm.fold(wanted, (5, 6), (2, 3), padding=1, stride=2)
    np.testing.assert_array_equal(back.astype("complex128").numpy(), sums.numpy())


# Squares of 2 x 2, which have kernels of their own.

#: Around the widths of vectors, in squares, and planes of one row or column.
SIZES = (2, 3, 7, 14, 16, 17, 30, 32, 33, 34, 66, 131)
SHAPES = [(2, 3, h, w) for h, w in itertools.product((2, 5, 8), SIZES)] + [(1, 1, 2, 2), (3, 2, 131, 2)]


def squares_of(a: np.ndarray) -> np.ndarray:
    """The squares' elements as a last axis."""
    h, w = a.shape[2] // 2, a.shape[3] // 2
    pairs = a[:, :, : 2 * h, : 2 * w].reshape(*a.shape[:2], h, 2, w, 2)
    return pairs.transpose(0, 1, 2, 4, 3, 5).reshape(*a.shape[:2], h, w, 4)


def spread(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The transpose of squares_of()."""
    n, c, h, w, _ = values.shape
    result = np.zeros(shape, values.dtype)
    result[:, :, : 2 * h, : 2 * w] = (
        values.reshape(n, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, 2 * h, 2 * w)
    )
    return result


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_largest_elements_and_their_places(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    a = np.round(rng.standard_normal(shape), 1).astype(dtype)  # with ties
    a.reshape(-1)[::17] = np.nan
    a.reshape(-1)[1::19] = -np.inf
    parts = squares_of(a)
    nan = np.isnan(parts)
    first = np.where(nan.any(-1), nan.argmax(-1), np.where(nan, -np.inf, parts).argmax(-1))[..., None]
    want = np.take_along_axis(parts, first, -1)[..., 0]
    rows = np.arange(want.shape[2])[:, None] * 2 + first[..., 0] // 2
    columns = np.arange(want.shape[3]) * 2 + first[..., 0] % 2
    x = lm.asarray(a)
    x.stop_gradient = False
    y, places = lm.max_pool2d_with_indices(x, 2)
    np.testing.assert_array_equal(y.detach().numpy(), want)
    np.testing.assert_array_equal(places.numpy(), rows * shape[3] + columns)
    with lm.no_grad():
        np.testing.assert_array_equal(lm.max_pool2d(x, 2).numpy(), want)
    dy = rng.standard_normal(want.shape).astype(dtype)
    (dx,) = lm.grad(lm.max_pool2d(x, 2), [x], [lm.asarray(dy)])
    chosen = np.zeros_like(parts)
    np.put_along_axis(chosen, first, dy[..., None], -1)
    np.testing.assert_array_equal(dx.numpy(), spread(chosen, shape))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_means_and_their_gradient(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    a = rng.standard_normal(shape).astype(dtype)
    x = lm.asarray(a)
    x.stop_gradient = False
    y = lm.avg_pool2d(x, 2)
    np.testing.assert_allclose(y.detach().numpy(), squares_of(a).mean(-1), rtol=1e-5, atol=1e-6)
    dy = rng.standard_normal(y.shape).astype(dtype)
    (dx,) = lm.grad(y, [x], [lm.asarray(dy)])
    np.testing.assert_allclose(dx.numpy(), spread(np.repeat(dy[..., None] / 4, 4, -1), shape), rtol=1e-6)
