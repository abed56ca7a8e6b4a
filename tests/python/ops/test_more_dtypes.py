"""Dtypes that need more than an operator's kernels: integers, bools and complex numbers, beside numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lamella as lm

from .draws import complex_numbers

#: Draws the constants of the tables below, at import; each test has a generator of its own.
TABLE = np.random.default_rng(23)


A, B = complex_numbers(TABLE, 3, 4), complex_numbers(TABLE, 3, 4)


def logcumsumexp(a: np.ndarray, axis: int) -> np.ndarray:
    return np.log(np.cumsum(np.exp(a), axis))


#: Functions of complex tensors, and what they are.
COMPLEX: list[tuple[str, Callable[..., lm.Tensor], Callable[..., np.ndarray], list[np.ndarray]]] = [
    ("logaddexp", lm.logaddexp, lambda a, b: np.log(np.exp(a) + np.exp(b)), [A, B]),
    ("logaddexp of a number", lambda a: lm.logaddexp(a, 0.5), lambda a: np.log(np.exp(a) + np.exp(0.5)), [A]),
    ("logcumsumexp", lambda a: lm.logcumsumexp(a, 1), lambda a: logcumsumexp(a, 1), [A * 0.5]),
    ("softsign", lm.softsign, lambda a: a / (1 + np.abs(a)), [A]),
    ("ldexp", lm.ldexp, lambda a, b: a * 2**b, [A, B]),
    ("rms_norm", lambda a, b: lm.rms_norm(a, 4, b, 0.1),
     lambda a, b: a / np.sqrt((a * a).mean(-1, keepdims=True) + 0.1) * b, [A, B[0]]),
    ("pairwise_distance", lambda a, b: lm.pairwise_distance(a, b, eps=0.0), lambda a, b: np.linalg.norm(a - b, axis=-1),
     [A, B]),
    ("pairwise_distance by p", lambda a, b: lm.pairwise_distance(a, b, 3.0, 0.0),
     lambda a, b: (np.abs(a - b) ** 3).sum(-1) ** (1 / 3), [A, B]),
    ("unfold", lambda a: lm.unfold(a[None], (3, 1)), lambda a: a, [A]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "reference", "given"), [case[1:] for case in COMPLEX], ids=[case[0] for case in COMPLEX]
)
def test_complex_values_and_gradients(
    function: Callable[..., lm.Tensor], reference: Callable[..., np.ndarray], given: list[np.ndarray]
) -> None:
    got = function(*[lm.asarray(a) for a in given]).numpy()
    wanted = reference(*given).reshape(got.shape)
    # Logarithms are told apart by what they are logarithms of: their imaginary parts differ by whole turns.
    np.testing.assert_allclose(np.exp(got), np.exp(wanted), rtol=1e-11)
    np.testing.assert_allclose(got.real, wanted.real, rtol=1e-11, atol=1e-13)
    single = function(*[lm.asarray(a.astype("complex64")) for a in given])
    assert single.dtype.name == {"complex128": "complex64", "float64": "float32"}[str(got.dtype)]
    np.testing.assert_allclose(np.exp(single.numpy()), np.exp(wanted), rtol=2e-4)
    leaves = [lm.tensor(a, stop_gradient=False) for a in given]
    assert lm.autograd.gradcheck(function, leaves)
    assert lm.autograd.gradgradcheck(function, leaves)


def test_logarithms_of_sums_at_their_limits() -> None:
    inf = float("inf")
    a, b = lm.asarray([-inf + 0j, -inf + 0j, 800 + 1j, inf + 0j]), lm.asarray([-inf + 0j, 2 + 1j, 800 + 1j, 1 + 1j])
    got = lm.logaddexp(a, b).numpy()
    assert got[0].real == -inf and got[3].real == inf
    np.testing.assert_allclose(got[1:3], [2 + 1j, 800 + np.log(2) + 1j])
    x = lm.asarray([-inf + 0j, 1 + 1j, 900 + 2j, 3 + 0j])
    got = lm.logcumsumexp(x, 0).numpy()
    assert got[0].real == -inf
    np.testing.assert_allclose(got[1:], [1 + 1j, 900 + 2j, 900 + 2j])
    cancelled = lm.logcumsumexp(lm.asarray([1 + 0j, 1 + 1j * np.pi]), 0).numpy()
    assert cancelled[1].real < -14
    assert np.isnan(lm.logcumsumexp(lm.asarray([1 + 0j, complex("nan"), 1 + 0j]), 0).numpy()[1:]).all()


def test_bools() -> None:
    x = lm.asarray([True, False])
    assert (lm.sign(x).tolist(), lm.sign(x).dtype.name) == ([True, False], "bool")
    assert (lm.square(x).tolist(), lm.square(x).dtype.name) == ([1, 0], "int64")
    y = lm.heaviside(lm.asarray([True, False, False]), lm.asarray([False, True, False]))
    assert (y.tolist(), y.dtype.name) == ([True, True, False], "bool")
    a, b = lm.asarray([True, False, True]), lm.asarray([True, True])
    y = lm.addr(lm.zeros([3, 2], dtype="bool"), a, b)
    assert (y.tolist(), y.dtype.name) == ([[True, True], [False, False], [True, True]], "bool")
    assert lm.addr(lm.ones([3, 2], dtype="bool"), a, b, beta=0).tolist() == y.tolist()
    assert not lm.addr(lm.zeros([3, 2], dtype="bool"), a, b, alpha=False).numpy().any()


def test_limits_of_logit_the_other_way_around() -> None:
    x = lm.tensor([0.2, 0.65, 0.9, float("nan")], stop_gradient=False)
    y = lm.logit(x, 0.6)
    np.testing.assert_allclose(y.detach().numpy(), [np.log(1.5), -np.log(1.5), -np.log(1.5), np.nan], rtol=1e-6)
    y[:3].sum().backward()
    assert x.grad.tolist()[:3] == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_powers_of_two_beyond_the_range(dtype: str) -> None:
    info = np.finfo(dtype)
    numbers = np.array([0, -0.0, info.smallest_subnormal, info.tiny, 1.5, -info.max, np.inf, np.nan], dtype)[:, None]
    exponents = np.array([-40000, -2100, -1074, -300, -150, -30, -1, 0, 1, 30, 150, 300, 1074, 2097, 40000])
    with np.errstate(over="ignore"):
        want = np.ldexp(numbers, exponents)
    for whole in ("int32", "int64"):
        got = lm.ldexp(lm.asarray(numbers), lm.asarray(exponents.astype(whole))).numpy()
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[:-1]), np.signbit(want[:-1]))
    x = lm.tensor(numbers[2:5], stop_gradient=False)
    lm.ldexp(x, lm.asarray(-exponents[8:10])).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((3, 1), 0.5 + 2.0**-30, dtype))


def test_low_precision_by_way_of_float32() -> None:
    x = lm.full([64], 300.0, dtype="float16")
    np.testing.assert_allclose(lm.dist(x, lm.zeros_like(x), 4).item(), 300 * 64**0.25, rtol=1e-3)
    y = lm.ldexp(lm.asarray([1e-4], dtype="float16"), lm.asarray([20]))
    assert y.dtype.name == "float16"
    np.testing.assert_allclose(y.item(), np.float32(np.float16(1e-4)) * 2**20, rtol=1e-3)
    w = lm.asarray([1.0, 2.0, 3.0])
    assert lm.cov(lm.ones([2, 3], dtype="float16"), aweights=w).dtype.name == "float32"
