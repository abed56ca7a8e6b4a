"""Large integers where they become floating numbers: differences between them are not lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

# Seconds since 1970: float32 holds every 128th of them.
FIRST = 1_700_000_000
A, B = (np.random.default_rng(5).integers(0, 50, (2, 4, 6)) + FIRST).astype("int64")

Call = Callable[..., Any]
CALLS: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    "var": (lambda a: lm.var(a, axis=0), (A,)),
    "std": (lambda a: lm.std(a, correction=1), (A,)),
    "var_mean": (lambda a: lm.var_mean(a, axis=1)[0], (A,)),
    "std_mean": (lambda a: lm.std_mean(a)[0], (A,)),
    "cov": (lm.cov, (A,)),
    "corrcoef": (lm.corrcoef, (A,)),
    "cdist": (lm.cdist, (A, B)),
    "pdist": (lambda a: lm.pdist(a, 3), (A,)),
    "dist": (lm.dist, (A, B)),
    "pairwise_distance": (lm.pairwise_distance, (A, B)),
    "softmax": (lm.softmax, (A,)),
    "log_softmax": (lm.log_softmax, (A,)),
    "softmin": (lm.nn.functional.softmin, (A,)),
    "mse_loss": (lm.mse_loss, (A, B)),
    "huber_loss": (lm.huber_loss, (A, B)),
    "smooth_l1_loss": (lm.smooth_l1_loss, (A, B)),
    "gradient": (lambda a: lm.gradient(a, axis=1)[0], (A,)),
    "gradient at places": (
        lambda a, places: lm.gradient(a, spacing=[places], axis=1)[0],
        (np.ones((4, 6), "float32") * np.arange(6, dtype="float32") ** 2, np.sort(A[0]) + np.arange(6)),
    ),
    "trapezoid": (lambda x: lm.trapezoid(lm.ones([6]), x), (A,)),
    "cumulative_trapezoid": (lambda x: lm.cumulative_trapezoid(lm.ones([6]), x), (A[0],)),
    "sin": (lm.sin, (A,)),
    "squared_difference": (lm.squared_difference, (A, B)),
    "with a number": (lambda a: a - (FIRST + 0.5), (A,)),
    "hypot": (lambda a, b: lm.hypot(a, b), (A, B)),
    "bessel_j0": (lm.bessel_j0, (A,)),
    "bessel_j1": (lm.bessel_j1, (A,)),
    "bessel_y0": (lm.bessel_y0, (A,)),
    "bessel_y1": (lm.bessel_y1, (A,)),
    "spherical_bessel_j0": (lm.spherical_bessel_j0, (A,)),
    "gammainc": (lm.gammainc, (A, B)),
    "gammaincc": (lm.gammaincc, (A, B)),
    "fft": (lambda a: lm.fft.fft(a).imag, (A,)),
    "ifft": (lambda a: lm.fft.ifft(a)[:, 1:].real, (A,)),
    "fftn": (lambda a: lm.fft.fftn(a)[1:, 1:].real, (A,)),
    "rfft": (lambda a: lm.fft.rfft(a)[:, 1:].real, (A,)),
    "irfft": (lambda a: lm.fft.irfft(a)[:, 1:], (A,)),
    "rfftn": (lambda a: lm.fft.rfftn(a)[1:, 1:].imag, (A,)),
    "hfftn": (lambda a: lm.fft.hfftn(a)[1:, 1:], (A,)),
    "stft": (lambda a: lm.stft(a[0], 4, center=False)[1:].imag, (A,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_float64_rounded(name: str) -> None:
    function, arrays = CALLS[name]
    wide = [lm.asarray(a.astype("float64")) for a in arrays]
    want = function(*wide)
    for dtype in ("int64", "int32", "uint32"):
        given = [lm.asarray(a.astype(dtype) if a.dtype.kind == "i" else a) for a in arrays]
        got = function(*given)
        assert got.dtype == lm.float32
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-5 * np.abs(want.numpy()).max())


@pytest.mark.parametrize(
    "function",
    [
        lm.mean,
        lambda a: lm.mean(a, axis=0),
        lambda a: lm.var_mean(a, axis=0)[1],
        lambda a: lm.std_mean(a, axis=0)[1],
        lambda a: lm.trapezoid(a, axis=0),
        lambda a: lm.cumulative_trapezoid(a, axis=0),
        lambda a: lm.airy_ai(-a),
        lambda a: lm.interpolate(a.T[None], size=[1], mode="area"),
        lambda a: lm.interpolate(a.T[None], size=[1], mode="linear"),
    ],
    ids=[
        "mean",
        "mean of columns",
        "var_mean",
        "std_mean",
        "trapezoid",
        "cumulative_trapezoid",
        "airy_ai",
        "area",
        "linear",
    ],
)
def test_large_integers_of_both_signs(function: Call) -> None:
    a = np.concatenate([A, 7 - A[::-1] + np.arange(24).reshape(4, 6)])
    want = function(lm.asarray(a.astype("float64")))
    for dtype in ("int64", "int32"):
        got = function(lm.asarray(a.astype(dtype)))
        assert got.dtype == lm.float32
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64"])
def test_squares_of_the_largest_integers(dtype: str) -> None:
    a = np.full((1, 3, 2), np.iinfo(dtype).max, dtype)
    want = lm.local_response_norm(lm.asarray(a.astype("float64")), 2)
    np.testing.assert_allclose(lm.local_response_norm(lm.asarray(a), 2).numpy(), want.numpy(), rtol=1e-5)


def test_small_integers_and_bools_become_float32_as_before() -> None:
    for dtype in ("int8", "uint8", "int16", "bool"):
        x = lm.asarray([0, 1, 1]).astype(dtype)
        assert lm.var(x).dtype == lm.sin(x).dtype == lm.softmax(x).dtype == lm.float32
        np.testing.assert_allclose(lm.var(x).item(), 2 / 9, rtol=1e-6)


def test_examples_and_compiled_functions_agree() -> None:
    rows = lm.asarray(A)
    np.testing.assert_array_equal(lm.vmap(lm.std)(rows).numpy(), lm.std(rows, axis=1).numpy())
    compiled = lm.compile(lambda x: lm.sin(x) * 2 + (x - (FIRST + 0.5)))
    want = lm.sin(rows) * 2 + (rows - (FIRST + 0.5))
    for _ in range(4):
        np.testing.assert_array_equal(compiled(rows).numpy(), want.numpy())
