"""Layers that make features of sounds."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module

from ..nn import Layer
from ..signal import stft
from .functional import compute_fbank_matrix, create_dct, get_window, power_to_db


class Spectrogram(Layer):
    """Maps sounds ``(n, samples)`` to the strengths of their frequencies ``(n, n_fft // 2 + 1, parts)``.

    Args:
        n_fft: samples of a part.
        hop_length: samples from one part to the next; a quarter of ``n_fft`` for None.
        win_length: samples of the window; ``n_fft`` by default.
        window: the window's name, see :func:`paddle.audio.functional.get_window`.
        power: of the absolute values.
        center: True if parts lie around their samples, which ``pad_mode`` lengthens sounds for.
        pad_mode: see ``center``.
        dtype: the window's.
    """

    def __init__(
        self,
        n_fft: int = 512,
        hop_length: int | None = 512,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 1.0,
        center: bool = True,
        pad_mode: str = "reflect",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        if power <= 0:
            raise ValueError(f"[{type(self).__name__}] power is positive, not {power}")
        length = n_fft if win_length is None else win_length
        self.register_buffer("fft_window", get_window(window, length, True, dtype))
        self.power = power
        self._options = n_fft, n_fft // 4 if hop_length is None else hop_length, length
        self._padding = center, pad_mode

    def forward(self, x: Tensor) -> Tensor:
        """Returns the strengths."""
        return lm.abs(stft(x, *self._options, self.fft_window, *self._padding)) ** self.power


class MelSpectrogram(Layer):
    """Maps sounds to strengths in ``n_mels`` bands, see :func:`paddle.audio.functional.compute_fbank_matrix`."""

    def __init__(
        self,
        sr: int = 22050,
        n_fft: int = 2048,
        hop_length: int | None = 512,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: Any = "slaney",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self._spectrogram = Spectrogram(n_fft, hop_length, win_length, window, power, center, pad_mode, dtype)
        self.register_buffer("fbank_matrix", compute_fbank_matrix(sr, n_fft, n_mels, f_min, f_max, htk, norm, dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Returns the strengths."""
        return lm.matmul(self.fbank_matrix, self._spectrogram(x))


class LogMelSpectrogram(Layer):
    """Maps sounds to the decibels of :class:`MelSpectrogram`, see :func:`paddle.audio.functional.power_to_db`."""

    def __init__(
        self,
        sr: int = 22050,
        n_fft: int = 512,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Any = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: Any = "slaney",
        ref_value: float = 1.0,
        amin: float = 1e-10,
        top_db: float | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        options = window, power, center, pad_mode, n_mels, f_min, f_max, htk, norm, dtype
        self._melspectrogram = MelSpectrogram(sr, n_fft, hop_length, win_length, *options)
        self.ref_value, self.amin, self.top_db = ref_value, amin, top_db

    def forward(self, x: Tensor) -> Tensor:
        """Returns the decibels."""
        return power_to_db(self._melspectrogram(x), self.ref_value, self.amin, self.top_db)


class MFCC(Layer):
    """Maps sounds to the first ``n_mfcc`` cosine coefficients of :class:`LogMelSpectrogram`, whose options it takes."""

    def __init__(self, sr: int = 22050, n_mfcc: int = 40, *options: Any, **named: Any) -> None:
        super().__init__()
        self._log_melspectrogram = LogMelSpectrogram(sr, *options, **named)
        matrix = self._log_melspectrogram._melspectrogram.fbank_matrix
        bands = matrix.shape[0]
        if n_mfcc > bands:
            raise ValueError(f"[MFCC] n_mfcc is at most n_mels, {bands}, not {n_mfcc}")
        self.register_buffer("dct_matrix", create_dct(n_mfcc, bands, dtype=matrix.dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Returns the coefficients, ``(n, n_mfcc, parts)``."""
        return lm.matmul(self.dct_matrix.T, self._log_melspectrogram(x))


__getattr__ = close_module(__name__)
