"""Convolutions against sums written out in numpy."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import lamella as lm
from support.default_device import ON_CPU

from ..draws import complex_numbers, integers, slope

FORWARD = {1: lm.conv1d, 2: lm.conv2d, 3: lm.conv3d}
TRANSPOSED = {1: lm.conv_transpose1d, 2: lm.conv_transpose2d, 3: lm.conv_transpose3d}


def numbers(value: Any, axes: int) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else tuple(value)


def taps(kernel: tuple[int, ...], out: tuple[int, ...], stride: Any, dilation: Any) -> Any:
    """Each place of the kernel, and the elements of the padded input that it meets."""
    for k in np.ndindex(*kernel):
        yield (
            k,
            tuple(
                slice(i * d, i * d + (n - 1) * s + 1, s) for i, d, n, s in zip(k, dilation, out, stride, strict=True)
            ),
        )


def reference(
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> np.ndarray:
    axes = w.ndim - 2
    stride, dilation = numbers(stride, axes), numbers(dilation, axes)
    kernel = w.shape[2:]
    reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if padding == "valid":
        padding = 0
    pads = [(r // 2, r - r // 2) for r in reach] if padding == "same" else [(p, p) for p in numbers(padding, axes)]
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    out = tuple((n - r - 1) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True))
    parts = []
    for part, kernels in zip(np.split(x, groups, 1), np.split(w, groups, 0), strict=True):
        y = np.zeros((x.shape[0], kernels.shape[0], *out), x.dtype)
        for k, where in taps(kernel, out, stride, dilation):
            y += np.einsum("nc...,oc->no...", part[(slice(None), slice(None), *where)], kernels[(..., *k)])
        parts.append(y)
    y = np.concatenate(parts, 1)
    return y if bias is None else y + bias.reshape(-1, *[1] * axes)


def transposed_reference(
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> np.ndarray:
    axes = w.ndim - 2
    stride, padding, extra, dilation = (numbers(v, axes) for v in (stride, padding, output_padding, dilation))
    kernel, size = w.shape[2:], x.shape[2:]
    full = [
        (n - 1) * s + d * (k - 1) + 1 + e for n, s, d, k, e in zip(size, stride, dilation, kernel, extra, strict=True)
    ]
    parts = []
    for part, kernels in zip(np.split(x, groups, 1), np.split(w, groups, 0), strict=True):
        y = np.zeros((x.shape[0], w.shape[1], *full), x.dtype)
        for k, where in taps(kernel, size, stride, dilation):
            y[(slice(None), slice(None), *where)] += np.einsum("nc...,co->no...", part, kernels[(..., *k)])
        parts.append(y)
    y = np.concatenate(parts, 1)
    y = y[(slice(None), slice(None), *[slice(p, n - p) for p, n in zip(padding, full, strict=True)])]
    return y if bias is None else y + bias.reshape(-1, *[1] * axes)


SETTINGS: list[tuple[int, dict[str, Any]]] = [
    (1, {}),
    (1, {"stride": 3, "padding": 2, "dilation": 2}),
    (1, {"padding": "same", "dilation": 3}),
    (2, {}),
    (2, {"stride": (2, 1), "padding": (0, 2), "dilation": (1, 2)}),
    (2, {"groups": 2, "padding": 1}),
    (2, {"groups": 4, "stride": 2}),
    (2, {"padding": "same"}),
    (2, {"padding": "valid"}),
    (2, {"padding": 4}),
    (3, {"stride": 2, "padding": 1}),
    (3, {"groups": 2, "dilation": (1, 2, 1), "padding": (1, 0, 2)}),
]
TRANSPOSED_SETTINGS: list[tuple[int, dict[str, Any]]] = [
    (1, {}),
    (1, {"stride": 3, "padding": 1, "output_padding": 2}),
    (1, {"dilation": 3, "output_padding": 2}),
    (2, {"stride": (2, 3), "padding": (0, 1), "output_padding": (1, 0)}),
    (2, {"groups": 2, "stride": 2}),
    (2, {"padding": 2, "dilation": (2, 1)}),
    (3, {"stride": 2, "groups": 4}),
]
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "bfloat16": 3e-2, "float16": 4e-3}


def draw(rng: np.random.Generator, axes: int, groups: int, transposed: bool = False) -> list[np.ndarray]:
    size, kernel = (9, 8, 7)[:axes], (3, 2, 4)[:axes]
    channels = (4, 8 // groups) if transposed else (8, 4 // groups)
    return [rng.normal(size=(3, 4, *size)), rng.normal(size=(*channels, *kernel)), rng.normal(size=8)]


def rounded(arrays: list[np.ndarray], dtype: str) -> tuple[list[lm.Tensor], list[np.ndarray]]:
    """The arrays in a dtype, and what they became by that, in float64."""
    tensors = [lm.asarray(a).astype(dtype) for a in arrays]
    return tensors, [t.astype("float64").numpy() for t in tensors]


def close(got: lm.Tensor, expected: np.ndarray, dtype: str) -> None:
    assert got.dtype.name == dtype and got.shape == expected.shape
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(
        got.detach().astype("float64").numpy(),
        expected,
        rtol=tolerance,
        atol=tolerance * max(1, np.abs(expected).max()),
    )


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("axes", "setting"), SETTINGS, ids=str)
def test_values(axes: int, setting: dict[str, Any], dtype: str, rng: np.random.Generator) -> None:
    tensors, arrays = rounded(draw(rng, axes, setting.get("groups", 1)), dtype)
    close(FORWARD[axes](*tensors, **setting), reference(*arrays, **setting), dtype)
    close(FORWARD[axes](*tensors[:2], **setting), reference(*arrays[:2], **setting), dtype)
    close(FORWARD[axes](tensors[0][1], *tensors[1:], **setting), reference(*arrays, **setting)[1], dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("axes", "setting"), TRANSPOSED_SETTINGS, ids=str)
def test_transposed_values(axes: int, setting: dict[str, Any], dtype: str, rng: np.random.Generator) -> None:
    tensors, arrays = rounded(draw(rng, axes, setting.get("groups", 1), transposed=True), dtype)
    close(TRANSPOSED[axes](*tensors, **setting), transposed_reference(*arrays, **setting), dtype)
    close(TRANSPOSED[axes](tensors[0][1], *tensors[1:], **setting), transposed_reference(*arrays, **setting)[1], dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("axes", "setting"), [s for s in SETTINGS if s[0] != 3 or "groups" in s[1]], ids=str)
def test_gradients_are_those_of_float64(
    axes: int, setting: dict[str, Any], dtype: str, rng: np.random.Generator
) -> None:
    """float64 takes another way, which gradcheck looks at."""
    tensors, arrays = rounded(draw(rng, axes, setting.get("groups", 1)), dtype)
    grads = []
    for inputs in (tensors, [lm.asarray(a) for a in arrays]):
        leaves = [x.detach() for x in inputs]
        for x in leaves:
            x.stop_gradient = False
        y = FORWARD[axes](*leaves, **setting)
        seed = lm.asarray(np.cos(np.arange(y.size)).reshape(y.shape)).astype("bfloat16").astype(leaves[0].dtype)
        grads.append(lm.grad([y], leaves, grad_outputs=[seed]))
    for ours, exact in zip(*grads, strict=True):
        close(ours, exact.numpy(), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("size", [(127,), (128,), (300,), (12, 11), (9, 16), (5, 5, 6)], ids=str)
@pytest.mark.parametrize(("n", "c", "o"), [(1, 3, 5), (4, 17, 2), (3, 1, 1), (2, 300, 200)])
@pytest.mark.parametrize("setting", [{}, {"padding": 1}, {"stride": 2}, {"dilation": 2}], ids=str)
def test_kernels_of_one_element(
    n: int, c: int, o: int, size: tuple[int, ...], setting: dict[str, int], dtype: str, rng: np.random.Generator
) -> None:
    """Products, where the stride is 1, nothing is padded and there are many positions: sums of integers are exact."""
    axes, ones = len(size), (1,) * len(size)
    x, w, b = (rng.integers(-2, 3, shape).astype(dtype) for shape in ((n, c, *size), (o, c, *ones), (o,)))
    tensors = [lm.asarray(v) for v in (x, w, b)]
    for tensor in tensors:
        tensor.stop_gradient = False
    y = FORWARD[axes](*tensors, **setting)
    expected = reference(x.astype("float64"), w.astype("float64"), b.astype("float64"), **setting)
    np.testing.assert_array_equal(y.detach().numpy(), expected.astype(dtype))
    unbiased = FORWARD[axes](*(v.detach() for v in tensors[:2]), **setting)
    np.testing.assert_array_equal(unbiased.numpy(), (expected - b[:, *(None,) * axes]))
    dy = rng.integers(-1, 2, y.shape).astype(dtype)
    dx, dw, db = lm.grad(y, tensors, lm.asarray(dy))
    if not setting or "dilation" in setting:
        wide, flat = dy.astype("float64").reshape(n, o, -1), x.astype("float64").reshape(n, c, -1)
        np.testing.assert_array_equal(dx.numpy().reshape(n, c, -1), np.einsum("oc,nop->ncp", w.reshape(o, c), wide))
        np.testing.assert_array_equal(dw.numpy().reshape(o, c), np.einsum("nop,ncp->oc", wide, flat).astype(dtype))
        np.testing.assert_array_equal(db.numpy(), wide.sum((0, 2)))
        back = TRANSPOSED[axes](lm.asarray(dy), lm.asarray(w))
        np.testing.assert_array_equal(back.numpy(), dx.numpy())


def test_many_channels_and_sizes(rng: np.random.Generator) -> None:
    """Past the sizes of blocks and tiles."""
    for channels, outputs, size in [(17, 33, 13), (64, 16, 20), (1, 1, 300), (3, 64, 40)]:
        x, w = rng.normal(size=(2, channels, size, size)), rng.normal(size=(outputs, channels, 3, 3))
        for dtype in ("float32", "float64"):
            tensors, arrays = rounded([x, w], dtype)
            close(lm.conv2d(*tensors, padding=1), reference(*arrays, padding=1), dtype)


def test_strided_inputs(rng: np.random.Generator) -> None:
    x, w, b = draw(rng, 2, 1)
    expected = reference(x, w, b)
    for dtype in ("float32", "float64"):
        views = [lm.asarray(a.T.copy()).astype(dtype).T for a in (x, w)]
        assert all(v.strides[-1] != 1 for v in views)
        close(lm.conv2d(*views, lm.asarray(np.repeat(b, 2)).astype(dtype)[::2]), expected, dtype)


def test_empty() -> None:
    w = lm.ones([3, 2, 2])
    assert lm.conv1d(lm.ones([0, 2, 5]), w).shape == (0, 3, 4)
    assert lm.conv1d(lm.ones([1, 2, 5]), lm.ones([0, 2, 2])).shape == (1, 0, 4)
    y = lm.conv1d(lm.ones([1, 0, 5]), lm.ones([3, 0, 2]), lm.asarray([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(y.numpy(), np.broadcast_to([[[1.0], [2.0], [3.0]]], (1, 3, 4)))
    x = lm.tensor(np.ones((0, 2, 5), "float32"), stop_gradient=False)
    w.stop_gradient = False
    lm.conv1d(x, w).sum().backward()
    assert x.grad.shape == x.shape and (w.grad.numpy() == 0).all()
    assert lm.conv_transpose1d(lm.ones([0, 3, 5]), w.detach()).shape == (0, 2, 6)


def test_meta_and_promotion() -> None:
    y = lm.conv2d(lm.ones([2, 3, 5, 5], device="meta"), lm.ones([4, 3, 3, 3], device="meta"), stride=2)
    assert (y.shape, y.device) == ((2, 4, 2, 2), "meta")
    assert lm.conv1d(lm.ones([1, 1, 3]), lm.ones([1, 1, 2], dtype="float64")).dtype == lm.float64
    assert lm.conv1d(lm.ones([1, 1, 3]), lm.ones([1, 1, 2], dtype="int64")).dtype == lm.float32


def test_threads_get_the_same(rng: np.random.Generator) -> None:
    """Several threads use one cached primitive at a time."""
    x, w, _ = draw(rng, 2, 1)
    a, b = lm.asarray(x).astype("float32"), lm.asarray(w).astype("float32")
    expected = lm.conv2d(a, b, padding=1).numpy()
    results: list[np.ndarray] = []

    def work() -> None:
        for _ in range(20):
            results.append(lm.conv2d(a, b, padding=1).numpy())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)


def test_more_shapes_than_are_remembered(rng: np.random.Generator) -> None:
    w = lm.asarray(rng.normal(size=(1, 1, 3)).astype("float32"))
    for size in [*range(3, 303), 3, 4]:
        x = np.arange(size, dtype="float32")[None, None]
        np.testing.assert_allclose(lm.conv1d(lm.asarray(x), w).numpy(), reference(x, w.numpy()), rtol=1e-5, atol=1e-4)


def test_float64_has_the_same_bits_for_any_number_of_threads(rng: np.random.Generator) -> None:
    x, w, b = (lm.asarray(a) for a in draw(rng, 2, 2))
    for t in (x, w, b):
        t.stop_gradient = False

    def results() -> list[np.ndarray]:
        y = lm.conv2d(x, w, b, groups=2, padding=1)
        return [t.detach().numpy() for t in (y, *lm.grad([y.sum()], [x, w, b]))]

    expected = results()
    before = lm.get_num_threads()
    try:
        for count in (1, 2, 3, 7):
            lm.set_num_threads(count)
            for one, other in zip(expected, results(), strict=True):
                np.testing.assert_array_equal(one, other)
    finally:
        lm.set_num_threads(before)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"x": [3, 5]}, "2 spatial axes"),
    ({"weight": [4, 3, 3]}, "two axes of channels"),
    ({"weight": [4, 2, 3, 3]}, r"out, in / groups"),
    ({"weight": [4, 3, 0, 3]}, "kernel must be at least 1"),
    ({"weight": [4, 3, 6, 3]}, "does not fit into axis 2"),
    ({"bias": [3]}, r"bias must have the shape \[4\]"),
    ({"bias": [4, 1]}, "bias"),
    ({"groups": 2}, "out, in / groups"),
    ({"groups": 0}, "groups must be at least 1"),
    ({"groups": 3}, "do not divide"),
    ({"stride": 0}, "stride must be at least 1"),
    ({"stride": [1, 2, 3]}, "stride takes one number"),
    ({"stride": 2**40}, "32 bits"),
    ({"padding": -1}, "padding must be at least 0"),
    ({"padding": "full"}, "'same', 'valid'"),
    ({"padding": "same", "stride": 2}, "stride of 1"),
    ({"dilation": 0}, "dilation must be at least 1"),
    ({"dilation": 2**31 - 1}, "does not fit"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=str)
def test_bad_arguments(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"x": [2, 3, 5, 5], "weight": [4, 3, 3, 3]} | change
    for name in ("x", "weight", "bias"):
        if name in given:
            given[name] = lm.ones(given[name])
    with pytest.raises(ValueError, match=r"\[conv2d\].*" + message):
        lm.conv2d(**given)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"output_padding": 2, "stride": 2}, "output_padding must be less"),
        ({"padding": 4}, "would have the size"),
        ({"groups": 2}, "do not divide"),
        ({"output_padding": -1}, "output_padding must be at least 0"),
    ],
)
def test_bad_transposed_arguments(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"\[conv_transpose1d\].*" + message):
        lm.conv_transpose1d(lm.ones([1, 3, 4]), lm.ones([3, 2, 3]), **setting)
    with pytest.raises(ValueError, match="weight must have the shape"):
        lm.conv_transpose1d(lm.ones([1, 2, 4]), lm.ones([3, 2, 3]))


def test_wrong_types() -> None:
    x, w = lm.ones([1, 1, 3]), lm.ones([1, 1, 2])
    with pytest.raises(TypeError, match=r"\[conv1d\] does not take dtype bool"):
        lm.conv1d(x.astype("bool"), w.astype("bool"))
    with pytest.raises(TypeError, match=r"\[conv1d\] padding"):
        lm.conv1d(x, w, padding=1.5)
    with pytest.raises(TypeError, match=r"\[conv1d\] weight"):
        lm.conv1d(x, [1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"(cpu|cuda:0) and meta"):
        lm.conv1d(x, w.to("meta"))


def test_large_numbers_do_not_overflow() -> None:
    w = lm.asarray([[[1.0, 2.0]]])
    with pytest.raises(ValueError, match="padding must be at least 0 and fit into 32 bits"):
        lm.conv1d(lm.ones([1, 1, 4]), w, padding=2**31)
    assert lm.conv1d(lm.ones([1, 1, 4]), w, stride=2**31 - 1).tolist() == [[[3.0]]]
    empty = lm.broadcast_to(lm.ones([0, 1, 1]), [0, 1, 2**62])
    with pytest.raises(ValueError, match="overflows"):
        lm.conv_transpose1d(empty, w, stride=100)
    assert lm.conv1d(empty, w).shape == (0, 1, 2**62 - 1)


@pytest.mark.parametrize("mapped", [(0, 0), (0, None), (None, 0)], ids=str)
@pytest.mark.parametrize("groups", [1, 2])
def test_vmap_of_float32(mapped: tuple[int | None, int | None], groups: int, rng: np.random.Generator) -> None:
    """The mapped axis becomes examples, channels or groups; each of the three maps, and all their gradients."""
    x = rng.normal(size=(5, 2, 4, 6, 6)).astype("float32")
    w = rng.normal(size=(5, 4, 4 // groups, 3, 3)).astype("float32")
    given = [a if axis == 0 else a[0] for a, axis in zip((x, w), mapped, strict=True)]

    def gradients(a: lm.Tensor, b: lm.Tensor) -> tuple[lm.Tensor, ...]:
        a, b = a.detach(), b.detach()
        a.stop_gradient = b.stop_gradient = False
        y = lm.conv2d(a, b, padding=1, groups=groups)
        return y.detach(), *lm.grad([(y * y).sum()], [a, b])

    got = lm.autograd.vmap(gradients, in_axes=mapped)(*[lm.asarray(a) for a in given])
    for i in range(5):
        own = [lm.asarray(a[i] if axis == 0 else a) for a, axis in zip(given, mapped, strict=True)]
        for all_of, one in zip(got, gradients(*own), strict=True):
            np.testing.assert_allclose(all_of.numpy()[i], one.numpy(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_complex_convolutions(axes: int, transposed: bool, rng: np.random.Generator) -> None:
    name = f"conv_transpose{axes}d" if transposed else f"conv{axes}d"
    convolve = getattr(lm, name)
    x, w, b = complex_numbers(rng, 2, 2, *[4] * axes), complex_numbers(rng, 2, 2, *[2] * axes), complex_numbers(rng, 2)

    def of_parts(a: np.ndarray, k: np.ndarray) -> np.ndarray:
        return convolve(lm.asarray(a), lm.asarray(k), stride=2, padding=1).numpy()

    wanted = (
        of_parts(x.real, w.real) - of_parts(x.imag, w.imag) + 1j * (of_parts(x.real, w.imag) + of_parts(x.imag, w.real))
    )
    wanted = wanted + b.reshape(2, *[1] * axes)
    leaves = [lm.tensor(v, stop_gradient=False) for v in (x, w, b)]
    y = convolve(*leaves, stride=2, padding=1)
    np.testing.assert_allclose(y.detach().numpy(), wanted, rtol=1e-12, atol=1e-12)
    # Real arguments beside complex ones.
    mixed = convolve(lm.asarray(x.real.copy()), leaves[1], stride=2, padding=1)
    np.testing.assert_allclose(
        mixed.detach().numpy(), of_parts(x.real, w.real) + 1j * of_parts(x.real, w.imag), rtol=1e-12, atol=1e-12
    )
    with pytest.raises(ValueError, match=rf"\[{name}\] bias must have the shape \[2\]"):
        convolve(leaves[0], leaves[1], lm.ones([3], dtype="complex128"))
    if axes == 1:
        weights = complex_numbers(rng, *y.shape)
        grads = lm.grad([y], leaves[:2], [lm.asarray(weights)])
        for i, grad in enumerate(grads):
            given = [x, w]

            def of_one(a: np.ndarray, i: int = i, given: Sequence[np.ndarray] = given) -> np.ndarray:
                args = [a if k == i else v for k, v in enumerate(given)]
                return convolve(*[lm.asarray(v) for v in args], stride=2, padding=1).numpy()

            np.testing.assert_allclose(grad.numpy(), slope(of_one, given[i], weights), rtol=1e-6, atol=1e-8)


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_convolutions_of_integers(axes: int, dtype: str, rng: np.random.Generator) -> None:
    x, w, b = integers(rng, dtype, 2, 4, *[5] * axes), integers(rng, dtype, 6, 2, *[2] * axes), integers(rng, dtype, 6)
    setting: dict[str, Any] = {"stride": 2, "padding": 1, "groups": 2}
    exact = [lm.asarray(a.astype("float64")) for a in (x, w, b)]
    y = getattr(lm, f"conv{axes}d")(*[lm.asarray(a) for a in (x, w, b)], **setting)
    assert y.dtype.name == dtype
    wanted = getattr(lm, f"conv{axes}d")(*exact, **setting).numpy()
    np.testing.assert_array_equal(y.numpy(), wanted.astype("int64").astype(dtype))
    back = getattr(lm, f"conv_transpose{axes}d")
    w_back = integers(rng, dtype, 4, 3, *[2] * axes)
    y = back(lm.asarray(x), lm.asarray(w_back), lm.asarray(integers(rng, dtype, 6) * 0), **setting)
    wanted = back(exact[0], lm.asarray(w_back.astype("float64")), **setting).numpy()
    assert y.dtype.name == dtype
    np.testing.assert_array_equal(y.numpy(), wanted.astype("int64").astype(dtype))


def test_convolutions_of_integers_wrap_around_and_broadcast_dtypes() -> None:
    x = lm.asarray(np.array([[[100, 100, 100]]], "int8"))
    assert lm.conv1d(x, lm.ones([1, 1, 2], dtype="int8")).tolist() == [[[-56, -56]]]
    big = lm.asarray([[[2**62, 2**62]]])
    assert lm.conv1d(big, lm.ones([1, 1, 2], dtype="int64"), lm.asarray([-1])).tolist() == [[[2**63 - 1]]]
    assert lm.conv1d(x, lm.ones([1, 1, 1], dtype="int32")).dtype.name == "int32"
    assert lm.conv1d(lm.ones([0, 1, 3], dtype="int64"), lm.ones([2, 1, 2], dtype="int64")).shape == (0, 2, 2)
    assert lm.autograd.vmap(lm.conv1d)(x[None], lm.ones([1, 1, 1, 2], dtype="int8")).tolist() == [[[[-56, -56]]]]


#: Shapes with more outputs than a sum of products takes at once, the kernels' shapes, and settings.
LONG: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, int]]] = [
    ((1, 1, 600_001), (2, 1, 3), {"stride": 2, "padding": 3, "dilation": 2}),
    ((1, 2, 401, 1303), (2, 1, 3, 2), {"padding": 2, "dilation": 3, "groups": 2}),
    ((5, 1, 300, 301), (1, 1, 2, 3), {"padding": 1}),
    ((1, 1, 60, 71, 170), (1, 1, 3, 2, 2), {"padding": 2, "stride": 1}),
]


LARGE = pytest.mark.skipif(not ON_CPU, reason="millions of places take minutes on an emulated device")


@LARGE
@pytest.mark.parametrize(
    ("shape", "kernel", "setting", "dtype"),
    [(*case, "float32") for case in LONG] + [(*LONG[0], dtype) for dtype in ("bfloat16", "float16")],
    ids=str,
)
def test_gradients_of_kernels_that_meet_many_places(
    shape: tuple[int, ...], kernel: tuple[int, ...], setting: dict[str, int], dtype: str, rng: np.random.Generator
) -> None:
    """The sums are taken in parts: each part reads the inputs that its outputs met."""
    conv = FORWARD[len(shape) - 2]
    x = lm.tensor(rng.standard_normal(shape), dtype=dtype)
    w = lm.tensor(rng.standard_normal(kernel), dtype=dtype, stop_gradient=False)
    wide = w.detach().astype("float64")
    wide.stop_gradient = False
    y = conv(x, w, **setting)
    dy = lm.tensor(rng.standard_normal(y.shape), dtype=dtype)
    found = lm.grad(y, w, grad_outputs=dy).astype("float64").numpy()
    exact = lm.grad(conv(x.astype("float64"), wide, **setting), wide, grad_outputs=dy.astype("float64")).numpy()
    scale = np.sqrt(y.size / y.shape[1])  # the size of a sum of so many random numbers
    np.testing.assert_allclose(found, exact, atol=scale * (2e-5 if dtype == "float32" else 0.02))


@LARGE
def test_a_kernel_that_meets_four_million_places() -> None:
    """A float32 that 1.3 is added to one after the other is 2 % off by then."""
    w = lm.zeros([1, 1, 3, 3])
    w.stop_gradient = False
    y = lm.conv2d(lm.full([1, 1, 2000, 2000], 1.3), w)
    np.testing.assert_allclose(lm.grad(y.sum(), w).numpy() / y.size, np.full([1, 1, 3, 3], 1.3), rtol=4e-3)
