"""Short-time Fourier transforms."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module


def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The spectra of parts of signals, ``(..., frequencies, parts)``, see :func:`lamella.stft`."""
    return lm.stft(x, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided)


def istft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    return_complex: bool = False,
    name: str | None = None,
) -> Tensor:
    """The signals of spectra that :func:`stft` has made."""
    options: Any = (center, normalized, onesided, length, return_complex)
    return lm.istft(x, n_fft, hop_length, win_length, window, *options)


def frame(x: Tensor, frame_length: int, hop_length: int, axis: int = -1, name: str | None = None) -> Tensor:
    """Parts of signals that begin ``hop_length`` apart: behind the parts' elements along the last axis, or before them.

    They have memory of their own: what is written into one is in no other.

    Raises:
        ValueError: ``axis`` is neither 0 nor -1.
    """
    if axis not in (0, -1):
        raise ValueError(f"[frame] axis is 0 or -1, not {axis}")
    made = lm.sliding_window(x, axis, frame_length, hop_length).clone()
    return lm.swapaxes(made, -1, -2) if axis == -1 else lm.moveaxis(made, -1, 1)


def overlap_add(x: Tensor, hop_length: int, axis: int = -1, name: str | None = None) -> Tensor:
    """The sums of parts that begin ``hop_length`` apart, as :func:`frame` made them.

    Raises:
        ValueError: ``axis`` is neither 0 nor -1.
    """
    if axis not in (0, -1):
        raise ValueError(f"[overlap_add] axis is 0 or -1, not {axis}")
    parts = x if axis == -1 else lm.moveaxis(x, (1, 0), (-2, -1))
    length, count = tuple(parts.shape)[-2:]
    places = lm.expand_dims(lm.arange(length), 1) + lm.arange(count) * hop_length
    lead = tuple(parts.shape)[:-2]
    zeros = lm.zeros((*lead, length + (count - 1) * hop_length), dtype=x.dtype)
    made = lm.index_add(zeros, zeros.ndim - 1, lm.reshape(places, (-1,)), lm.reshape(parts, (*lead, -1)))
    return made if axis == -1 else lm.moveaxis(made, -1, 0)


__getattr__ = close_module(__name__)
