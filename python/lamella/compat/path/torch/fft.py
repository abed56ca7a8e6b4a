"""Fourier transforms."""

from __future__ import annotations

from lamella.compat.tables.torch_functions import FFT as _TABLE

from . import _words

__getattr__ = _words.serve(_words.Names(__name__, [("lamella.fft", _TABLE, _words.INTO)]))
