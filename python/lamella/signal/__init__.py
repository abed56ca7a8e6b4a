"""Signal processing: :mod:`lamella.signal.windows`. Transforms are in :mod:`lamella.fft` and `lamella.stft`."""

from __future__ import annotations

from . import windows

__all__ = ["windows"]
