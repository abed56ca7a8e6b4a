"""Softmax and its logarithm along every axis, in rows of every kind."""

from __future__ import annotations

from collections.abc import Callable

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


#: Functions whose derivatives are shares of exponentials, which do not depend on what is added to all of x.
SHARES: dict[str, Callable[[lm.Tensor], lm.Tensor]] = {
    "softmax": lambda x: lm.softmax(x, axis=-1),
    "log_softmax": lambda x: lm.log_softmax(x, axis=-1),
    "logsumexp": lambda x: lm.logsumexp(x, axis=-1),
    "logsumexp of all": lm.logsumexp,
    "logsumexp of columns": lambda x: lm.logsumexp(x, axis=0),
    "logcumsumexp": lambda x: lm.logcumsumexp(x, axis=-1),
    "logcumsumexp of columns": lambda x: lm.logcumsumexp(x, axis=0),
    "logaddexp": lambda x: lm.logaddexp(x[0], x[1]),
    "cross_entropy": lambda x: lm.cross_entropy(x, lm.asarray([1, 3])),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("offset", [4096.0, 2.0**60, -(2.0**60)])
@pytest.mark.parametrize("name", sorted(SHARES))
def test_derivatives_do_not_depend_on_what_is_added_to_all(name: str, offset: float, dtype: str) -> None:
    # Multiples of what sums with the offset are rounded to: of what the test computes, only the operator rounds.
    unit = max(abs(offset) * float(np.finfo(dtype).eps), 2.0**-10)
    near = np.array([[0.0, 0.0, 0.0, -1.0], [0.0, -1.0, 0.0, 0.0]]) * unit
    weights = lm.asarray([0.5, -1.0, 2.0, 1.5], dtype=dtype)

    def derivatives(x: np.ndarray) -> list[np.ndarray]:
        given = lm.tensor(x.astype(dtype), stop_gradient=False)

        def loss(x: lm.Tensor) -> lm.Tensor:
            y = SHARES[name](x)
            return lm.sum(y * weights[: y.shape[-1]]) if y.ndim else y

        # Its values may be large; its derivatives are not.
        (first,) = lm.grad([loss(given)], [given], create_graph=True)
        (second,) = lm.grad([lm.sum(first[:, :2])], [given])
        _, forward = lm.jvp(loss, (given.detach(),), (lm.asarray(near / unit + 1.0, dtype=dtype),))
        return [x.detach().numpy() for x in (first, second, forward)]

    for got, expected in zip(derivatives(near + offset), derivatives(near), strict=True):
        tolerance = 2e-5 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
