"""Normalization against the formulas in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from ..fused import FUSED, check_both, gradients

FLOATS = ("float16", "bfloat16", "float32", "float64")
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "bfloat16": 3e-2, "float16": 4e-3}
Function = Callable[..., Any]


def normalized(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-5, centered: bool = True) -> np.ndarray:
    if centered:
        x = x - x.mean(axes, keepdims=True)
    return x / np.sqrt((x**2).mean(axes, keepdims=True) + eps)


def channels(w: Any, x: Any) -> Any:
    return w.reshape(1, -1, *[1] * (x.ndim - 2))


def grouped(x: np.ndarray, groups: int) -> np.ndarray:
    parts = x.reshape(x.shape[0], groups, -1)
    return normalized(parts, (2,)).reshape(x.shape)


def behind(x: np.ndarray) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


#: A name: the operator, the same in numpy, the shape of x, and the shape of weight and bias (None: no bias).
CASES: dict[str, tuple[Function, Function, tuple[int, ...], tuple[int, ...], bool]] = {
    "layer": (
        lambda x, w, b: lm.layer_norm(x, x.shape[-1], w, b),
        lambda x, w, b: normalized(x, (-1,)) * w + b,
        (6, 37),
        (37,),
        True,
    ),
    "layer of several axes": (
        lambda x, w, b: lm.layer_norm(x, x.shape[1:], w, b),
        lambda x, w, b: normalized(x, (1, 2)) * w + b,
        (3, 4, 5),
        (4, 5),
        True,
    ),
    "long layer": (
        lambda x, w, b: lm.layer_norm(x, x.shape[-1], w, b, eps=0.1),
        lambda x, w, b: normalized(x, (-1,), 0.1) * w + b,
        (40, 3000),
        (3000,),
        True,
    ),
    "rms": (
        lambda x, w: lm.rms_norm(x, x.shape[-1], w, 1e-5),
        lambda x, w: normalized(x, (-1,), centered=False) * w,
        (2, 3, 70),
        (70,),
        False,
    ),
    "group": (
        lambda x, w, b: lm.group_norm(x, 2, w, b),
        lambda x, w, b: grouped(x, 2) * channels(w, x) + channels(b, x),
        (3, 4, 5, 6),
        (4,),
        True,
    ),
    "group of a matrix": (
        lambda x, w, b: lm.group_norm(x, 2, w, b),
        lambda x, w, b: grouped(x, 2) * channels(w, x) + channels(b, x),
        (3, 8),
        (8,),
        True,
    ),
    "instance": (
        lambda x, w, b: lm.instance_norm(x, w, b),
        lambda x, w, b: normalized(x, behind(x)) * channels(w, x) + channels(b, x),
        (2, 3, 4, 5, 2),
        (3,),
        True,
    ),
    "batch": (
        lambda x, w, b: lm.batch_norm(x, weight=w, bias=b, training=True),
        lambda x, w, b: normalized(x, (0, *behind(x))) * channels(w, x) + channels(b, x),
        (4, 3, 33, 50),
        (3,),
        True,
    ),
    "batch of a matrix": (
        lambda x, w, b: lm.batch_norm(x, weight=w, bias=b, training=True),
        lambda x, w, b: normalized(x, (0, *behind(x))) * channels(w, x) + channels(b, x),
        (9, 3),
        (3,),
        True,
    ),
    "evaluated batch": (
        lambda x, w, b: lm.batch_norm(x, b * 0.5, w * w + 1, w, b),
        lambda x, w, b: (
            channels(w, x) * (x - channels(b, x) / 2) / np.sqrt(channels(w, x) ** 2 + 1 + 1e-5) + channels(b, x)
        ),
        (4, 3, 5, 7),
        (3,),
        True,
    ),
}


def draw(name: str, rng: np.random.Generator) -> list[np.ndarray]:
    _, _, shape, weights, bias = CASES[name]
    arrays = [rng.normal(size=shape) * 2 + 3, rng.normal(size=weights)]
    return [*arrays, rng.normal(size=weights)] if bias else arrays


def rounded(arrays: list[np.ndarray], dtype: str) -> tuple[list[lm.Tensor], list[np.ndarray]]:
    tensors = [lm.asarray(a).astype(dtype) for a in arrays]
    return tensors, [t.astype("float64").numpy() for t in tensors]


def close(got: lm.Tensor, expected: np.ndarray, dtype: str) -> None:
    assert got.dtype.name == dtype and got.shape == expected.shape
    tolerance = TOLERANCE[dtype]
    got64 = got.detach().astype("float64").numpy()
    np.testing.assert_allclose(got64, expected, rtol=tolerance, atol=tolerance * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, dtype: str, rng: np.random.Generator) -> None:
    function, reference, *_ = CASES[name]
    tensors, arrays = rounded(draw(name, rng), dtype)
    close(function(*tensors), reference(*arrays), dtype)
    strided = lm.asarray(arrays[0].T.copy()).astype(dtype).T
    close(function(strided, *tensors[1:]), reference(*arrays), dtype)


@pytest.mark.parametrize("name", CASES)
def test_fused_gradients_are_those_of_operators(name: str, rng: np.random.Generator) -> None:
    """A recorded gradient is made of operators, which the gradient checks look at; the usual one is a kernel."""
    function = CASES[name][0]
    arrays = draw(name, rng)
    for dtype in ("float64", "float32"):
        tensors, _ = rounded(arrays, dtype)
        for wanted in ((True, True, True), (True, False, False), (False, True, False), (True, False, True)):
            leaves = [t.detach() for t in tensors]
            for leaf, want in zip(leaves, wanted, strict=False):
                leaf.stop_gradient = not want
            inputs = [leaf for leaf in leaves if not leaf.stop_gradient]
            y = function(*leaves)
            seed = lm.asarray(rng.normal(size=y.shape)).astype(dtype)
            fused = lm.grad([y], inputs, grad_outputs=[seed], retain_graph=True)
            recorded = lm.grad([y], inputs, grad_outputs=[seed], create_graph=True)
            for a, b in zip(fused, recorded, strict=True):
                close(a, b.detach().astype("float64").numpy(), dtype)


def test_without_weights(rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 4, 5))
    t = lm.asarray(x)
    w = rng.normal(size=4)
    tw = lm.asarray(w)
    for got, expected in [
        (lm.layer_norm(t, 5), normalized(x, (2,))),
        (lm.layer_norm(t, 5, None, lm.asarray(x[0, 0])), normalized(x, (2,)) + x[0, 0]),
        (lm.layer_norm(t, 5, lm.asarray(x[0, 0])), normalized(x, (2,)) * x[0, 0]),
        (lm.rms_norm(t, (4, 5)), normalized(x, (1, 2), np.finfo("float64").eps, centered=False)),
        (lm.group_norm(t, 4), normalized(x, (2,))),
        (lm.group_norm(t, 1, tw), normalized(x, (1, 2)) * w[:, None]),
        (lm.instance_norm(t, bias=tw), normalized(x, (2,)) + w[:, None]),
        (lm.batch_norm(t, training=True), normalized(x, (0, 2))),
        (lm.batch_norm(t, tw, tw * tw), (x - w[:, None]) / np.sqrt(w[:, None] ** 2 + 1e-5)),
    ]:
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-10, atol=1e-10)
    for dtype, spacing in (("float32", 2**-23), ("float16", 2**-10), ("bfloat16", 2**-7)):
        small = lm.full([2, 4], 0.01).astype(dtype)
        exact = small.astype("float64").numpy()
        close(lm.rms_norm(small, 4), exact / np.sqrt(exact**2 + spacing), dtype)


def test_far_from_zero(rng: np.random.Generator) -> None:
    """The variance of numbers with a common large part is not lost."""
    noise = rng.normal(size=(4, 8, 64))
    x = (1000 + noise).astype("float32")
    exact = x.astype("float64")
    for got, axes in [
        (lm.layer_norm(lm.asarray(x), 64), (2,)),
        (lm.group_norm(lm.asarray(x), 8), (2,)),
        (lm.batch_norm(lm.asarray(x), training=True), (0, 2)),
    ]:
        np.testing.assert_allclose(got.numpy(), normalized(exact, axes), atol=3e-3)


def test_running_statistics(rng: np.random.Generator) -> None:
    x = rng.normal(size=(6, 3, 4)) + 2
    mean, var = lm.asarray([1.0, 2.0, 3.0], dtype="float64"), lm.ones([3], dtype="float64")
    lm.batch_norm(lm.asarray(x), mean, var, training=True, momentum=0.25)
    np.testing.assert_allclose(mean.numpy(), 0.75 * np.array([1, 2, 3]) + 0.25 * x.mean((0, 2)))
    np.testing.assert_allclose(var.numpy(), 0.75 + 0.25 * x.var((0, 2), ddof=1))
    before = mean.numpy().copy()
    lm.batch_norm(lm.asarray(x), mean, var)
    np.testing.assert_array_equal(mean.numpy(), before)
    # Only one of them, in another dtype, beside a gradient.
    half = lm.zeros([3], dtype="float32")
    leaf = lm.tensor(x, stop_gradient=False)
    y = lm.batch_norm(leaf, half, None, training=True, momentum=1.0)
    np.testing.assert_allclose(half.numpy(), x.mean((0, 2)), rtol=1e-6)
    assert half.stop_gradient and not y.stop_gradient
    lm.batch_norm(lm.ones([0, 3, 4]), mean, var, training=True)
    np.testing.assert_array_equal(mean.numpy(), before)


def test_running_statistics_of_instances(rng: np.random.Generator) -> None:
    """Those of each example, and of them the mean; the variance is the unbiased one."""
    x = rng.normal(size=(6, 3, 4)) + 2
    w, b = rng.normal(size=(2, 3))
    mean, var = lm.asarray([1.0, 2.0, 3.0], dtype="float64"), lm.ones([3], dtype="float64")
    leaf = lm.tensor(x, stop_gradient=False)
    y = lm.instance_norm(leaf, lm.asarray(w), lm.asarray(b), running_mean=mean, running_var=var, momentum=0.25)
    expected = normalized(x, (2,)) * w[:, None] + b[:, None]
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mean.numpy(), 0.75 * np.array([1, 2, 3]) + 0.25 * x.mean(2).mean(0))
    np.testing.assert_allclose(var.numpy(), 0.75 + 0.25 * x.var(2, ddof=1).mean(0))
    assert mean.stop_gradient and not y.stop_gradient
    before = mean.numpy().copy()
    got = lm.instance_norm(
        leaf, lm.asarray(w), lm.asarray(b), running_mean=mean, running_var=var, use_input_stats=False
    )
    by_hand = (x - mean.numpy()[:, None]) / np.sqrt(var.numpy()[:, None] + 1e-5) * w[:, None] + b[:, None]
    np.testing.assert_allclose(got.detach().numpy(), by_hand, rtol=1e-12)
    np.testing.assert_array_equal(mean.numpy(), before)
    # One of them alone, in another dtype; an empty batch changes nothing; one element is enough without x's own.
    half = lm.zeros([3], dtype="float32")
    lm.instance_norm(leaf, running_mean=half, momentum=1.0)
    np.testing.assert_allclose(half.numpy(), x.mean(2).mean(0), rtol=1e-6)
    lm.instance_norm(lm.ones([0, 3, 4]), running_mean=half)
    np.testing.assert_allclose(half.numpy(), x.mean(2).mean(0), rtol=1e-6)
    one = lm.instance_norm(lm.ones([2, 3, 1]), running_mean=half, running_var=lm.ones([3]), use_input_stats=False)
    assert one.shape == (2, 3, 1)


def test_mixed_dtypes(rng: np.random.Generator) -> None:
    """x's dtype stays; numbers of more precision are used as they are."""
    x = lm.asarray(rng.normal(size=(2, 4, 3))).astype("bfloat16")
    w = lm.asarray([1.001, 2, 3, 4], dtype="float32")
    y = lm.batch_norm(x, lm.zeros([4]), lm.ones([4]), w, w)
    assert y.dtype == lm.bfloat16
    assert lm.group_norm(x, 2, w, w).dtype == lm.bfloat16
    assert lm.layer_norm(lm.ones([2, 4]), 4, w.astype("float64")).dtype == lm.float32


