"""Normalizations on CUDA: a launch forward, and a few for all gradients."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm
from support import default_device, emulation

pytestmark = pytest.mark.skipif(default_device.DEVICE != "cuda", reason="the default device is not CUDA")
emulated = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")

TOLERANCE = {"float32": 3e-5, "float64": 1e-12, "float16": 6e-3, "bfloat16": 5e-2}
#: Shapes and numbers of groups; planes of one element, groups of one channel, sizes that fill no block, and more.
SHAPES = [
    ((1, 1, 2), 1),
    ((3, 4), 2),
    ((2, 6, 5), 3),
    ((5, 6, 1, 1), 2),
    ((2, 3, 7, 9), 3),
    ((2, 8, 3, 5, 2), 2),
    ((1, 40, 33), 4),
    ((70, 35, 2), 5),
    ((2, 4, 40, 41), 2),
]


def by_hand(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, dy: np.ndarray, groups: int, eps: float = 1e-5
) -> list[np.ndarray]:
    """The result and the gradients of x, weight and bias."""
    rows = x.reshape(x.shape[0], groups, -1)
    rstd = 1 / np.sqrt(rows.var(-1, keepdims=True) + eps)
    normal = ((rows - rows.mean(-1, keepdims=True)) * rstd).reshape(x.shape)
    along = (1, -1, *[1] * (x.ndim - 2))
    others = (0, *range(2, x.ndim))
    slopes = (dy * weight.reshape(along)).reshape(rows.shape)
    h = normal.reshape(rows.shape)
    dx = rstd * (slopes - slopes.mean(-1, keepdims=True) - h * (slopes * h).mean(-1, keepdims=True))
    return [
        normal * weight.reshape(along) + bias.reshape(along),
        dx.reshape(x.shape),
        (dy * normal).sum(others),
        dy.sum(others),
    ]


def check(shape: tuple[int, ...], groups: int, dtype: str, mean: float = 0.5, rtol: float | None = None) -> None:
    generator = np.random.default_rng(3)
    x = lm.asarray(generator.normal(mean, 1, shape)).astype(dtype)
    dy = lm.asarray(generator.normal(size=shape)).astype(dtype)
    weight, bias = (lm.asarray(generator.uniform(0.5, 2, shape[1])).astype(dtype) for _ in range(2))
    exact = [t.astype("float64").numpy() for t in (x, weight, bias, dy)]
    want = by_hand(*exact, groups=groups)
    for tensor in (x, weight, bias):
        tensor.stop_gradient = False
    y = lm.group_norm(x, groups, weight, bias)
    for got, expected in zip([y, *lm.grad([y], [x, weight, bias], [dy])], want, strict=True):
        assert got.dtype == x.dtype
        allowed = (rtol or TOLERANCE[dtype]) * max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(got.detach().astype("float64").numpy(), expected, atol=allowed)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("shape", "groups"), SHAPES, ids=str)
def test_group_norm_and_its_gradients(shape: tuple[int, ...], groups: int, dtype: str) -> None:
    check(shape, groups, dtype)


def test_a_mean_that_is_large_beside_the_deviations() -> None:
    check((3, 4, 50), 2, "float32", mean=1e4, rtol=1e-4)
    check((2, 4, 40, 41), 2, "float32", mean=-1e4, rtol=1e-4)


def test_instance_norm_and_layouts() -> None:
    generator = np.random.default_rng(5)
    given = generator.normal(size=(4, 5, 6, 3))
    ones, zeros = np.ones(6), np.zeros(6)
    x = lm.asarray(given).permute_dims([0, 2, 1, 3]).detach()
    slopes = generator.normal(size=(4, 6, 5, 3))
    want = by_hand(given.transpose(0, 2, 1, 3), ones, zeros, slopes, groups=6)
    x.stop_gradient = False
    y = lm.instance_norm(x)
    np.testing.assert_allclose(y.detach().numpy(), want[0], atol=1e-12)
    dy = lm.asarray(slopes.transpose(3, 2, 1, 0).copy()).permute_dims([3, 2, 1, 0])
    np.testing.assert_allclose(lm.grad([y], [x], [dy])[0].numpy(), want[1], atol=1e-12)


def test_weights_of_which_one_is_left_out_or_wants_no_gradient() -> None:
    generator = np.random.default_rng(6)
    x, dy, w = (generator.normal(size=s) for s in ((3, 4, 7), (3, 4, 7), (4,)))
    for has_weight, has_bias, frozen in ((1, 0, 0), (0, 1, 0), (0, 0, 0), (1, 1, 1)):
        want = by_hand(x, w if has_weight else np.ones(4), w if has_bias else np.zeros(4), dy, 2)
        tensors = [lm.asarray(v) for v in (x, w, w)]
        for tensor in tensors:
            tensor.stop_gradient = False
        tensors[1].stop_gradient = bool(frozen)
        y = lm.group_norm(tensors[0], 2, tensors[1] if has_weight else None, tensors[2] if has_bias else None)
        wanted = [0] + [1] * (has_weight and not frozen) + [2] * has_bias
        grads = lm.grad([y], [tensors[i] for i in wanted], [lm.asarray(dy)])
        for i, got in zip(wanted, grads, strict=True):
            np.testing.assert_allclose(got.numpy(), want[1 + i], atol=1e-12)


def test_derivatives_of_the_gradient() -> None:
    x, w = lm.rand([2, 4, 3], dtype="float64"), lm.rand([4], dtype="float64")
    for tensor in (x, w):
        tensor.stop_gradient = False
    assert lm.autograd.gradcheck(lambda x, w, b: lm.group_norm(x, 2, w, b), (x, w, w + 1))
    assert lm.autograd.gradgradcheck(lambda x, w, b: lm.group_norm(x, 2, w, b), (x, w, w + 1))


def test_empty_batches() -> None:
    x = lm.ones([0, 4, 3])
    x.stop_gradient = False
    y = lm.group_norm(x, 2, lm.ones([4]), lm.zeros([4]))
    assert y.shape == (0, 4, 3) and lm.grad([y.sum()], [x])[0].shape == (0, 4, 3)


@pytest.mark.parametrize("rows", [511, 513, 3000])
def test_gradients_of_weights_over_many_rows(rows: int) -> None:
    generator = np.random.default_rng(7)
    x, dy = (generator.normal(size=(rows, 5)).astype("float32") for _ in range(2))
    given = [lm.asarray(v) for v in (x, np.ones(5, "float32"), np.zeros(5, "float32"))]
    for tensor in given:
        tensor.stop_gradient = False
    grads = lm.grad([lm.layer_norm(given[0], 5, given[1], given[2])], given, [lm.asarray(dy)])
    normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(grads[1].numpy(), (dy * normal).sum(0, dtype="float64"), atol=2e-4)
    np.testing.assert_allclose(grads[2].numpy(), dy.sum(0, dtype="float64"), atol=2e-4)


@emulated
def test_group_norm_is_one_launch_and_its_gradients_three() -> None:
    tensors = [lm.rand([3, 4, 5]), lm.ones([4]), lm.zeros([4])]
    for tensor in tensors:
        tensor.stop_gradient = False
    for call in (lambda x, w, b: lm.group_norm(x, 2, w, b), lm.instance_norm):
        with emulation.counted() as forward:
            y = call(*tensors)
        dy = lm.ones_like(y)
        with emulation.counted() as backward:
            lm.grad([y], tensors, [dy])
        assert forward == {"launches": 1} and backward == {"launches": 3}


@emulated
def test_results_do_not_depend_on_the_order_of_threads() -> None:
    def found() -> list[bytes]:
        tensors = [lm.asarray(v) for v in (x, w, w)]
        for tensor in tensors:
            tensor.stop_gradient = False
        y = lm.group_norm(tensors[0], 3, tensors[1], tensors[2])
        return [t.detach().numpy().tobytes() for t in [y, *lm.grad([y.sum()], tensors)]]

    generator = np.random.default_rng(8)
    x, w = generator.normal(size=(4, 6, 37)).astype("float32"), generator.normal(size=6).astype("float32")
    first = found()
    with emulation.reversed_order():
        assert found() == first


def agree_with_the_cpu(
    function: str, shape: tuple[int, ...], dtype: str, scale: float = 1.0, tolerance: float = 0.0
) -> None:
    """Compares the result and the gradients of x and weight of a normalization or softmax over one axis."""
    generator = np.random.default_rng(5)
    given = [generator.normal(0.5, 1, shape) * scale, generator.normal(size=shape), generator.uniform(0.5, 2, shape[1])]
    found = []
    for device in ("cuda", "cpu"):
        x, dy, weight = (lm.asarray(array, dtype="float64", device=device).astype(dtype) for array in given)
        x.stop_gradient = weight.stop_gradient = False
        y = {
            "batch_norm": lambda x=x, weight=weight: lm.nn.functional.batch_norm(x, None, None, weight, training=True),
            "layer_norm": lambda x=x, weight=weight: lm.layer_norm(x, [shape[1]], weight),
            "rms_norm": lambda x=x, weight=weight: lm.rms_norm(x, [shape[1]], weight),
            "softmax": lambda x=x, weight=weight: lm.softmax(x, axis=1) * weight,
            "log_softmax": lambda x=x, weight=weight: lm.log_softmax(x, axis=1) * weight,
        }[function]()
        grads = lm.grad([y], [x, weight], [dy])
        found.append([t.detach().astype("float64").numpy() for t in (y, *grads)])
    for got, want in zip(*found, strict=True):
        allowed = (tolerance or TOLERANCE[dtype]) * max(np.abs(want).max(), 1e-30)
        np.testing.assert_allclose(got, want, rtol=0, atol=allowed)


#: Channels of one part and of several, whose last one is short, with squares beyond the range of float32 and below it.
@pytest.mark.parametrize("scale", [1.0, 1e25, 1e-25])
@pytest.mark.parametrize("shape", [(5, 3, 6), (16, 3, 24, 24), (7, 2, 31, 41), (40, 600, 3, 4), (3, 1, 30001)], ids=str)
def test_channels_of_several_parts(shape: tuple[int, ...], scale: float) -> None:
    agree_with_the_cpu("batch_norm", shape, "float32", scale)
    agree_with_the_cpu("batch_norm", shape, "float64", scale)


#: Rows that threads hold in registers, whole and in part, and longer ones.
@pytest.mark.parametrize("width", [3, 31, 2048, 2049, 4096, 4097, 20001])
@pytest.mark.parametrize("function", ["layer_norm", "rms_norm", "softmax", "log_softmax"])
def test_rows_of_any_length(function: str, width: int) -> None:
    for dtype in TOLERANCE:
        agree_with_the_cpu(function, (3, width), dtype)
