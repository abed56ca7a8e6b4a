"""Fourier transforms."""

from __future__ import annotations

from lamella.compat.names import Names, serve
from lamella.compat.tables.paddle import FFT as _TABLE

from . import _words

__getattr__ = serve(Names(__name__, [("lamella.fft", _TABLE, _words.FUNCTIONS)]))
