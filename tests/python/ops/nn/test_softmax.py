"""Softmax, losses and dropout."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import lamella as lm

from ..gradcheck import check_gradients


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3,), (4, 10), (2, 3, 17), (1, 1), (0, 5), (5, 1000), ()])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_values(name: str, shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    x = np.asarray(rng.normal(size=shape) * 20, dtype)
    for axis in range(-len(shape), len(shape)) if shape else [-1]:
        expected = getattr(sp, name)(x.astype("float64"), axis=axis if shape else None) if x.size else x
        got = getattr(lm, name)(lm.asarray(x), axis=axis)
        assert got.dtype == getattr(lm, dtype)
        single = dtype == "float32"
        np.testing.assert_allclose(
            got.numpy(), expected, rtol=2e-5 if single else 1e-12, atol=4e-6 if single else 1e-14
        )


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_gradients(name: str, axis: int, rng: np.random.Generator) -> None:
    check_gradients(lambda t: getattr(lm, name)(t, axis=axis), rng.normal(size=(3, 4)))


def test_softmax_of_large_and_infinite_values() -> None:
    x = lm.asarray([[1000.0, 1000.0], [-np.inf, 0.0]])
    np.testing.assert_array_equal(lm.softmax(x).numpy(), [[0.5, 0.5], [0.0, 1.0]])
    assert np.isnan(lm.softmax(lm.asarray([np.nan, 1.0])).numpy()).all()


def test_mse_loss(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    np.testing.assert_allclose(lm.mse_loss(lm.asarray(x), lm.asarray(y)).item(), ((x - y) ** 2).mean())
    check_gradients(lm.mse_loss, x, y)
    with pytest.raises(ValueError, match=r"\[mse_loss\].*same shape"):
        lm.mse_loss(lm.ones([3, 1]), lm.ones([3]))


def test_dropout() -> None:
    lm.seed(3)
    x = lm.tensor(np.ones((200, 200), "float32"), stop_gradient=False)
    y = lm.dropout(x, 0.25)
    values = y.numpy() if y.stop_gradient else y.detach().numpy()
    assert set(np.unique(values)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((values == 0).mean() - 0.25) < 0.01
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), values)
    assert lm.dropout(x, 0.25, training=False) is x or (lm.dropout(x, 0.25, training=False).numpy() == 1).all()
    assert (lm.dropout(x.detach(), 1.0).numpy() == 0).all()
    with pytest.raises(ValueError, match="dropout"):
        lm.dropout(x, 1.5)


def test_one_hot() -> None:
    np.testing.assert_array_equal(
        lm.one_hot(lm.asarray([[0, 2], [1, 1]]), 3).numpy(), np.eye(3, dtype="int64")[[[0, 2], [1, 1]]]
    )
    with pytest.raises(IndexError, match="one_hot"):
        lm.one_hot(lm.asarray([3]), 3)


def test_clip_and_gelu(rng: np.random.Generator) -> None:
    x = rng.uniform(-3, 3, (3, 4))
    t = lm.asarray(x)
    np.testing.assert_array_equal(lm.clip(t, -1, 1).numpy(), np.clip(x, -1, 1))
    np.testing.assert_array_equal(lm.clip(t, min=0).numpy(), np.clip(x, 0, None))
    np.testing.assert_array_equal(lm.clip(t, max=0).numpy(), np.clip(x, None, 0))
    np.testing.assert_array_equal(
        lm.clip(t, lm.asarray([-1.0, 0.0, 1.0, 2.0]), 2.5).numpy(), np.clip(x, [-1, 0, 1, 2], 2.5)
    )
    for low, high in [(-1.0, 1.0), (None, 0.5), (-0.5, None)]:
        check_gradients(lambda v, low=low, high=high: lm.clip(v, low, high), x)
    edges = lm.tensor([-1.0, 0.0, 1.0], stop_gradient=False)
    lm.clip(edges, -1.0, 1.0).sum().backward()
    assert edges.grad.tolist() == [1.0, 1.0, 1.0]
    for approximate in ("none", "tanh"):
        check_gradients(lambda v, approximate=approximate: lm.gelu(v, approximate=approximate), x)
    with pytest.raises(ValueError, match=r"\[gelu\]"):
        lm.gelu(t, approximate="wrong")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_along_every_axis_of_wide_tensors(name: str, dtype: str, rng: np.random.Generator) -> None:
    """Columns are computed in blocks of vectors, with a rest."""
    tolerance = {"rtol": 2e-5, "atol": 2e-6} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-13}
    for shape in [(5, 77), (200, 3), (3, 70, 130), (1, 4), (2, 1, 5)]:
        x = (rng.normal(size=shape) * 5).astype(dtype)
        seed = rng.normal(size=shape).astype(dtype)
        for axis in range(len(shape)):
            t = lm.tensor(x, stop_gradient=False)
            y = getattr(lm, name)(t, axis=axis)
            p = sp.softmax((-x if name == "softmin" else x).astype("float64"), axis)
            expected = np.log(p) if name == "log_softmax" else p
            np.testing.assert_allclose(y.detach().numpy(), expected, **tolerance)
            (grad,) = lm.grad([y], [t], grad_outputs=[lm.asarray(seed)])
            if name == "log_softmax":
                slope = seed - p * seed.sum(axis, keepdims=True)
            else:
                slope = p * (seed - (seed * p).sum(axis, keepdims=True)) * (-1 if name == "softmin" else 1)
            np.testing.assert_allclose(grad.numpy(), slope, rtol=1e-4 if dtype == "float32" else 1e-10, atol=2e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_softmax_of_short_rows(name: str, dtype: str, rng: np.random.Generator) -> None:
    """Rows stand in the lanes of vectors, or leave a part of one: each comes out as it does alone."""
    tolerance = {"rtol": 2e-5, "atol": 2e-6} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-13}
    function = getattr(lm, name)
    for width in range(1, 35):
        for rows in (1, 7, 16, 37):
            x = (rng.normal(size=(rows, width)) * 30).astype(dtype)
            x[rng.random((rows, width)) < 0.1] = -np.inf
            x[0] = {1: 3.0, 7: -np.inf, 16: np.inf, 37: np.nan}[rows]
            with np.errstate(all="ignore"):
                expected = getattr(sp, name)(x.astype("float64"), axis=1)
            got = function(lm.asarray(x), axis=1).numpy()
            finite = np.isfinite(x).any(1)
            np.testing.assert_allclose(got[finite], expected[finite], **tolerance)
            if name == "logsumexp":
                np.testing.assert_allclose(got[0], expected[0], rtol=2e-6)
            for i in range(rows):
                np.testing.assert_array_equal(function(lm.asarray(x[i : i + 1]), axis=1).numpy()[0], got[i])


def test_exponentials_up_to_where_they_are_0() -> None:
    x = np.concatenate([np.linspace(-110, -80, 3001), [-np.inf, -1e30, -104.0, np.nan, 88.5, 89.0, np.inf]])
    x = x.astype("float32")
    with np.errstate(over="ignore", under="ignore"):
        expected = np.exp(x.astype("float64")).astype("float32")
    np.testing.assert_allclose(lm.exp(lm.asarray(x)).numpy(), expected, rtol=3e-7, atol=1.5e-45)
    np.testing.assert_array_equal(lm.exp(lm.asarray(x)).numpy() == 0, expected == 0)


def test_softmax_in_low_precision() -> None:
    y = lm.softmax(lm.asarray([1.0, 2.0]).astype("bfloat16"))
    assert y.dtype == lm.bfloat16
    np.testing.assert_allclose(y.astype("float32").numpy(), sp.softmax([1, 2]), rtol=1e-2)


def test_gumbel_softmax(rng: np.random.Generator) -> None:
    p = np.array([0.1, 0.2, 0.7])
    logits = lm.asarray(np.broadcast_to(np.log(p), (20000, 3)).copy())
    hard = lm.gumbel_softmax(logits, hard=True, generator=lm.Generator(seed=1)).numpy()
    assert set(np.unique(hard)) == {0.0, 1.0} and (hard.sum(1) == 1).all()
    np.testing.assert_allclose(hard.mean(0), p, atol=0.015)
    x = lm.tensor(rng.normal(size=(4, 3)), stop_gradient=False)
    grads = []
    for kind in (False, True):
        y = lm.gumbel_softmax(x, tau=0.5, hard=kind, axis=0, generator=lm.Generator(seed=2))
        np.testing.assert_allclose(y.detach().numpy().sum(0), 1, rtol=1e-12)
        grads.append(lm.grad([(y * lm.asarray(np.arange(12.0).reshape(4, 3))).sum()], [x])[0].numpy())
    np.testing.assert_allclose(grads[0], grads[1], rtol=1e-12)
    for tau in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match=r"\[gumbel_softmax\] tau"):
            lm.gumbel_softmax(x, tau)


# The points where PyTorch's derivatives are a matter of definition.
KINKS = {
    "relu6": ((), {0.0: 0, 6.0: 0, 3.0: 1}),
    "leaky_relu": ((0.2,), {0.0: 0.2}),
    "elu": ((1.5,), {0.0: 1.5}),
    "selu": ((), {0.0: 1.0507009873554805 * 1.6732632423543772}),
    "celu": ((2.0,), {0.0: 1}),
    "hardtanh": ((-1.0, 2.0), {-1.0: 0, 2.0: 0, 0.0: 1}),
    "hardsigmoid": ((), {-3.0: 0, 3.0: 0, 0.0: 1 / 6}),
    "hardswish": ((), {-3.0: 0, 3.0: 1, 0.0: 0.5}),
    "hardshrink": ((0.5,), {0.5: 0, -0.5: 0, 1.0: 1}),
    "softshrink": ((0.5,), {0.5: 0, -0.5: 0, 1.0: 1}),
    "threshold": ((0.5, 9.0), {0.5: 0, 1.0: 1}),
    "softplus": ((1.0, 2.0), {2.0: 0.8807970779778823, 2.5: 1}),
    "softsign": ((), {0.0: 1}),
}


@pytest.mark.parametrize("name", KINKS)
def test_derivatives_at_kinks(name: str) -> None:
    settings, slopes = KINKS[name]
    x = lm.tensor(np.array(list(slopes)), stop_gradient=False)
    getattr(lm, name)(x, *settings).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), list(slopes.values()), rtol=1e-12)


def test_second_derivatives_far_out() -> None:
    """Where a branch that is not taken would overflow."""
    for name in ("elu", "selu", "celu", "softplus", "mish", "silu", "log_sigmoid"):
        x = lm.tensor([-1000.0, 1000.0], dtype="float32", stop_gradient=False)
        (first,) = lm.grad([getattr(lm, name)(x).sum()], [x], create_graph=True)
        (second,) = lm.grad([first.sum()], [x])
        assert np.isfinite(first.detach().numpy()).all() and not second.numpy().any(), name


def test_activation_settings_and_defaults(rng: np.random.Generator) -> None:
    x = lm.asarray(rng.normal(size=(3, 4)))
    for name, given in [
        ("leaky_relu", {"negative_slope": 0.01}),
        ("elu", {"alpha": 1.0}),
        ("celu", {"alpha": 1}),
        ("hardtanh", {"min_val": -1, "max_val": 1}),
        ("softplus", {"beta": 1, "threshold": 20}),
        ("hardshrink", {"lambd": 0.5}),
        ("softshrink", {"lambd": 0.5}),
    ]:
        np.testing.assert_array_equal(getattr(lm, name)(x).numpy(), getattr(lm, name)(x, **given).numpy())
    assert lm.elu(lm.asarray([1, 2])).dtype == lm.float32
    assert lm.leaky_relu(x.astype("float32"), 0.1).dtype == lm.float32


def test_prelu(rng: np.random.Generator) -> None:
    x, slopes = rng.normal(size=(2, 3, 4)), rng.random(3)
    expected = np.where(x > 0, x, x * slopes[:, None])
    np.testing.assert_array_equal(lm.prelu(lm.asarray(x), lm.asarray(slopes)).numpy(), expected)
    np.testing.assert_array_equal(lm.prelu(lm.asarray(x[0, :, 0]), lm.asarray(slopes)).numpy(), expected[0, :, 0])
    one = lm.prelu(lm.asarray(x), lm.asarray([0.5])).numpy()
    np.testing.assert_array_equal(one, np.where(x > 0, x, x * 0.5))
    for bad in (lm.ones([4]), lm.ones([3, 1])):
        with pytest.raises(ValueError, match=r"\[prelu\] weight"):
            lm.prelu(lm.asarray(x), bad)


def test_glu(rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 6))
    for axis in (0, 1):
        a, b = np.split(x, 2, axis)
        np.testing.assert_allclose(lm.glu(lm.asarray(x), axis).numpy(), a * sp.expit(b), rtol=1e-12)
    for bad in (lm.ones([3]), lm.asarray(1.0)):
        with pytest.raises(ValueError, match=r"\[glu\]"):
            lm.glu(bad)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 5, 16, 63, 64, 65, 200, 1024])
@pytest.mark.parametrize("shift", [0, 1e3, -3e4, 1e6])
def test_softmax_of_rows_far_from_zero(width: int, shift: float, dtype: str, rng: np.random.Generator) -> None:
    x = (rng.normal(size=(3, width)) * 20 + shift).astype(dtype)
    x[1, width // 2] = -np.inf if width > 1 else shift
    wide = x.astype("float64")
    expected = np.exp(wide - wide.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    np.testing.assert_allclose(lm.softmax(lm.asarray(x), 1).numpy(), expected, rtol=tolerance, atol=1e-44)
    with np.errstate(divide="ignore"):
        logs = (
            wide - wide.max(1, keepdims=True) - np.log(np.exp(wide - wide.max(1, keepdims=True)).sum(1, keepdims=True))
        )
    np.testing.assert_allclose(lm.log_softmax(lm.asarray(x), 1).numpy(), logs, rtol=tolerance, atol=tolerance)


def test_softmax_of_rows_of_infinities_and_nan() -> None:
    x = np.zeros((4, 40), "float32")
    x[0, 7] = np.nan
    x[1] = -np.inf
    x[2, 3] = np.inf
    y = lm.softmax(lm.asarray(x), 1).numpy()
    assert np.isnan(y[0]).all() and np.isnan(y[1]).all() and np.isnan(y[2]).any()
    assert (y[3] == np.float32(1) / 40).all()
