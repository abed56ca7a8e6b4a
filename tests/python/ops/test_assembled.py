"""Values and errors of operators that are composed of others, beside numpy, scipy or their definition."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

sp = pytest.importorskip("scipy.special")

#: Draws the constants of the tables below, at import; each test has a generator of its own.
TABLE = np.random.default_rng(7)
INF = float("inf")


def numbers(rng: np.random.Generator, *shape: int, low: float = -3, high: float = 3) -> np.ndarray:
    return rng.uniform(low, high, shape)


def windows(a: np.ndarray, axis: int, size: int, step: int) -> np.ndarray:
    every = np.lib.stride_tricks.sliding_window_view(a, size, axis)
    return every[(slice(None),) * axis + (slice(None, None, step),)]


def placed(rows: np.ndarray, offset: int) -> np.ndarray:
    return np.stack([np.diag(row, offset) for row in rows])


def distances(a: np.ndarray, b: np.ndarray, p: float) -> np.ndarray:
    return np.linalg.norm(a[:, None] - b[None], p, axis=-1)


def replaced(a: np.ndarray, key: Any, b: np.ndarray) -> np.ndarray:
    y = a.copy()
    y[key] = b
    return y


A, B = numbers(TABLE, 3, 4), numbers(TABLE, 4, 3)
SQUARE = numbers(TABLE, 3, 3)
BATCH1, BATCH2 = numbers(TABLE, 2, 3, 4), numbers(TABLE, 2, 4, 5)
CUBE = numbers(TABLE, 2, 4, 6)
V3, V4 = numbers(TABLE, 3), numbers(TABLE, 4)
WEIGHTS = np.array([1, 0, 2, 3])
COMPLEX = numbers(TABLE, 2, 3) + 1j * numbers(TABLE, 2, 3)
EDGES = np.array([0.0, -0.0, INF, -INF, np.nan, 1.0, -2.0])

#: What is called, the arrays it is called with, and what numpy makes of them.
CASES: list[tuple[str, Callable[..., Any], list[np.ndarray], Any]] = [
    ("dstack", lambda a, b: lm.dstack([a, b]), [A, A], np.dstack([A, A])),
    ("dstack", lambda a, b: lm.dstack([a, b]), [V3, V3], np.dstack([V3, V3])),
    ("column_stack", lambda a, b: lm.column_stack([a, b]), [V3, A], np.column_stack([V3, A])),
    ("hsplit", lambda a: lm.hsplit(a, 3), [CUBE.reshape(4, 12)], np.hsplit(CUBE.reshape(4, 12), 3)),
    ("hsplit", lambda a: lm.hsplit(a, [1, 2]), [V4], np.hsplit(V4, [1, 2])),
    ("hsplit", lambda a: lm.hsplit(a, [3]), [V4], np.hsplit(V4, [3])),
    ("vsplit", lambda a: lm.vsplit(a, 2), [B], np.vsplit(B, 2)),
    ("dsplit", lambda a: lm.dsplit(a, [2, 3]), [CUBE], np.dsplit(CUBE, [2, 3])),
    ("fliplr", lm.fliplr, [CUBE], np.fliplr(CUBE)),
    ("flipud", lm.flipud, [V3], np.flipud(V3)),
    *[("rot90", lambda a, k=k: lm.rot90(a, k), [A], np.rot90(A, k)) for k in range(-2, 6)],
    ("rot90", lambda a: lm.rot90(a, 1, (2, 0)), [CUBE], np.rot90(CUBE, 1, (2, 0))),
    ("ravel", lm.ravel, [np.asfortranarray(A)], A.ravel()),
    ("unflatten", lambda a: lm.unflatten(a, -1, [2, -1]), [CUBE], CUBE.reshape(2, 4, 2, 3)),
    ("shape_of", lm.shape_of, [CUBE], np.array(CUBE.shape)),
    (
        "dynamic_shape",
        lambda a: lm.dynamic_shape([a, lm.asarray(2)], [-2, 5, -2, -1]),
        [np.array([3])],
        np.array([3, 5, 2, -1]),
    ),
    ("dynamic_reshape", lambda a: lm.dynamic_reshape(a, lm.asarray([2, -1], dtype="int8")), [A], A.reshape(2, -1)),
    ("dynamic_broadcast", lambda a: lm.dynamic_broadcast(a, lm.asarray([2, *A.shape])), [A], np.stack([A, A])),
    *[
        (
            "dynamic_slice",
            lambda a, b=bounds: lm.dynamic_slice(a, *map(lm.asarray, b[:2]), axis=-1, step=b[2]),
            [CUBE],
            CUBE[..., slice(*bounds)],
        )
        for bounds in [(1, 3, 1), (0, 2**62, 1), (-2, 5, 1), (3, 1, 1), (9, -9, -1), (2, 0, -2)]
    ],
    ("sliding_window", lambda a: lm.sliding_window(a, 1, 2, 2), [CUBE], windows(CUBE, 1, 2, 2)),
    ("sliding_window", lambda a: lm.sliding_window(a, 0, 1), [np.array(2.0)], np.array([2.0])),
    ("cartesian_prod", lm.cartesian_prod, [V3, V4], np.array(list(itertools.product(V3, V4)))),
    ("combinations", lambda a: lm.combinations(a, 3), [V4], np.array(list(itertools.combinations(V4, 3)))),
    (
        "combinations",
        lambda a: lm.combinations(a, 3, with_replacement=True),
        [V4],
        np.array(list(itertools.combinations_with_replacement(V4, 3))),
    ),
    ("combinations", lambda a: lm.combinations(a, 5), [V4], np.zeros((0, 5))),
    ("combinations", lambda a: lm.combinations(a, 0), [V4], np.zeros(0)),
    ("mm", lm.mm, [A, B], A @ B),
    ("mv", lm.mv, [A, V4], A @ V4),
    ("bmm", lm.bmm, [BATCH1, BATCH2], BATCH1 @ BATCH2),
    ("inner", lm.inner, [BATCH1, A], np.inner(BATCH1, A)),
    ("addmm", lambda i, a, b: lm.addmm(i, a, b, beta=0.5, alpha=2), [V3, A, B], 0.5 * V3 + 2 * (A @ B)),
    ("addmm", lambda i, a, b: lm.addmm(i, a, b, beta=0), [np.full(3, np.nan), A, B], A @ B),
    ("addmv", lambda i, a, b: lm.addmv(i, a, b, alpha=-1), [V3, A, V4], V3 - A @ V4),
    ("addr", lambda i, a, b: lm.addr(i, a, b, beta=3), [A, V3, V4], 3 * A + np.outer(V3, V4)),
    ("addr", lambda i, a, b: lm.addr(i, a[::-1], b, beta=3, alpha=2), [A, V3, V4], 3 * A + 2 * np.outer(V3[::-1], V4)),
    ("addr", lambda i, a, b: lm.addr(i.mT, a, b, beta=3, alpha=2), [A.T, V3, V4], 3 * A + 2 * np.outer(V3, V4)),
    ("baddbmm", lambda i, a, b: lm.baddbmm(i, a, b), [numbers(TABLE, 3, 5), BATCH1, BATCH2], None),
    ("addbmm", lambda i, a, b: lm.addbmm(i, a, b, beta=0), [np.zeros(5), BATCH1, BATCH2], (BATCH1 @ BATCH2).sum(0)),
    *[("diag", lambda a, k=k: lm.diag(a, k=k), [V3], np.diag(V3, k)) for k in (-2, 0, 1)],
    *[("diag", lambda a, k=k: lm.diag(a, k=k), [A], np.diag(A, k)) for k in (-5, -1, 2)],
    *[("diag_embed", lambda a, k=k: lm.diag_embed(a, offset=k), [A], placed(A, k)) for k in (-1, 0, 2)],
    (
        "diag_embed",
        lambda a: lm.diag_embed(a, offset=1, axis1=2, axis2=0),
        [A],
        np.moveaxis(placed(A, 1), [1, 2], [2, 0]),
    ),
    ("diag_embed", lm.diag_embed, [np.array([[INF, np.nan]])], np.array([[[INF, 0], [0, np.nan]]])),
    ("diagflat", lambda a: lm.diagflat(a, k=-1), [A], np.diagflat(A, -1)),
    ("tril_indices", lambda: lm.tril_indices(3, 4, k=1), [], np.stack(np.tril_indices(3, 1, 4))),
    ("triu_indices", lambda: lm.triu_indices(4, 2, k=-1), [], np.stack(np.triu_indices(4, -1, 2))),
    (
        "diagonal_scatter",
        lambda a, s: lm.diagonal_scatter(a, s, offset=-1),
        [A, V3[:2]],
        replaced(A, ([1, 2], [0, 1]), V3[:2]),
    ),
    ("select_scatter", lambda a, s: lm.select_scatter(a, s, 1, -1), [A, V3], replaced(A, (slice(None), -1), V3)),
    (
        "slice_scatter",
        lambda a, s: lm.slice_scatter(a, s, 1, -3, None, 2),
        [A, A[:, :2]],
        replaced(A, (slice(None), slice(-3, None, 2)), A[:, :2]),
    ),
    ("put", lambda a, s: lm.put(a, lm.asarray([[-1], [0]]), s), [A, V3[:2]], replaced(A, ([2, 0], [3, 0]), V3[:2])),
    (
        "index_reduce",
        lambda a, s: lm.index_reduce(a, 0, lm.asarray([2, 0]), s, "amax"),
        [A, numbers(TABLE, 2, 4, low=2, high=5)],
        None,
    ),
    ("argwhere", lm.argwhere, [np.array([[0, 2], [3, 0]])], np.array([[0, 1], [1, 0]])),
    ("argwhere", lm.argwhere, [np.array(2.0)], np.zeros((1, 0), np.int64)),
    ("nonzero_static", lambda x: lm.nonzero_static(x, size=1), [np.array([[0, 2], [3, 0]])], np.array([[0, 1]])),
    (
        "nonzero_static",
        lambda x: lm.nonzero_static(x, size=3, fill_value=7),
        [np.array([[0, 2], [3, 0]])],
        np.array([[0, 1], [1, 0], [7, 7]]),
    ),
    ("nonzero_static", lambda x: lm.nonzero_static(x, size=2), [np.array(2.0)], np.zeros((2, 0), np.int64)),
    ("nonzero_static", lambda x: lm.nonzero_static(x, size=1), [np.zeros((0, 2))], np.full((1, 2), -1)),
    ("argwhere", lm.argwhere, [np.array(0.0)], np.zeros((0, 0), np.int64)),
    ("var_mean", lambda a: lm.var_mean(a, 1, 1), [A], [A.var(1, ddof=1), A.mean(1)]),
    ("std_mean", lambda a: lm.std_mean(a, keepdims=True), [A], [A.std(keepdims=True), A.mean(keepdims=True)]),
    ("var_mean", lm.var_mean, [COMPLEX], [COMPLEX.var(), COMPLEX.mean()]),
    ("aminmax", lambda a: lm.aminmax(a, axis=0), [A], [A.min(0), A.max(0)]),
    ("trapezoid", lambda y, x: lm.trapezoid(y, x), [A, V4], ((A[:, 1:] + A[:, :-1]) / 2 * np.diff(V4)).sum(-1)),
    ("trapezoid", lambda y: lm.trapezoid(y, dx=2, axis=0), [A], (A[1:] + A[:-1]).sum(0)),
    ("trapezoid", lm.trapezoid, [np.zeros((2, 0))], np.zeros(2)),
    (
        "cumulative_trapezoid",
        lambda y, x: lm.cumulative_trapezoid(y, x, axis=0),
        [A, A],
        ((A[1:] + A[:-1]) / 2 * np.diff(A, axis=0)).cumsum(0),
    ),
    ("cov", lm.cov, [A], np.cov(A)),
    ("cov", lambda a: lm.cov(a, correction=0), [V4], np.cov(V4, ddof=0)),
    ("cov", lm.cov, [A[:1]], np.cov(A[:1])),
    ("cov", lm.cov, [COMPLEX], np.cov(COMPLEX)),
    (
        "cov",
        lambda a, f, w: lm.cov(a, fweights=f, aweights=w),
        [A, WEIGHTS, V4**2],
        np.cov(A, fweights=WEIGHTS, aweights=V4**2),
    ),
    ("corrcoef", lm.corrcoef, [A], np.corrcoef(A)),
    ("corrcoef", lm.corrcoef, [COMPLEX], np.corrcoef(COMPLEX)),
    ("corrcoef", lm.corrcoef, [V4], np.array(1.0)),
    *[
        ("bucketize", lambda a, r=r: lm.bucketize(a, lm.asarray([0.0, 1.0])), [EDGES[:3]], np.array([0, 0, 2]))
        for r in (0,)
    ],
    ("bucketize", lambda a: lm.bucketize(a, lm.asarray([0.0, 1.0]), right=True), [EDGES[:3]], np.array([1, 1, 2])),
    ("isposinf", lm.isposinf, [EDGES], np.isposinf(EDGES)),
    ("isneginf", lm.isneginf, [EDGES], np.isneginf(EDGES)),
    ("isposinf", lm.isposinf, [WEIGHTS], np.zeros(4, bool)),
    ("isreal", lm.isreal, [np.array([1, 1j, 0j])], np.array([True, False, True])),
    ("isreal", lm.isreal, [EDGES], np.ones(7, bool)),
    *[("xlog1py", lm.xlog1py, [np.full(7, a), EDGES], sp.xlog1py(a, EDGES)) for a in (0.0, 1.5, np.nan)],
    ("entr", lm.entr, [EDGES], sp.entr(EDGES)),
    ("ndtr", lm.ndtr, [np.append(EDGES, [-30.0, 9.0])], sp.ndtr(np.append(EDGES, [-30.0, 9.0]))),
    ("mvlgamma", lambda a: lm.mvlgamma(a, 4), [V3 + 5], np.array([sp.multigammaln(v + 5, 4) for v in V3])),
    ("ldexp", lm.ldexp, [V4, np.array([-2, 0, 5, 60])], np.ldexp(V4, [-2, 0, 5, 60])),
    ("float_power", lambda a: lm.float_power(a, -1), [np.array([1, 2, 4])], np.array([1, 0.5, 0.25])),
    ("complex", lm.complex, [EDGES, V3[:1]], EDGES + 1j * V3[:1]),
    ("complex", lm.complex, [V3[:1], EDGES], None),
    ("polar", lm.polar, [V3**2, V3], V3**2 * np.exp(1j * V3)),
    ("view_as_real", lm.view_as_real, [COMPLEX], np.stack([COMPLEX.real, COMPLEX.imag], -1)),
    ("view_as_complex", lm.view_as_complex, [A[:, 1:3]], A[:, 1] + 1j * A[:, 2]),
    *[("cdist", lambda a, b, p=p: lm.cdist(a, b, p), [A, A[:2]], distances(A, A[:2], p)) for p in (0, 1, 2, 3, INF)],
    ("cdist", lm.cdist, [big := numbers(TABLE, 30, 4), A], distances(big, A, 2)),
    ("pdist", lm.pdist, [B], distances(B, B, 2)[np.triu_indices(4, 1)]),
    ("dist", lm.dist, [A, V4], np.linalg.norm(A - V4)),
    ("dist", lambda a, b: lm.dist(a, b, -INF), [V3, 2 * V3], np.abs(V3).min()),
    ("normalize", lm.normalize, [A], A / np.linalg.norm(A, axis=1, keepdims=True)),
    ("normalize", lambda a: lm.normalize(a, axis=0), [0 * A], 0 * A),
    ("channel_shuffle", lambda a: lm.channel_shuffle(a, 2), [CUBE], CUBE[:, [0, 2, 1, 3]]),
    ("bilinear", lm.bilinear, [A, A[:, :2], numbers(TABLE, 3, 4, 2)], None),
]


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


@pytest.mark.parametrize(("name", "function", "arrays", "wanted"), CASES, ids=[c[0] for c in CASES])
def test_values(name: str, function: Callable[..., Any], arrays: list[np.ndarray], wanted: Any) -> None:
    if wanted is None:
        wanted = {
            "baddbmm": lambda i, a, b: i + a @ b,
            "index_reduce": lambda a, s: np.stack([np.maximum(a[0], s[1]), a[1], np.maximum(a[2], s[0])]),
            "bilinear": lambda a, b, w: np.einsum("ni,oij,nj->no", a, w, b),
            "complex": lambda a, b: np.stack([np.broadcast_to(a, b.shape), b], -1).view(complex)[..., 0],
        }[name](*arrays)
    got = flat(function(*[lm.asarray(a) for a in arrays]))
    expected = flat(wanted)
    assert len(got) == len(expected)
    for y, w in zip(got, expected, strict=True):
        assert y.shape == np.shape(w)
        np.testing.assert_allclose(y.numpy(), w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_divisors_of_every_integer(dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = np.array([0, 1, 6, 9, 12, limits.max, limits.max - 1], dtype)
    if limits.min < 0:
        values = np.append(values, np.array([-1, -6, limits.min + 1], dtype))
    a, b = values[:, None], values[None, :]
    got = lm.gcd(lm.asarray(a), lm.asarray(b))
    assert got.dtype.name == dtype
    np.testing.assert_array_equal(got.numpy(), np.gcd(a, b))
    small = np.array([0, 1, 4, 6, 10], dtype)
    np.testing.assert_array_equal(lm.lcm(lm.asarray(small), lm.asarray(small[::-1].copy())).numpy(), [0, 6, 4, 6, 0])


def test_windows_are_views() -> None:
    x = lm.zeros([5])
    lm.sliding_window(x, 0, 3)[1, 2] = 7
    assert x.tolist() == [0, 0, 0, 7, 0]


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_unpooling_undoes_pooling(axes: int, rng: np.random.Generator) -> None:
    x = lm.asarray(rng.permutation(4**axes * 2).astype("float64").reshape([1, 2] + [4] * axes))
    y, places = getattr(lm, f"max_pool{axes}d_with_indices")(x, 2)
    back = getattr(lm, f"max_unpool{axes}d")(y, places, 2)
    assert back.shape == x.shape
    assert bool(lm.all((back == x) | (back == 0))) and lm.count_nonzero(back).item() == lm.count_nonzero(y).item()
    wide = getattr(lm, f"max_unpool{axes}d")(y, places, 2, output_size=[5] * axes)
    assert wide.shape == (1, 2) + (5,) * axes


def test_losses_of_several_labels(rng: np.random.Generator) -> None:
    x, labels = numbers(rng, 2, 4), [[3, 0, -1, 1], [-1, 0, 2, 1]]
    loss = lm.multilabel_margin_loss(lm.asarray(x), lm.asarray(labels), reduction="none")
    terms = sum(max(0, 1 - x[0, t] + x[0, j]) for t in (3, 0) for j in (1, 2))
    np.testing.assert_allclose(loss.numpy(), [terms / 4, 0])
    targets = rng.integers(0, 2, (2, 4)).astype(float)
    soft = lm.multilabel_soft_margin_loss(lm.asarray(x), lm.asarray(targets))
    np.testing.assert_allclose(
        soft.item(), lm.binary_cross_entropy_with_logits(lm.asarray(x), lm.asarray(targets)).item()
    )


def test_renorm_bounds_the_norms_of_slices() -> None:
    y = lm.renorm(lm.asarray(A), 2.0, 1, 1.0).numpy()
    norms = np.linalg.norm(A, axis=0)
    np.testing.assert_allclose(y, A * np.minimum(1, 1 / norms), rtol=1e-6)
    assert (np.linalg.norm(y, axis=0) <= 1).all()


def test_distances_of_equal_rows_have_a_gradient() -> None:
    x = lm.tensor(np.ones((30, 3)), stop_gradient=False)
    for result in (lm.cdist(x, x), lm.pdist(x), lm.dist(x, x), lm.cdist(x, x, 3.0)):
        (grad,) = lm.grad([result.sum()], [x])
        assert np.isfinite(grad.numpy()).all()


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: lm.dstack([]), ValueError, r"\[dstack\] needs at least one tensor"),
    (lambda: lm.hsplit(lm.ones([2, 3]), 2), ValueError, r"\[hsplit\] axis . of size . cannot be split into 2"),
    (lambda: lm.hsplit(lm.ones([4]), 0), ValueError, r"\[hsplit\] needs at least 1 part, got 0"),
    (lambda: lm.vsplit(lm.ones([4]), 2), ValueError, r"\[vsplit\] needs at least 2 axes"),
    (lambda: lm.dsplit(lm.ones([4, 2]), 2), ValueError, r"\[dsplit\] needs at least 3 axes"),
    (lambda: lm.fliplr(lm.ones([4])), ValueError, r"\[fliplr\] needs at least 2 axes"),
    (lambda: lm.rot90(lm.ones([2, 2]), 1, (0, -2)), ValueError, r"\[rot90\] axes must be different"),
    (lambda: lm.rot90(lm.ones([2, 2]), 1, (0, 5)), IndexError, r"rot90"),
    (lambda: lm.unflatten(lm.ones([6]), 0, [4, -1]), ValueError, r"\[unflatten\] the product of the sizes"),
    (lambda: lm.unflatten(lm.ones([6]), 0, [2**62, 4]), ValueError, r"\[unflatten\] the product of the sizes"),
    (lambda: lm.unflatten(lm.ones([0]), 0, [0, -1]), ValueError, r"\[unflatten\] the product of the sizes"),
    (lambda: lm.dynamic_shape([lm.asarray(3)], [4]), ValueError, r"has not a -2 for each"),
    (lambda: lm.dynamic_shape([lm.ones([1])], [-2]), TypeError, r"dynamic_shape"),
    (lambda: lm.dynamic_shape([lm.arange(2)], [-2]), ValueError, r"a size must be one integer"),
    (lambda: lm.dynamic_reshape(lm.ones([6]), lm.asarray(6)), ValueError, r"sizes must be a vector"),
    (lambda: lm.dynamic_reshape(lm.ones([6]), lm.ones([1])), TypeError, r"dynamic_reshape"),
    (lambda: lm.dynamic_reshape(lm.ones([6]), lm.asarray([4])), ValueError, r"\[reshape\] a tensor of shape"),
    (lambda: lm.dynamic_broadcast(lm.ones([6]), lm.asarray([4])), ValueError, r"broadcast"),
    (lambda: lm.dynamic_slice(lm.ones([6]), lm.arange(2), 4), ValueError, r"start must be one integer"),
    (lambda: lm.dynamic_slice(lm.ones([6]), 1.0, 4), TypeError, r"start must be an integer"),
    (lambda: lm.dynamic_slice(lm.ones([6]), lm.asarray(0), lm.asarray(4), step=0), ValueError, r"step cannot be zero"),
    (lambda: lm.dynamic_slice(lm.ones([6]), lm.asarray(0), lm.asarray(4), axis=1), IndexError, r"dynamic_slice"),
    (lambda: lm.dynamic_slice(lm.ones([]), lm.asarray(0), lm.asarray(4)), IndexError, r"dynamic_slice"),
    (
        lambda: lm.vmap(lambda n: lm.dynamic_broadcast(lm.ones([1]), n))(lm.ones([2, 1], dtype="int64")),
        RuntimeError,
        "the same for all examples",
    ),
    (lambda: lm.sliding_window(lm.ones([3]), 0, 4), ValueError, r"\[sliding_window\] windows of 4"),
    (lambda: lm.sliding_window(lm.ones([3]), 0, 2, 0), ValueError, r"\[sliding_window\] step"),
    (lambda: lm.block_diag(lm.ones([1, 2, 3])), ValueError, r"\[block_diag\] takes matrices"),
    (lambda: lm.cartesian_prod(lm.ones([2, 2])), ValueError, r"\[cartesian_prod\] takes vectors"),
    (lambda: lm.combinations(lm.ones([2, 2])), ValueError, r"\[combinations\] takes a vector"),
    (lambda: lm.combinations(lm.ones([2]), -1), ValueError, r"\[combinations\] r must"),
    (lambda: lm.mm(lm.ones([2]), lm.ones([2, 2])), ValueError, r"\[mm\] needs tensors with 2 and 2 axes"),
    (lambda: lm.mm(lm.ones([2, 3]), lm.ones([2, 2])), ValueError, r"\[mm\] the inner sizes"),
    (
        lambda: lm.bmm(lm.ones([1, 2, 3]), lm.ones([2, 3, 2])),
        ValueError,
        r"\[bmm\] needs equally many matrices, got 1 and 2",
    ),
    (lambda: lm.addmm(lm.ones([5]), lm.ones([2, 3]), lm.ones([3, 2])), ValueError, r"\[addmm\]"),
    (lambda: lm.addmm(lm.ones([3, 2, 2]), lm.ones([2, 3]), lm.ones([3, 2])), ValueError, r"\[addmm\] input"),
    (
        lambda: lm.addmv(lm.asarray([1, 2]), lm.asarray([[1], [2]]), lm.asarray([3]), beta=0.5),
        TypeError,
        r"\[addmv\] beta",
    ),
    (lambda: lm.inner(lm.ones([2]), lm.ones([3])), ValueError, r"\[inner\] the last sizes"),
    (lambda: lm.diag(lm.ones([1, 2, 3])), ValueError, r"\[diag\] takes a vector or a matrix"),
    (lambda: lm.diag(lm.ones([2]), k=2**62), ValueError, r"diag|elements"),
    (lambda: lm.diag(lm.ones([2]), k=-(2**63)), ValueError, r"\[diag\] offset"),
    (lambda: lm.diag_embed(lm.ones([2]), axis1=1, axis2=-1), ValueError, r"\[diag_embed\] axis1 and axis2"),
    (lambda: lm.tril_indices(-1, 2), ValueError, r"\[tril_indices\] sizes"),
    (lambda: lm.diagonal_scatter(lm.ones([3, 3]), lm.ones([2])), ValueError, r"\[diagonal_scatter\] src must"),
    (lambda: lm.select_scatter(lm.ones([3]), lm.ones([]), 0, 3), IndexError, r"\[select_scatter\] index 3"),
    (lambda: lm.select_scatter(lm.ones([3]), lm.ones([1]), 0, 0), ValueError, r"\[select_scatter\] src"),
    (lambda: lm.slice_scatter(lm.ones([3]), lm.ones([3]), 0, 0, 3, -1), ValueError, r"\[slice_scatter\] step"),
    (lambda: lm.slice_scatter(lm.ones([3], dtype="int64"), lm.ones([3])), TypeError, r"\[slice_scatter\] values"),
    (lambda: lm.put(lm.ones([3]), lm.asarray([3]), lm.ones([1])), IndexError, r"3"),
    (lambda: lm.put(lm.ones([3]), lm.asarray([1, 2]), lm.ones([1])), ValueError, r"\[put\] indices and values"),
    (lambda: lm.index_reduce(lm.ones([3]), 0, lm.asarray([5]), lm.ones([1]), "amax"), IndexError, r"5"),
    (lambda: lm.index_reduce(lm.ones([3]), 0, lm.asarray([1]), lm.ones([1]), "max"), ValueError, r"max"),
    (lambda: lm.trapezoid(lm.ones([])), ValueError, r"\[trapezoid\] a 0-d tensor"),
    (lambda: lm.trapezoid(lm.ones([3]), lm.ones([2])), ValueError, r"\[trapezoid\] x and y must have the same length"),
    (lambda: lm.cov(lm.ones([1, 2, 3])), ValueError, r"\[cov\] takes a matrix"),
    (lambda: lm.cov(lm.ones([2, 0])), ValueError, r"\[cov\] there are no observations"),
    (lambda: lm.cov(lm.ones([2, 3]), fweights=lm.asarray([1, -1, 1])), ValueError, r"\[cov\] fweights"),
    (lambda: lm.cov(lm.ones([2, 3]), fweights=lm.ones([3])), TypeError, r"\[cov\] fweights must be integers"),
    (lambda: lm.cov(lm.ones([2, 3]), aweights=lm.ones([2])), ValueError, r"\[cov\] aweights must have"),
    (lambda: lm.bucketize(lm.ones([3]), lm.ones([2, 2])), ValueError, r"\[bucketize\] boundaries"),
    (lambda: lm.isposinf(lm.ones([2], dtype="complex64")), TypeError, r"\[isposinf\] does not take dtype complex64"),
    (lambda: lm.mvlgamma(lm.ones([2]), 2**62), ValueError, r"\[mvlgamma\] p must be from 1 to 1000000"),
    (lambda: lm.mvlgamma(lm.ones([2]), 0), ValueError, r"\[mvlgamma\] p must"),
    (lambda: lm.gcd(lm.ones([2]), lm.ones([2])), TypeError, r"\[gcd\] does not take dtype float32"),
    (lambda: lm.lcm(lm.asarray([1, 2]), lm.asarray([1, 2, 3])), ValueError, r"lcm"),
    (lambda: lm.complex(lm.ones([2]), lm.ones([2], dtype="float64")), TypeError, r"\[complex\] the parts"),
    (lambda: lm.view_as_complex(lm.ones([3])), ValueError, r"\[view_as_complex\] the last axis"),
    (lambda: lm.view_as_real(lm.ones([3])), TypeError, r"\[view_as_real\] does not take dtype float32"),
    (lambda: lm.cdist(lm.ones([3, 2]), lm.ones([3, 3])), ValueError, r"\[cdist\] needs matrices"),
    (lambda: lm.cdist(lm.ones([3, 2]), lm.ones([3, 2]), -1.0), ValueError, r"\[cdist\] p must"),
    (lambda: lm.pdist(lm.ones([3])), ValueError, r"\[pdist\] takes a matrix"),
    (lambda: lm.renorm(lm.ones([3, 2]), 0.0, 0, 1.0), ValueError, r"\[renorm\] p must"),
    (lambda: lm.renorm(lm.ones([3, 2]), 1.0, 0, -1.0), ValueError, r"\[renorm\] maxnorm"),
    (lambda: lm.multilabel_margin_loss(lm.ones([3]), lm.asarray([4, -1, -1])), IndexError, r"4"),
    (lambda: lm.multilabel_margin_loss(lm.ones([3]), lm.ones([3])), TypeError, r"must hold integers"),
    (lambda: lm.bilinear(lm.ones([2]), lm.ones([2]), lm.ones([1, 2, 3])), ValueError, r"\[bilinear\] x1"),
    (lambda: lm.channel_shuffle(lm.ones([1, 3, 2]), 2), ValueError, r"\[channel_shuffle\] 2 groups"),
    (lambda: lm.max_unpool1d(lm.ones([1, 1, 2]), lm.asarray([[[0, 9]]]), 2), IndexError, r"9"),
    (lambda: lm.max_unpool1d(lm.ones([1, 1, 2]), lm.asarray([[0, 1]]), 2), ValueError, r"\[max_unpool1d\] indices"),
    (
        lambda: lm.max_unpool1d(lm.ones([1, 1, 2]), lm.asarray([[[0, 1]]]), 2, output_size=[9]),
        ValueError,
        r"\[max_unpool1d\] output_size",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_arguments_raise(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
