"""Dtypes that need more than an operator's kernels: integers, bools and complex numbers, beside numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

#: Draws the constants of the tables below, at import; each test has a generator of its own.
TABLE = np.random.default_rng(23)
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def integers(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    low = 0 if dtype.startswith("u") else -4
    return rng.integers(low, 5, shape).astype(dtype)


def complex_numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


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


def quotient(sums: np.ndarray, counts: Any) -> np.ndarray:
    return np.trunc(sums / counts).astype("int64")


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32"])
def test_means_of_windows_of_integers(dtype: str, rng: np.random.Generator) -> None:
    x = integers(rng, dtype, 2, 3, 6, 7) * 25
    sums = lambda **more: lm.avg_pool2d(lm.asarray(x.astype("float64")), 3, 2, 1, divisor_override=1, **more).numpy()  # noqa: E731
    ones = lm.avg_pool2d(lm.ones(x.shape), 3, 2, 1, divisor_override=1).numpy()
    cases: list[tuple[dict[str, Any], Any]] = [
        ({}, 9),
        ({"count_include_pad": False}, ones),
        ({"divisor_override": 4}, 4),
        ({"divisor_override": -1}, -1),
    ]
    for setting, counts in cases:
        y = lm.avg_pool2d(lm.asarray(x), 3, 2, 1, **setting)
        assert y.dtype.name == dtype
        np.testing.assert_array_equal(y.numpy(), quotient(sums(), counts).astype(dtype))
    assert (
        lm.avg_pool1d(lm.asarray(x[0]), 7).tolist()
        == quotient(x[0].astype("float64").sum(-1, keepdims=True), 7).tolist()
    )
    assert lm.avg_pool3d(lm.asarray(x), (3, 2, 2)).shape == (2, 1, 3, 3)
    with pytest.raises(TypeError, match=r"\[avg_pool1d\] does not take dtype uint64"):
        lm.avg_pool1d(lm.ones([1, 1, 4], dtype="uint64"), 2)


def test_means_of_extreme_integers() -> None:
    low, high = -(2**63), 2**63 - 1
    x = lm.asarray([[[low, high]]])
    assert lm.avg_pool1d(x, 1).tolist() == [[[low, high]]]
    assert lm.avg_pool2d(x[None], (1, 1), divisor_override=-1).tolist() == [[[[low, -high]]]]  # -low is not an int64
    assert lm.avg_pool2d(x[None], (1, 1), divisor_override=high).tolist()[0][0][0][0] in (-1, -2)
    assert lm.local_response_norm(lm.asarray([[[3]], [[-4]]]), 2, alpha=2.0, beta=1.0, k=1.0).dtype.name == "float32"


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "complex64", "complex128"])
def test_windows_keep_the_dtype(dtype: str, rng: np.random.Generator) -> None:
    image = rng.integers(0, 2, (2, 3, 5, 6))
    x = lm.asarray(image).astype(dtype)
    columns = lm.unfold(x, (2, 3), padding=1, stride=2)
    assert columns.dtype.name == dtype
    wanted = lm.unfold(lm.asarray(image.astype("float64")), (2, 3), padding=1, stride=2)
    np.testing.assert_array_equal(columns.astype("complex128").numpy(), wanted.numpy())
    if dtype == "bool":
        with pytest.raises(TypeError, match=r"\[fold\] does not take dtype bool"):
            lm.fold(columns, (5, 6), (2, 3), padding=1, stride=2)
        return
    back = lm.fold(columns, (5, 6), (2, 3), padding=1, stride=2)
    assert back.dtype.name == dtype
    sums = lm.fold(wanted, (5, 6), (2, 3), padding=1, stride=2)
    np.testing.assert_array_equal(back.astype("complex128").numpy(), sums.numpy())


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


def test_products_of_integers_stay_integers(rng: np.random.Generator) -> None:
    a, b, w = (integers(rng, "int64", *shape) for shape in ((2, 3), (2, 4), (5, 3, 4)))
    y = lm.bilinear(*[lm.asarray(v) for v in (a, b, w)])
    assert y.dtype.name == "int64"
    np.testing.assert_array_equal(y.numpy(), np.einsum("ni,oij,nj->no", a, w, b))


@pytest.mark.parametrize("p", [-1.0, 0.0, float("-inf")])
def test_distances_by_any_order(p: float, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    got = lm.pairwise_distance(lm.asarray(a), lm.asarray(b), p, 0.0)
    np.testing.assert_allclose(got.numpy(), [np.linalg.norm(d, p) for d in a - b], rtol=1e-12)
    with pytest.raises(ValueError, match="p must be a number, got NaN"):
        lm.pairwise_distance(lm.asarray(a), lm.asarray(b), float("nan"))


def test_limits_of_logit_the_other_way_around() -> None:
    x = lm.tensor([0.2, 0.65, 0.9, float("nan")], stop_gradient=False)
    y = lm.logit(x, 0.6)
    np.testing.assert_allclose(y.detach().numpy(), [np.log(1.5), -np.log(1.5), -np.log(1.5), np.nan], rtol=1e-6)
    y[:3].sum().backward()
    assert x.grad.tolist()[:3] == [0, 0, 0]


def test_complex_windows(rng: np.random.Generator) -> None:
    x, w = rng.normal(size=40), complex_numbers(rng, 8)
    spectra = lm.stft(lm.asarray(x), 8, window=lm.asarray(w), center=False)
    parts = np.lib.stride_tricks.sliding_window_view(x, 8)[::2] * w
    assert spectra.shape == (8, 17)  # all frequencies
    np.testing.assert_allclose(spectra.numpy(), np.fft.fft(parts).T, rtol=1e-10, atol=1e-12)
    back = lm.istft(spectra, 8, window=lm.asarray(w), center=False, return_complex=True)
    np.testing.assert_allclose(back.numpy(), x, rtol=1e-9, atol=1e-9)
    leaf = lm.tensor(w, stop_gradient=False)
    assert lm.autograd.gradcheck(lambda w: lm.stft(lm.asarray(x[:12]), 8, window=w, center=False), [leaf])


def test_random_complex_numbers() -> None:
    lm.seed(3)
    z = lm.randn([20000], dtype="complex128").numpy()
    np.testing.assert_allclose([z.real.var(), z.imag.var()], 0.5, rtol=0.05)
    assert abs(np.corrcoef(z.real, z.imag)[0, 1]) < 0.05
    z = lm.rand([2, 5000], dtype="complex64").numpy()
    assert z.dtype == np.complex64 and z.shape == (2, 5000)
    for part in (z.real, z.imag):
        assert part.min() >= 0 and part.max() < 1
        np.testing.assert_allclose(part.mean(), 0.5, rtol=0.05)
    assert lm.rand([0], dtype="complex64").shape == (0,)
    kept = lm.dropout(lm.full([1000], 1 + 2j, dtype="complex64"), 0.5).numpy()
    assert set(kept.tolist()) == {0, 2 + 4j}
    assert lm.dropout2d(lm.ones([2, 3, 4, 4], dtype="complex128"), 0.0).dtype.name == "complex128"


@pytest.mark.parametrize(("shape", "axis"), [((0,), None), ((3, 0), 1), ((0, 3), 0), ((3, 0), 0)])
def test_products_of_nothing_are_followed(shape: tuple[int, ...], axis: int | None) -> None:
    x = lm.tensor(np.zeros(shape), stop_gradient=False)
    y = lm.prod(x, axis=axis)
    np.testing.assert_array_equal(y.detach().numpy(), np.prod(np.zeros(shape), axis=axis))
    y.sum().backward()
    assert x.grad.shape == shape


def test_low_precision_by_way_of_float32() -> None:
    x = lm.full([64], 300.0, dtype="float16")
    np.testing.assert_allclose(lm.dist(x, lm.zeros_like(x), 4).item(), 300 * 64**0.25, rtol=1e-3)
    y = lm.ldexp(lm.asarray([1e-4], dtype="float16"), lm.asarray([20]))
    assert y.dtype.name == "float16"
    np.testing.assert_allclose(y.item(), np.float32(np.float16(1e-4)) * 2**20, rtol=1e-3)
    w = lm.asarray([1.0, 2.0, 3.0])
    assert lm.cov(lm.ones([2, 3], dtype="float16"), aweights=w).dtype.name == "float32"
