"""Softmax, losses and dropout."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import lamella as lm

from .gradcheck import check_gradients


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


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("batch", [(), (5,), (2, 3)])
def test_cross_entropy(batch: tuple[int, ...], reduction: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(*batch, 7))
    target = rng.integers(0, 7, batch)
    losses = -np.take_along_axis(sp.log_softmax(x, -1), np.asarray(target)[..., None], -1)[..., 0]
    expected = {"mean": losses.mean(), "sum": losses.sum(), "none": losses}[reduction]
    t = lm.asarray(np.asarray(target))
    np.testing.assert_allclose(lm.cross_entropy(lm.asarray(x), t, reduction=reduction).numpy(), expected, rtol=1e-12)
    check_gradients(lambda v: lm.cross_entropy(v, t, reduction=reduction), x)


def test_cross_entropy_errors() -> None:
    x = lm.zeros([2, 3])
    for target, error in [([0, 3], IndexError), ([-1, 0], IndexError), ([0.0, 1.0], TypeError), ([0], ValueError)]:
        with pytest.raises(error, match="cross_entropy"):
            lm.cross_entropy(x, lm.asarray(target))
    with pytest.raises(ValueError, match="reduction"):
        lm.cross_entropy(x, lm.asarray([0, 1]), reduction="median")


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
