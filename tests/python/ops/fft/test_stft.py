"""stft and istft beside the definition, written in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from ..draws import complex_numbers
from .test_fft import draw


def window_of(n_fft: int, width: int, window: np.ndarray | None) -> np.ndarray:
    left = (n_fft - width) // 2
    return np.pad(np.ones(width) if window is None else window, (left, n_fft - width - left))


def spectra(x: np.ndarray, n_fft: int, hop: int, window: np.ndarray, center: bool, mode: str, onesided: bool) -> Any:
    if center:
        modes: dict[str, Any] = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)], modes[mode])
    parts = np.lib.stride_tricks.sliding_window_view(x, n_fft, -1)[..., ::hop, :] * window
    return np.swapaxes((np.fft.rfft if onesided else np.fft.fft)(parts), -1, -2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(40,), (3, 50), (2, 1, 33)], ids=str)
@pytest.mark.parametrize(
    ("n_fft", "hop", "width", "center", "mode"),
    [
        (8, None, None, True, "reflect"),
        (8, 3, 5, True, "constant"),
        (7, 2, 7, True, "replicate"),
        (9, 9, 4, True, "circular"),
        (16, 5, None, False, "reflect"),
        (1, 1, None, True, "reflect"),
    ],
)
def test_stft(
    dtype: str,
    shape: tuple[int, ...],
    n_fft: int,
    hop: int | None,
    width: int | None,
    center: bool,
    mode: str,
    rng: np.random.Generator,
) -> None:
    x = draw(shape, dtype, rng)
    for window in (None, rng.uniform(0.5, 1, width or n_fft)):
        for onesided in (None, False):
            got = lm.stft(
                lm.asarray(x),
                n_fft,
                hop,
                width,
                None if window is None else lm.asarray(window.astype("float32")),
                center,
                mode,
                onesided=onesided,
                normalized=onesided is None,
            )
            half = onesided is None and not dtype.startswith("complex")
            weights = window_of(n_fft, width or n_fft, None if window is None else window.astype("float32"))
            expected = spectra(x, n_fft, hop or n_fft // 4, weights, center, mode, half)
            if onesided is None:
                expected = expected / np.sqrt(n_fft)
            assert got.shape == expected.shape
            assert got.dtype.name == {"float32": "complex64", "float64": "complex128"}.get(dtype, dtype)
            tolerance = 1e-5 if dtype in ("float32", "complex64") else 1e-12
            np.testing.assert_allclose(got.numpy(), expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize(
    ("dtype", "onesided"),
    [
        ("float32", True),
        ("float32", False),
        ("float64", True),
        ("float64", False),
        ("complex64", False),
        ("complex128", False),
    ],
)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(("n_fft", "hop", "width"), [(8, 2, 8), (9, 4, 6), (16, None, None)])
def test_istft_undoes_stft(
    dtype: str, center: bool, onesided: bool, n_fft: int, hop: int | None, width: int | None, rng: np.random.Generator
) -> None:
    is_complex = dtype.startswith("complex")
    x = draw((2, 64), dtype, rng)
    window = lm.asarray(rng.uniform(0.5, 1, width or n_fft))
    if not center and width not in (None, n_fft):
        window = lm.pad(window, ((n_fft - width) // 2, n_fft - width - (n_fft - width) // 2), value=0.7)
        width = n_fft
    y = lm.stft(lm.asarray(x), n_fft, hop, width, window, center, onesided=onesided, normalized=center)
    back = lm.istft(
        y, n_fft, hop, width, window, center, normalized=center, onesided=onesided, return_complex=is_complex
    )
    n = back.shape[-1]
    assert back.dtype.name == dtype and n > 64 - n_fft - (hop or 4)
    np.testing.assert_allclose(
        back.numpy()[:, :64], x[:, :n], rtol=0, atol=1e-5 if "32" in dtype or "64" in dtype else 1e-12
    )
    if width in (None, n_fft):  # otherwise there is no window over the last elements
        longer = lm.istft(y, n_fft, hop, width, window, center, normalized=center, length=90, return_complex=is_complex)
        assert longer.shape == (2, 90) and not longer.numpy()[:, 64 + n_fft :].any()
        np.testing.assert_allclose(longer.numpy()[:, :n], back.numpy(), rtol=1e-6)
    assert lm.istft(y, n_fft, hop, width, window, center, length=20, return_complex=is_complex).shape == (2, 20)


def test_istft_is_the_nearest_signal(rng: np.random.Generator) -> None:
    """Of a spectrum that no signal has, that of least squares."""
    y = draw((5, 6), "complex128", rng)
    window = rng.uniform(0.5, 1, 8)
    got = lm.istft(lm.asarray(y), 8, 2, window=lm.asarray(window), center=False).numpy()
    frames = np.fft.irfft(y.T, 8)
    total, weights = np.zeros(18), np.zeros(18)
    for i, frame in enumerate(frames):
        total[2 * i : 2 * i + 8] += frame * window
        weights[2 * i : 2 * i + 8] += window**2
    np.testing.assert_allclose(got, total / weights, rtol=1e-12)


def test_windows_of_long_signals(rng: np.random.Generator) -> None:
    """Results and gradients of signals that several threads share are those of one."""
    x = lm.asarray(rng.normal(size=(2, 100_000)))
    before = lm.get_num_threads()
    results = []
    try:
        for threads in (1, 3):
            lm.set_num_threads(threads)
            leaf = lm.tensor(x.numpy(), stop_gradient=False)
            y = lm.stft(leaf, 400, 160)
            lm.abs(y).sum().backward()
            results.append([y.detach().numpy(), leaf.grad.numpy(), lm.istft(y, 400, 160).detach().numpy()])
    finally:
        lm.set_num_threads(before)
    for one, several in zip(*results, strict=True):
        np.testing.assert_array_equal(one, several)
    np.testing.assert_allclose(results[0][2], x.numpy()[:, : results[0][2].shape[1]], atol=1e-12)


def test_sliding_windows_add_up_again(rng: np.random.Generator) -> None:
    """The gradient of sliding_window along the last axis, in every dtype that has one."""
    for size, step, n in ((5, 2, 20), (3, 7, 40), (1, 1, 9), (20000, 300, 50_000)):
        count = (n - size) // step + 1
        for dtype in ("float16", "bfloat16", "float32", "float64", "complex64"):
            x = lm.zeros([2, n], dtype=dtype)
            x.stop_gradient = False
            lm.sliding_window(x, -1, size, step).sum().backward()
            expected = np.zeros(n)
            for i in range(count):
                expected[i * step : i * step + size] += 1
            np.testing.assert_array_equal(x.grad.astype("complex128").numpy(), np.stack([expected] * 2))


X = np.zeros(16)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lm.stft(lm.asarray(X), 0), ValueError, r"\[stft\] n_fft"),
        (lambda: lm.stft(lm.asarray(X), 4, 0), ValueError, r"\[stft\] hop_length"),
        (lambda: lm.stft(lm.asarray(X), 4, 1, 5), ValueError, r"\[stft\] win_length"),
        (lambda: lm.stft(lm.asarray(X), 4, window=lm.ones([3])), ValueError, r"\[stft\] window: expected"),
        (
            lambda: lm.stft(lm.asarray(X), 4, window=lm.ones([4], dtype="complex64"), onesided=True),
            ValueError,
            "onesided",
        ),
        (
            lambda: lm.istft(lm.ones([4, 3], dtype="complex64"), 4, window=lm.ones([4], dtype="complex64")),
            ValueError,
            "complex window",
        ),
        (lambda: lm.stft(lm.asarray(X), 40, 4, center=False), ValueError, "do not fit"),
        (lambda: lm.stft(lm.asarray(X), 40, 4), ValueError, r'\[pad\] mode "reflect"'),
        (lambda: lm.stft(lm.asarray(X), 4, pad_mode="mirror"), ValueError, "mode"),
        (lambda: lm.stft(lm.asarray(1.0), 4), ValueError, "axis of time"),
        (lambda: lm.stft(lm.asarray(X), 4, return_complex=False), ValueError, "view_as_real"),
        (lambda: lm.stft(lm.asarray(X + 0j), 4, onesided=True), ValueError, "onesided=True"),
        (lambda: lm.stft(lm.asarray(X).astype("float16"), 4), TypeError, "stft"),
        (lambda: lm.istft(lm.ones([3, 4]), 4), TypeError, "istft"),
        (lambda: lm.istft(lm.ones([3], dtype="complex64"), 4), ValueError, "axes of frequencies"),
        (lambda: lm.istft(lm.ones([5, 4], dtype="complex64"), 4), ValueError, "expected 3 frequencies"),
        (lambda: lm.istft(lm.ones([3, 4], dtype="complex64"), 4, return_complex=True), ValueError, "all n_fft"),
        (lambda: lm.istft(lm.ones([3, 4], dtype="complex64"), 4, length=-1), ValueError, "length"),
        (
            lambda: lm.istft(lm.ones([3, 4], dtype="complex64"), 4, 6, center=False),
            ValueError,
            "outside of all windows",
        ),
        (
            lambda: lm.istft(lm.ones([3, 4], dtype="complex64"), 4, window=lm.zeros([4])),
            ValueError,
            "outside of all windows",
        ),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_integers_and_methods() -> None:
    x = lm.arange(12)
    assert x.stft(4).dtype.name == "complex64"
    np.testing.assert_allclose(x.stft(4).istft(4).numpy(), np.arange(12), atol=1e-5)


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