@pytest.mark.parametrize("name", CASES)
def test_empty_and_meta(name: str, rng: np.random.Generator) -> None:
    function = CASES[name][0]
    tensors, _ = rounded(draw(name, rng), "float32")
    none = tensors[0][:0].detach()
    for each in (none, *tensors[1:]):
        each.stop_gradient = False
    y = function(none, *tensors[1:])
    assert y.shape == none.shape
    y.sum().backward()
    assert none.grad.shape == none.shape
    assert all(not each.grad.numpy().any() for each in tensors[1:])
    meta = function(*[t.to("meta") for t in tensors])
    assert (meta.shape, meta.dtype, meta.device) == (tensors[0].shape, lm.float32, "meta")


def test_the_same_bits_for_any_number_of_threads(rng: np.random.Generator) -> None:
    leaves = [
        lm.tensor(rng.normal(size=s).astype("float32"), stop_gradient=False) for s in ((300, 700), (700,), (700,))
    ]
    image = lm.tensor(rng.normal(size=(8, 16, 30, 30)).astype("float32"), stop_gradient=False)

    def results() -> list[np.ndarray]:
        y = lm.layer_norm(leaves[0], 700, leaves[1], leaves[2])
        z = lm.batch_norm(image, training=True)
        grads = (*lm.grad([(y * y).sum()], leaves), *lm.grad([(z * z * z).sum()], [image]))
        return [a.detach().numpy() for a in (y, z, *grads)]

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
    (lambda x: lm.layer_norm(x, 4), r"\[layer_norm\] normalized_shape must be the last sizes"),
    (lambda x: lm.layer_norm(x, [5, 2, 4, 3]), r"\[layer_norm\] normalized_shape"),
    (lambda x: lm.layer_norm(x, []), r"\[layer_norm\] normalized_shape"),
    (lambda x: lm.layer_norm(x, 3, lm.ones([4])), r"\[layer_norm\] weight must have the shape \[3\]"),
    (lambda x: lm.layer_norm(x, 3, None, lm.ones([1, 3])), r"\[layer_norm\] bias"),
    (lambda x: lm.rms_norm(x, [2, 3]), r"\[rms_norm\] normalized_shape"),
    (lambda x: lm.group_norm(x, 3), r"\[group_norm\] num_groups must divide the 4 channels"),
    (lambda x: lm.group_norm(x, 0), r"\[group_norm\] num_groups"),
    (lambda x: lm.group_norm(x[0, 0], 1), r"\[group_norm\] x must be"),
    (lambda x: lm.group_norm(x, 2, lm.ones([3])), r"\[group_norm\] weight"),
    (lambda x: lm.instance_norm(x[:, :, :1]), r"\[instance_norm\] each channel needs more than one"),
    (lambda x: lm.instance_norm(x[:, :, 0]), r"\[instance_norm\]"),
    (lambda x: lm.instance_norm(x, use_input_stats=False), r"\[instance_norm\] without use_input_stats running_mean"),
    (lambda x: lm.instance_norm(x, running_mean=lm.ones([3])), r"\[instance_norm\] running_mean must have the shape"),
    (lambda x: lm.batch_norm(x), r"\[batch_norm\] outside of training running_mean"),
    (lambda x: lm.batch_norm(x, lm.ones([4])), r"\[batch_norm\] outside of training"),
    (lambda x: lm.batch_norm(x, lm.ones([3]), lm.ones([4])), r"\[batch_norm\] running_mean must have the shape \[4\]"),
    (lambda x: lm.batch_norm(x[:1, :, 0], training=True), r"\[batch_norm\] training needs more than one"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_arguments(call: Callable[[lm.Tensor], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(lm.ones([2, 4, 3]))


def test_wrong_dtypes_and_devices() -> None:
    x = lm.ones([2, 4])
    with pytest.raises(TypeError, match=r"\[layer_norm\] does not take dtype int64"):
        lm.layer_norm(x.astype("int64"), 4)
    with pytest.raises(TypeError, match=r"\[group_norm\] does not take dtype complex64"):
        lm.group_norm(x.astype("complex64"), 2)
    with pytest.raises(TypeError, match=r"\[batch_norm\] does not take dtype int64"):
        lm.batch_norm(x, lm.zeros([4]), lm.ones([4], dtype="int64"))
    with pytest.raises(RuntimeError, match=r"\[layer_norm\] got tensors on"):
        lm.layer_norm(x, 4, lm.ones([4], device="meta"))


def test_running_statistics_have_no_room_for_examples() -> None:
    mean, var = lm.zeros([2]), lm.ones([2])
    with pytest.raises(RuntimeError, match="under vmap"):
        lm.autograd.vmap(lambda x: lm.batch_norm(x, mean, var, training=True))(lm.ones([3, 4, 2]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 3), (70, 5), (300, 40), (5, 3, 2), (33, 4, 7), (3000, 10)])
@pytest.mark.parametrize("weights", [True, False])
def test_batch_norm_of_small_planes(
    shape: tuple[int, ...], weights: bool, dtype: str, rng: np.random.Generator
) -> None:
    x = rng.normal(size=shape) * 3 + 5
    w, b = rng.normal(size=shape[1]), rng.normal(size=shape[1])

    def f(x: lm.Tensor, w: lm.Tensor, b: lm.Tensor) -> lm.Tensor:
        return lm.batch_norm(x, None, None, w if weights else None, b if weights else None, training=True)

    axes = (0, *range(2, len(shape)))
    expected = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    if weights:
        expected = expected * w.reshape(1, -1, *[1] * (len(shape) - 2)) + b.reshape(1, -1, *[1] * (len(shape) - 2))
    y, _ = gradients(f, [x, w, b], dtype, False)
    np.testing.assert_allclose(y, expected, rtol=FUSED[dtype], atol=FUSED[dtype])
    check_both(f, [x, w, b], dtype)


def test_running_statistics_of_small_planes(rng: np.random.Generator) -> None:
    x = rng.normal(size=(50, 4, 3)) + 2
    mean, variance = lm.zeros([4], dtype="float64"), lm.ones([4], dtype="float64")
    lm.batch_norm(lm.asarray(x), mean, variance, training=True, momentum=1.0)
    np.testing.assert_allclose(mean.numpy(), x.mean((0, 2)))
    np.testing.assert_allclose(variance.numpy(), x.var((0, 2), ddof=1))


@pytest.mark.parametrize("count", [1024, 4097, 16388])
def test_gradients_of_many_small_planes_are_exact_to_rounding(count: int) -> None:
    """The sums over the batch do not lose digits as it grows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, 1, 4))
    dy = np.broadcast_to(rng.normal(size=(1, 1, 4)), x.shape)

    def gradient(dtype: str) -> np.ndarray:
        leaf = lm.tensor(x.astype(dtype), stop_gradient=False)
        y = lm.batch_norm(leaf, None, None, training=True)
        return lm.grad([y], [leaf], [lm.asarray(dy.astype(dtype))])[0].numpy()

    assert np.abs(gradient("float32") - gradient("float64")).max() < 1.5e-6
