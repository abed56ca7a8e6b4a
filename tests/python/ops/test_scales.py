"""Norms and distances of numbers whose powers are beyond the range: a power of two in front changes nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import lamella as lm
from support.default_device import ON_CPU

INF = math.inf
X, Y = np.random.default_rng(7).standard_normal((2, 4, 5))
WIDE, OTHER = np.random.default_rng(8).standard_normal((2, 30, 70))
Z = X + 1j * Y

Function = Callable[..., lm.Tensor]


def norms(p: float) -> dict[str, tuple[Function, Sequence[np.ndarray], int]]:
    """Functions by name, with their arguments and the power of a common factor that they give."""
    found: dict[str, tuple[Function, Sequence[np.ndarray], int]] = {
        "vector_norm": (lambda x: lm.linalg.vector_norm(x, axis=-1, ord=p), [X], 1),
        "vector_norm, all": (lambda x: lm.linalg.vector_norm(x, ord=p), [X], 1),
        "vector_norm, across": (lambda x: lm.linalg.vector_norm(x.mT, axis=1, keepdims=True, ord=p), [X], 1),
        "vector_norm, complex": (lambda x: lm.linalg.vector_norm(x, axis=0, ord=p), [Z], 1),
        "pairwise_distance": (lambda x, y: lm.pairwise_distance(x, y, p, 0.0), [X, Y], 1),
        "dist": (lambda x, y: lm.dist(x, y, p), [X, Y], 1),
    }
    if p > 0:
        found["cdist"] = lambda x, y: lm.cdist(x, y, p), [X, Y], 1
        found["cdist, wide"] = lambda x, y: lm.cdist(x, y, p), [WIDE, OTHER], 1
        found["pdist"] = lambda x: lm.pdist(x, p), [X], 1
    return found


CASES = {f"{name}, p={p}": case for p in (1, 2, 3, 4, 0.5, -2, INF, -INF) for name, case in norms(p).items()}
CASES |= {
    "matrix_norm": (lm.linalg.matrix_norm, [X], 1),
    "std": (lambda x: lm.std(x, axis=-1), [X], 1),
    "std, across": (lambda x: lm.std(x, axis=0, correction=1), [X], 1),
    "corrcoef": (lm.corrcoef, [X], 0),
    "corrcoef, complex": (lm.corrcoef, [Z], 0),
    "cosine_similarity": (lambda x, y: lm.cosine_similarity(x, y, eps=0.0), [X, Y], 0),
    "pinv": (lm.linalg.pinv, [X], -1),
    "lstsq": (lambda a, b: lm.linalg.lstsq(a, b).solution, [WIDE[:4, :3], OTHER[:4, :2]], 0),
    "layer_norm": (lambda x: lm.layer_norm(x, (5,), eps=0.0), [X], 0),
    "rms_norm": (lambda x: lm.rms_norm(x, (5,), eps=0.0), [X], 0),
    "group_norm": (lambda x: lm.group_norm(x.reshape([1, 4, 5]), 2, eps=0.0), [X], 0),
    "instance_norm": (lambda x: lm.instance_norm(x.reshape([1, 4, 5]), eps=0.0), [X], 0),
    "batch_norm": (lambda x: lm.batch_norm(x, None, None, training=True, eps=0.0), [X], 0),
    "batch_norm, planes": (
        lambda x: lm.batch_norm(x.reshape([2, 3, 10, 35]), None, None, training=True, eps=0.0),
        [WIDE],
        0,
    ),
}
CASES |= {
    f"lp_pool1d, p={p}": (lambda x, p=p: lm.lp_pool1d(x.reshape([1, 4, 5]), p, 3, 2, ceil_mode=True), [np.abs(X)], 1)
    for p in (1.5, 2, 10)
}
CASES["lp_pool2d"] = lambda x: lm.lp_pool2d(x.reshape([1, 1, 4, 5]), 3, (2, 3), 1), [np.abs(X)], 1
#: Powers of two that squares bear on neither side, and those that fourth powers do not.
SHIFTS = {"float32": (34, -36, 70, -70, 110), "float64": (300, -300, 520, -520, 950)}


def tensors_of(arrays: Sequence[np.ndarray], dtype: str) -> list[lm.Tensor]:
    numbers = {"float32": "complex64", "float64": "complex128"}[dtype]
    return [lm.asarray(a.astype(numbers if np.iscomplexobj(a) else dtype)) for a in arrays]


def weighted(y: lm.Tensor) -> lm.Tensor:
    """The sum of y, each element with a factor of its own."""
    real = lm.real(y) if lm.isdtype(y.dtype, "complex floating") else y
    weights = np.cos(np.arange(math.prod(y.shape))).reshape(y.shape)
    return (real * lm.asarray(weights).astype(real.dtype)).sum()


def reverse(f: Function, xs: list[lm.Tensor], create_graph: bool = False) -> list[lm.Tensor]:
    for x in xs:
        x.stop_gradient = False
    y = f(*xs)
    return [y, *lm.grad(weighted(y), xs, create_graph=create_graph)]


def recorded(f: Function, xs: list[lm.Tensor]) -> list[lm.Tensor]:
    """The gradients are computed by the operators that a second derivative goes through."""
    return reverse(f, xs, create_graph=True)


def forward(f: Function, xs: list[lm.Tensor]) -> list[lm.Tensor]:
    found: list[lm.Tensor] = []
    for i in range(len(xs)):
        directions = [
            lm.cos(lm.arange(x.size)).reshape(x.shape).astype(x.dtype) * float(i == j) for j, x in enumerate(xs)
        ]
        y, derivative = lm.jvp(f, tuple(xs), tuple(directions))
        found += [derivative] if found else [y, derivative]
    return found


def mapped(f: Function, xs: list[lm.Tensor]) -> list[lm.Tensor]:
    """The first of two examples."""

    def one(*xs: lm.Tensor) -> tuple[lm.Tensor, ...]:
        _, pull = lm.vjp(lambda *xs: weighted(f(*xs)), *xs)
        grads = pull(lm.ones([], dtype=lm.real(xs[0]).dtype))
        return f(*xs), *(grads if isinstance(grads, tuple) else (grads,))

    return [y[0] for y in lm.vmap(one)(*(lm.stack([x, x * 0.5]) for x in xs))]


Mode = Callable[[Function, list[lm.Tensor]], list[lm.Tensor]]
MODES: list[Mode] = [reverse, recorded, forward, mapped]


def check_factors(case: tuple[Function, Sequence[np.ndarray], float], mode: Mode, dtype: str, tolerance: float) -> None:
    """Values and gradients of arrays times powers of two are those of the arrays, times powers of two."""
    f, arrays, degree = case

    def values(shift: int) -> list[np.ndarray]:
        return [y.detach().numpy() for y in mode(f, tensors_of([a * 2.0**shift for a in arrays], dtype))]

    plain = values(0)
    for shift in SHIFTS[dtype]:
        if max(abs(shift * degree), abs(shift * (degree - 1))) > (112 if dtype == "float32" else 980):
            continue  # the result itself is beyond the range
        for i, (got, want) in enumerate(zip(values(shift), plain, strict=True)):
            factor = 2.0 ** (shift * (degree - (i > 0)))
            # The root of a power far from 1 has a rounded exponent.
            eps = tolerance * float(np.finfo(dtype).eps) * max(8, abs(shift))
            np.testing.assert_allclose(got / factor, want, rtol=eps, atol=2 * eps, err_msg=f"2^{shift}, result {i}")


@pytest.mark.parametrize("dtype", SHIFTS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.__name__)
@pytest.mark.parametrize("name", CASES)
def test_a_factor_comes_out(name: str, mode: Mode, dtype: str) -> None:
    check_factors(CASES[name], mode, dtype, 1)


def hermitian(x: lm.Tensor) -> lm.Tensor:
    return (x + lm.conj(x.mT)) / 2


def shares(vectors: lm.Tensor) -> lm.Tensor:
    """The squares of their elements, which do not depend on the signs of vectors."""
    return lm.real(vectors * lm.conj(vectors))


A, TALL = WIDE[:4, :4], WIDE[:5, 10:13]
DEFINITE = A @ A.T + 4 * np.eye(4)
COMPLEX, COMPLEX_TALL = A + 1j * OTHER[:4, :4], TALL + 1j * OTHER[:5, 10:13]
la = lm.linalg
#: Functions of matrices, whose errors grow with the matrices' condition.
OF_MATRICES: dict[str, tuple[Function, Sequence[np.ndarray], float]] = {
    "svd, values": (lambda x: la.svd(x, full_matrices=False)[1], [TALL], 1),
    "svd, left": (lambda x: shares(la.svd(x, full_matrices=False)[0]), [TALL], 0),
    "svd, right": (lambda x: shares(la.svd(x, full_matrices=False)[2]), [TALL.T.copy()], 0),
    "svd, complex": (lambda x: shares(la.svd(x, full_matrices=False)[0]), [COMPLEX_TALL], 0),
    "svdvals": (la.svdvals, [TALL], 1),
    "eigh, values": (lambda x: la.eigh(hermitian(x))[0], [A], 1),
    "eigh, vectors": (lambda x: shares(la.eigh(hermitian(x))[1]), [A], 0),
    "eigh, complex": (lambda x: shares(la.eigh(hermitian(x))[1]), [COMPLEX], 0),
    "eigvals": (lambda x: lm.abs(la.eigvals(x)).sum(), [A], 1),
    "qr, q": (lambda x: la.qr(x)[0], [TALL], 0),
    "qr, r": (lambda x: la.qr(x)[1], [COMPLEX_TALL], 1),
    "cholesky": (lambda x: la.cholesky(hermitian(x)), [DEFINITE], 0.5),
    "inv": (la.inv, [A], -1),
    "solve": (la.solve, [A, OTHER[:4, :2]], 0),
    "solve_triangular": (lambda a, b: la.solve_triangular(a, b, upper=False), [np.tril(DEFINITE), OTHER[:4, :2]], 0),
    "lu, lower": (lambda x: la.lu(x)[1], [A], 0),
    "lu, upper": (lambda x: la.lu(x)[2], [A], 1),
    "spectral norm": (lambda x: la.matrix_norm(x, ord=2), [A], 1),
    "nuclear norm": (lambda x: la.matrix_norm(x, ord="nuc"), [A], 1),
    "cond": (la.cond, [A], 0),
    "matrix_sqrth": (lambda x: la.matrix_sqrth(hermitian(x)), [DEFINITE], 0.5),
    "polar": (lambda x: la.polar(x)[0], [A], 0),
    "std, complex": (lambda x: lm.std(x, axis=1), [COMPLEX], 1),
    "rms_norm, complex": (lambda x: lm.rms_norm(x, (4,), eps=0.0), [COMPLEX], 0),
    "quotients, complex": (lm.divide, [COMPLEX, COMPLEX[::-1].copy()], 0),
    "roots, complex": (lm.sqrt, [COMPLEX], 0.5),
}


@pytest.mark.parametrize("dtype", SHIFTS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.__name__)
@pytest.mark.parametrize("name", OF_MATRICES)
def test_a_factor_of_matrices_comes_out(name: str, mode: Mode, dtype: str) -> None:
    check_factors(OF_MATRICES[name], mode, dtype, 500)


NORMS: dict[str, Callable[[lm.Tensor, float], lm.Tensor]] = {
    "layer_norm": lambda x, eps: lm.layer_norm(x, (5,), eps=eps),
    "rms_norm": lambda x, eps: lm.rms_norm(x, (5,), eps=eps),
    "group_norm": lambda x, eps: lm.group_norm(x.reshape([1, 4, 5]), 2, eps=eps),
    "instance_norm": lambda x, eps: lm.instance_norm(x.reshape([1, 4, 5]), eps=eps),
    "batch_norm": lambda x, eps: lm.batch_norm(x, None, None, training=True, eps=eps),
    "batch_norm, planes": lambda x, eps: lm.batch_norm(x.reshape([2, 2, 5]), None, None, training=True, eps=eps),
}


@pytest.mark.parametrize("dtype", SHIFTS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.__name__)
@pytest.mark.parametrize("name", NORMS)
def test_eps_counts_for_nothing_beside_large_numbers(name: str, mode: Mode, dtype: str) -> None:
    plain = [y.detach().numpy() for y in mode(lambda x: NORMS[name](x, 0.0), tensors_of([X], dtype))]
    for shift in (shift for shift in SHIFTS[dtype] if shift > 0):
        xs = tensors_of([X * 2.0**shift], dtype)
        found = [y.detach().numpy() for y in mode(lambda x: NORMS[name](x, 1e-5), xs)]
        eps = float(np.finfo(dtype).eps) * shift
        for got, want, factor in zip(found, plain, (1.0, 2.0**shift), strict=True):
            np.testing.assert_allclose(got * factor, want, rtol=eps, atol=2 * eps, err_msg=f"2^{shift}")


@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "instance_norm", "batch_norm", "batch_norm, planes"])
def test_gradients_far_from_1_meet_inputs_far_from_1(name: str) -> None:
    f, (array,), _ = CASES[name]
    slopes = np.cos(np.arange(array.size)).reshape(array.shape)

    def gradient(shift: int, by: int) -> np.ndarray:
        x = lm.asarray((array * 2.0**shift).astype("float32"))
        x.stop_gradient = False
        y = f(x)
        (g,) = lm.grad((y * lm.asarray((slopes.reshape(y.shape) * 2.0**by).astype("float32"))).sum(), [x])
        return g.numpy().astype("float64") * 2.0 ** (shift - by)

    plain = gradient(0, 0)
    for shift, by in ((90, 60), (120, 100), (-70, -60), (-100, -100)):
        np.testing.assert_allclose(gradient(shift, by), plain, rtol=1e-4, atol=1e-5, err_msg=f"2^{shift}, 2^{by}")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_norms_of_what_is_zero_infinite_or_no_number(dtype: str) -> None:
    x = lm.asarray(np.array([[0.0, 0.0], [0.0, INF], [math.nan, 1.0], [3.0, -4.0]])).astype(dtype)
    for p, want in (
        (2.0, [0, INF, math.nan, 5]),
        (3.0, [0, INF, math.nan, 91 ** (1 / 3)]),
        (-2.0, [0, 0, math.nan, 2.4]),
    ):
        got = lm.linalg.vector_norm(x, axis=1, ord=p)
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got.astype("float64").numpy(), want, rtol=4e-3 if "16" in dtype else 1e-6)
    zero = lm.zeros([3, 2], dtype=dtype)
    zero.stop_gradient = False
    for p in (2.0, 3.0, 0.5, -1.0):
        (g,) = lm.grad(lm.linalg.vector_norm(zero, axis=1, ord=p).sum(), [zero])
        assert g.tolist() == [[0.0, 0.0]] * 3


def test_the_largest_numbers_of_16_bits_have_a_norm() -> None:
    for dtype, largest in (("float16", 60000.0), ("bfloat16", 1e38)):
        x = lm.full([3], largest / 2, dtype=dtype)
        got = lm.linalg.vector_norm(x).astype("float64").item()
        assert abs(got / (largest / 2 * math.sqrt(3)) - 1) < 0.01


def test_norms_are_scaled_under_vmap_and_along_axes_that_are_apart() -> None:
    x = lm.asarray(np.random.default_rng(9).standard_normal((3, 4, 5)).astype("float32"))
    for shift in (0, 100, -100):
        large = x * 2.0**shift
        want = np.sqrt((x.numpy().astype("float64") ** 2).sum((0, 2))) * 2.0**shift
        np.testing.assert_allclose(lm.linalg.vector_norm(large, axis=(0, 2)).numpy(), want, rtol=1e-6)
        over = lm.vmap(lambda row: lm.linalg.vector_norm(row, axis=-1), in_axes=1)(large)
        want = np.sqrt((x.numpy().astype("float64") ** 2).sum(2)).T * 2.0**shift
        np.testing.assert_allclose(over.numpy(), want, rtol=1e-6)


def normal(a: np.ndarray, *axes: int) -> np.ndarray:
    return (a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + 1e-5)


#: Functions of deviations from a mean, with numpy's of float64.
DEVIATIONS: dict[str, tuple[Function, Callable[[np.ndarray], np.ndarray]]] = {
    "var": (lambda x: lm.var(x, axis=1), lambda a: a.var(1)),
    "var, across": (lambda x: lm.var(x, axis=0), lambda a: a.var(0)),
    "std": (lambda x: lm.std(x, correction=1), lambda a: a.std(ddof=1)),
    "cov": (lm.cov, np.cov),
    "corrcoef": (lm.corrcoef, np.corrcoef),
    "layer_norm": (lambda x: lm.layer_norm(x, (1000,)), lambda a: normal(a, 1)),
    "batch_norm": (lambda x: lm.batch_norm(x, None, None, training=True), lambda a: normal(a, 0)),
    "batch_norm of planes": (
        lambda x: lm.batch_norm(x.reshape([6, 10, 10, 10]), None, None, training=True),
        lambda a: normal(a.reshape(6, 10, 10, 10), 0, 2, 3),
    ),
    "group_norm": (
        lambda x: lm.group_norm(x.reshape([6, 10, 100]), 5),
        lambda a: normal(a.reshape(6, 5, 200), 2).reshape(6, 10, 100),
    ),
    "instance_norm": (lambda x: lm.instance_norm(x.reshape([6, 10, 100])), lambda a: normal(a.reshape(6, 10, 100), 2)),
}


@pytest.mark.skipif(not ON_CPU, reason="kernels of CUDA round the mean")
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("name", DEVIATIONS)
def test_deviations_do_not_depend_on_the_mean(name: str, offset: float) -> None:
    f, reference = DEVIATIONS[name]
    generator = np.random.default_rng(10)
    a = (generator.standard_normal((6, 1000)) + offset).astype("float32")
    x = lm.tensor(a, stop_gradient=False)
    y = f(x)
    want = reference(a.astype("float64"))
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=0, atol=4e-6 * np.abs(want).max())
    # The gradient is that of the numbers without the offset, which float64 has to rounding.
    weights = generator.standard_normal(y.shape)
    exact = lm.tensor(a.astype("float64") - offset, stop_gradient=False)
    (got,) = lm.grad((y * lm.asarray(weights.astype("float32"))).sum(), [x])
    (expected,) = lm.grad((f(exact) * lm.asarray(weights)).sum(), [exact])
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=0, atol=1e-5 * np.abs(expected.numpy()).max())
