"""Reductions, norms and losses where a part is 0, infinite, or no number: the gradients of the others are right."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import jvp

INF, NAN = math.inf, math.nan
DTYPES = ("float32", "float64")


def leaf(values: object, dtype: str = "float64") -> lm.Tensor:
    x = lm.asarray(np.array(values, dtype="float64")).astype(dtype)
    x.stop_gradient = False
    return x


def gradient(f: Callable[[lm.Tensor], lm.Tensor], values: object, dtype: str = "float64") -> list:
    x = leaf(values, dtype)
    (g,) = lm.grad([f(x).sum()], [x])
    return g.tolist()


def second(f: Callable[[lm.Tensor], lm.Tensor], values: object, dtype: str = "float64") -> np.ndarray:
    x = leaf(values, dtype)
    (g,) = lm.grad([f(x).sum()], [x], create_graph=True)
    if g.stop_gradient:
        return np.zeros(np.shape(values))
    (h,) = lm.grad([g.sum()], [x], allow_unused=True)
    return np.zeros(np.shape(values)) if h is None else h.numpy()


LOGSUMEXP = {
    "one infinite": ([1.0, INF], INF, [0.0, 1.0]),
    "two infinite": ([INF, 1.0, INF], INF, [0.5, 0.0, 0.5]),
    "one minus infinite": ([1.0, -INF], 1.0, [1.0, 0.0]),
    "both": ([-INF, INF, 3.0], INF, [0.0, 1.0, 0.0]),
    "all minus infinite": ([-INF, -INF], -INF, [0.0, 0.0]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", LOGSUMEXP)
def test_logsumexp_of_infinities(case: str, dtype: str) -> None:
    values, wanted, shares = LOGSUMEXP[case]
    x = leaf(values, dtype)
    for axis in (None, 0, -1):
        y = lm.logsumexp(x, axis=axis)
        assert y.item() == wanted
        assert lm.grad([y], [x])[0].tolist() == shares
        tangent = jvp(lambda x, axis=axis: lm.logsumexp(x, axis=axis), (x.detach(),), (lm.ones_like(x),))[1]
        assert tangent.item() == sum(shares)
    # Beside rows that hold none, and along the other axis.
    rows = leaf([values, [0.0] * len(values)], dtype)
    for f in (lambda r: lm.logsumexp(r, axis=1), lambda r: lm.logsumexp(r.T, axis=0)):
        (g,) = lm.grad([f(rows).sum()], [rows])
        np.testing.assert_allclose(g.tolist(), [shares, [1 / len(values)] * len(values)], rtol=1e-6)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_logaddexp_of_infinities(name: str, dtype: str) -> None:
    f = getattr(lm, name)
    step = 1.0 if name == "logaddexp2" else math.log(2)
    cases = [
        (INF, INF, INF, 0.5, 0.5),
        (-INF, -INF, -INF, 0.5, 0.5),
        (INF, -INF, INF, 1.0, 0.0),
        (1.0, INF, INF, 0.0, 1.0),
        (1.0, -INF, 1.0, 1.0, 0.0),
        (3.0, 3.0, 3.0 + step, 0.5, 0.5),
    ]
    a, b, wanted, by_a, by_b = (list(column) for column in zip(*cases, strict=True))
    x, y = leaf(a, dtype), leaf(b, dtype)
    z = f(x, y)
    np.testing.assert_allclose(z.tolist(), wanted, rtol=1e-6)
    dx, dy = lm.grad([z.sum()], [x, y], create_graph=True)
    assert (dx.tolist(), dy.tolist()) == (by_a, by_b)
    (ddx,) = lm.grad([dx.sum()], [x])
    assert np.isfinite(ddx.tolist()).all()


EXTREMA = {"max": lm.max, "min": lm.min, "max along": lambda x: lm.max(x, axis=-1), "min along": lambda x: lm.min(x, 0)}


@pytest.mark.parametrize("name", EXTREMA)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", *DTYPES])
def test_the_extremum_that_is_nan_gets_the_gradient(name: str, dtype: str) -> None:
    f = EXTREMA[name]
    assert gradient(f, [1.0, NAN, 3.0], dtype) == [0.0, 1.0, 0.0]
    assert gradient(f, [NAN, NAN, 3.0], dtype) == [0.5, 0.5, 0.0]
    assert gradient(f, [INF, INF, INF], dtype) == pytest.approx([1 / 3] * 3, rel=1e-2)
    x = lm.asarray([1.0, NAN, 3.0]).astype(dtype)
    assert jvp(f, (x,), (lm.asarray([1.0, 2.0, 3.0]).astype(dtype),))[1].item() == 2.0


def rows_without_nan() -> list[list[float]]:
    return [[1.0, 5.0], [NAN, 2.0], [4.0, 3.0]]


def test_a_row_with_nan_leaves_the_others_alone() -> None:
    assert gradient(lambda x: lm.max(x, axis=1), rows_without_nan()) == [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]


P_NORMS = (0.25, 0.5, 0.9, 1, 1.5, 2, 2.5, 3, INF)
A = [[0.0, 1.0, -2.0], [0.5, 1.0, 3.0], [0.5, 1.0, 3.0]]
DISTANCES: dict[str, Callable[[lm.Tensor, float], lm.Tensor]] = {
    "cdist": lambda x, p: lm.cdist(x, lm.asarray(np.array(A)).astype(x.dtype), p=p),
    "cdist of itself": lambda x, p: lm.cdist(x, x, p=p),
    "pdist": lambda x, p: lm.pdist(x, p=p),
    "dist": lambda x, p: lm.dist(x, lm.asarray(np.array(A[::-1])).astype(x.dtype), p=p),
    "pairwise_distance": lambda x, p: lm.pairwise_distance(
        x, lm.asarray(np.array(A[::-1])).astype(x.dtype), p=p, eps=0.0
    ),
    "triplet_margin_loss": lambda x, p: lm.triplet_margin_loss(
        x, lm.asarray(np.array(A[::-1])).astype(x.dtype), x * 2, margin=50.0, p=p, eps=0.0
    ),
    "vector_norm": lambda x, p: lm.linalg.vector_norm(x, axis=-1, ord=p),
    "normalize": lambda x, p: lm.normalize(x, p=p, axis=-1),
    "renorm": lambda x, p: lm.renorm(x, p if p != INF else 2, 0, 1.0),
    "lp_pool1d": lambda x, p: lm.lp_pool1d(abs(x).reshape([1, 3, 3]), p if p != INF else 2, 2),
}


@pytest.mark.parametrize("p", P_NORMS)
@pytest.mark.parametrize("name", DISTANCES)
def test_norms_at_equal_coordinates_have_finite_derivatives(name: str, p: float) -> None:
    def f(x: lm.Tensor) -> lm.Tensor:
        return DISTANCES[name](x, p)

    for dtype in DTYPES:
        assert np.isfinite(gradient(f, A, dtype)).all()
        assert np.isfinite(second(f, A, dtype)).all()
        x = lm.asarray(np.array(A)).astype(dtype)

        def tangent(x: lm.Tensor) -> lm.Tensor:
            return jvp(f, (x,), (lm.ones_like(x),))[1]

        assert np.isfinite(tangent(x).numpy()).all()
        assert np.isfinite(jvp(tangent, (x,), (lm.ones_like(x),))[1].numpy()).all()


@pytest.mark.parametrize("p", P_NORMS)
@pytest.mark.parametrize("name", ["lp_pool1d", "vector_norm"])
def test_norms_of_zeros_have_finite_derivatives(name: str, p: float) -> None:
    zeros = [[0.0] * 3] * 3
    assert np.isfinite(gradient(lambda x: DISTANCES[name](x, p), zeros)).all()
    assert np.isfinite(second(lambda x: DISTANCES[name](x, p), zeros)).all()


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0])
def test_lp_pool_of_zeros(dimensions: int, p: float) -> None:
    pool = getattr(lm, f"lp_pool{dimensions}d")
    x = leaf(np.zeros((1, 1, *[4] * dimensions)))
    (g,) = lm.grad([pool(x, p, 2).sum()], [x])
    assert g.tolist() == np.full(x.shape, 1.0 if p == 1 else 0.0).tolist()


def test_coordinates_that_differ_have_the_derivative_of_the_formula() -> None:
    p = 0.5
    d = np.array([0.0, 2.0, -3.0])
    total = (np.abs(d) ** p).sum()
    wanted = np.where(d == 0, 0, total ** (1 / p - 1) * np.abs(np.where(d == 0, 1, d)) ** (p - 1) * np.sign(d))
    got = gradient(lambda x: lm.pairwise_distance(x, lm.zeros_like(x), p=p, eps=0.0), [d.tolist()])
    np.testing.assert_allclose(got, [wanted], rtol=1e-12)


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("setting", ["plain", "weight", "smoothing", "both"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_cross_entropy_ignores_have_no_gradient(bad: float, reduction: str, setting: str, dtype: str) -> None:
    weight = lm.asarray([0.5, 1.0, 2.0]).astype(dtype) if setting in ("weight", "both") else None
    smoothing = 0.1 if setting in ("smoothing", "both") else 0.0
    target = lm.asarray([2, -100, 0])

    def loss(x: lm.Tensor) -> lm.Tensor:
        return lm.cross_entropy(x, target, weight, reduction=reduction, label_smoothing=smoothing)

    rows = [[1.0, 2.0, 3.0], [bad, 0.0, bad], [0.5, -1.0, 2.0]]
    plain = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [0.5, -1.0, 2.0]]
    assert loss(leaf(rows, dtype)).tolist() == loss(leaf(plain, dtype)).tolist()
    got = gradient(loss, rows, dtype)
    assert got == gradient(loss, plain, dtype)
    assert got[1] == [0.0, 0.0, 0.0]
    assert np.isfinite(second(lambda x: loss(x) ** 2, rows, dtype)).all()


def test_all_rows_ignored_have_no_gradient() -> None:
    target = lm.asarray([-100, -100])
    got = gradient(lambda x: lm.cross_entropy(x, target, reduction="sum"), [[NAN, 1.0], [INF, -INF]])
    assert got == [[0.0, 0.0], [0.0, 0.0]]


def test_classes_of_images_that_cross_entropy_ignores() -> None:
    values = np.random.default_rng(0).standard_normal((2, 3, 2, 2))
    values[0, :, 1, 0] = NAN
    target = np.array([[[0, 1], [7, 2]], [[1, 1], [0, 2]]])
    x = leaf(values)
    (g,) = lm.grad([lm.cross_entropy(x, lm.asarray(target), ignore_index=7)], [x])
    assert (g.numpy()[0, :, 1, 0] == 0).all()
    assert np.isfinite(g.numpy()).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_probabilities_of_0_beside_minus_infinity(dtype: str) -> None:
    rows = [[0.0, -INF, 1.0], [2.0, 1.0, -INF]]
    target = lm.asarray([[0.25, 0.0, 0.75], [1.0, 0.0, 0.0]]).astype(dtype)
    x = leaf(rows, dtype)
    y = lm.cross_entropy(x, target, reduction="none")
    p = 1 / (1 + math.exp(1))
    np.testing.assert_allclose(y.tolist(), [-0.25 * math.log(p) - 0.75 * math.log(1 - p), -math.log(1 - p)], rtol=1e-6)
    (g,) = lm.grad([y.sum()], [x])
    np.testing.assert_allclose(g.tolist(), [[p - 0.25, 0.0, 1 - p - 0.75], [-p, p, 0.0]], atol=1e-6)
    # By the target, what is finite has its derivative.
    t = target.detach()
    t.stop_gradient = False
    (by_target,) = lm.grad([lm.cross_entropy(x.detach(), t, reduction="sum")], [t])
    assert np.isfinite(by_target.tolist()).all()
    assert by_target.tolist()[1][1] == pytest.approx(-math.log(p), rel=1e-6)


@pytest.mark.parametrize("log_target", [False, True])
def test_kl_div_of_0_beside_minus_infinity(log_target: bool) -> None:
    target = lm.asarray([0.5, 0.5, 0.0]).astype("float64")
    target = lm.log(target) if log_target else target
    x = leaf([-1.0, -2.0, -INF])
    y = lm.kl_div(x, target, reduction="sum", log_target=log_target)
    assert y.item() == pytest.approx(math.log(0.5) + 1.5)
    assert lm.grad([y], [x])[0].tolist() == [-0.5, -0.5, 0.0]


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-20, 1.0, 1e20, 1e160, 1e300])
def test_angles_of_small_and_large_numbers(size: float) -> None:
    z = lm.asarray(np.array([3 + 4j]) * size)
    z.stop_gradient = False
    y = lm.angle(z)
    (g,) = lm.grad([y.sum()], [z], create_graph=True)
    np.testing.assert_allclose(g.detach().numpy() * size, [(-4 + 3j) / 25], rtol=1e-14)
    if 1e-100 < size < 1e100:
        (h,) = lm.grad([lm.real(g).sum()], [z])
        # The derivatives of -im / |z|^2.
        np.testing.assert_allclose(h.numpy() * size**2, [(24 + 7j) / 625], rtol=1e-13)
    a, b = leaf([4.0 * size]), leaf([3.0 * size])
    da, db = lm.grad([lm.atan2(a, b).sum()], [a, b])
    assert (da.item() * size, db.item() * size) == (pytest.approx(3 / 25, rel=1e-14), pytest.approx(-4 / 25, rel=1e-14))


def test_directions_of_the_origin_are_0() -> None:
    for f in (lm.atan2, lm.hypot):
        a, b = leaf([0.0]), leaf([0.0])
        assert [g.tolist() for g in lm.grad([f(a, b).sum()], [a, b])] == [[0.0], [0.0]]
    z = lm.asarray(np.array([0j]))
    z.stop_gradient = False
    assert lm.grad([lm.angle(z).sum()], [z])[0].tolist() == [0j]
