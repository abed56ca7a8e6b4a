"""Scales of frequencies, windows, and the matrices that features of sounds are made by."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module
from lamella.signal import windows as _windows

#: Mels by Slaney are hertz over this up to 1000 Hz, and logarithmic behind.
_LINEAR = 200.0 / 3
_BREAK = 1000.0
_LOG_STEP = math.log(6.4) / 27.0

#: Windows by name, with what the numbers behind a name mean.
_WINDOWS = {
    "hann": "",
    "hamming": "",
    "blackman": "",
    "bartlett": "",
    "cosine": "",
    "nuttall": "",
    "gaussian": "std",
    "exponential": "center tau",
    "kaiser": "beta",
}


def hz_to_mel(freq: Any, htk: bool = False) -> Any:
    """Returns frequencies in hertz, a tensor or a number, in mels: Slaney's, or those of HTK."""
    if not isinstance(freq, Tensor):
        return float(hz_to_mel(lm.tensor(float(freq), dtype=lm.float64), htk).item())
    if htk:
        return 2595.0 * lm.log10(1.0 + freq / 700.0)
    above = _BREAK / _LINEAR + lm.log(lm.maximum(freq, _BREAK) / _BREAK) / _LOG_STEP
    return lm.where(freq > _BREAK, above, freq / _LINEAR)


def mel_to_hz(mel: Any, htk: bool = False) -> Any:
    """Returns mels, a tensor or a number, in hertz; see :func:`hz_to_mel`."""
    if not isinstance(mel, Tensor):
        return float(mel_to_hz(lm.tensor(float(mel), dtype=lm.float64), htk).item())
    if htk:
        return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
    knee = _BREAK / _LINEAR
    return lm.where(mel > knee, _BREAK * lm.exp(_LOG_STEP * (mel - knee)), _LINEAR * mel)


def mel_frequencies(
    n_mels: int = 64, f_min: float = 0.0, f_max: float = 11025.0, htk: bool = False, dtype: Any = "float32"
) -> Tensor:
    """Returns ``n_mels`` frequencies in hertz, which are evenly apart in mels."""
    made: Tensor = mel_to_hz(lm.linspace(hz_to_mel(f_min, htk), hz_to_mel(f_max, htk), n_mels, dtype=dtype), htk)
    return made


def fft_frequencies(sr: int, n_fft: int, dtype: Any = "float32") -> Tensor:
    """Returns the frequencies in hertz of a transform of ``n_fft`` samples, ``sr`` of which are a second."""
    return lm.linspace(0.0, sr / 2, n_fft // 2 + 1, dtype=dtype)


def compute_fbank_matrix(
    sr: int,
    n_fft: int,
    n_mels: int = 64,
    f_min: float = 0.0,
    f_max: float | None = None,
    htk: bool = False,
    norm: Any = "slaney",
    dtype: Any = "float32",
) -> Tensor:
    """Returns triangles over the frequencies of a transform, ``(n_mels, n_fft // 2 + 1)``.

    Args:
        sr: samples in a second.
        n_fft: samples of a transform.
        n_mels: the number of triangles.
        f_min: where the first begins.
        f_max: where the last ends; ``sr / 2`` by default.
        htk: which mels the triangles are evenly apart in.
        norm: "slaney" for triangles of one area, or the norm that rows are divided by.
        dtype: the matrix's.
    """
    centers = mel_frequencies(n_mels + 2, f_min, sr / 2 if f_max is None else f_max, htk, dtype)
    widths = lm.expand_dims(centers[1:] - centers[:-1], 1)
    apart = lm.expand_dims(centers, 1) - fft_frequencies(sr, n_fft, dtype)
    made = lm.maximum(lm.minimum(-apart[:-2] / widths[:-1], apart[2:] / widths[1:]), 0.0)
    if norm == "slaney":
        made = made * lm.expand_dims(2.0 / (centers[2:] - centers[:-2]), 1)
    elif isinstance(norm, (int, float)):
        made = lm.normalize(made, norm, -1)
    return made


def power_to_db(spect: Tensor, ref_value: float = 1.0, amin: float = 1e-10, top_db: float | None = 80.0) -> Tensor:
    """Returns powers in decibels of ``ref_value``, at least ``amin``, and at most ``top_db`` below the greatest one.

    Raises:
        ValueError: ``amin`` or ``ref_value`` is not positive, or ``top_db`` is negative.
    """
    if amin <= 0 or ref_value <= 0 or (top_db is not None and top_db < 0):
        raise ValueError(
            f"[power_to_db] amin and ref_value are positive and top_db is not negative, got {amin}, {ref_value} and "
            f"{top_db}"
        )
    made = 10.0 * lm.log10(lm.maximum(spect, amin)) - 10.0 * math.log10(max(ref_value, amin))
    return made if top_db is None else lm.maximum(made, lm.max(made) - top_db)


def create_dct(n_mfcc: int, n_mels: int, norm: str | None = "ortho", dtype: Any = "float32") -> Tensor:
    """Returns the matrix ``(n_mels, n_mfcc)`` of a discrete cosine transform (type II).

    Raises:
        ValueError: ``norm`` is neither "ortho" nor None.
    """
    if norm not in (None, "ortho"):
        raise ValueError(f"[create_dct] norm is 'ortho' or None, not {norm!r}")
    places = lm.expand_dims(lm.arange(n_mels, dtype=dtype) + 0.5, 1)
    made = lm.cos(math.pi / n_mels * places * lm.arange(n_mfcc, dtype=dtype))
    if norm is None:
        return 2.0 * made
    first = lm.where(lm.arange(n_mfcc) == 0, math.sqrt(1.0 / n_mels), math.sqrt(2.0 / n_mels))
    return made * first.astype(made.dtype)


def get_window(window: Any, win_length: int, fftbins: bool = True, dtype: Any = "float64") -> Tensor:
    """Returns a window by its name, or by a tuple of its name and its numbers.

    Args:
        window: the name, such as "hann", or ``("gaussian", 2.0)``.
        win_length: the number of elements.
        fftbins: True for a periodic window, False for a symmetric one.
        dtype: the window's.

    Raises:
        ValueError: there is no window of the name, or it takes other numbers.
    """
    name, *numbers = (window,) if isinstance(window, str) else tuple(window)
    words = _WINDOWS.get(name)
    if words is None:
        raise ValueError(f"[get_window] window is one of {', '.join(sorted(_WINDOWS))}, not {name!r}")
    if len(numbers) > len(words.split()):
        raise ValueError(f"[get_window] {name!r} takes {len(words.split())} numbers, got {len(numbers)}")
    options = dict(zip(words.split(), numbers, strict=False))
    made: Tensor = getattr(_windows, name)(win_length, sym=not fftbins, dtype=dtype, **options)
    return made


__getattr__ = close_module(__name__)
