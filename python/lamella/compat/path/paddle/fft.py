"""Fourier transforms."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat.names import Names, serve
from lamella.compat.tables.paddle import FFT as _TABLE

from . import _words


def fftfreq(
    n: int, d: float = 1.0, dtype: Any = None, name: Any = None, *, device: Any = None, requires_grad: bool = False
) -> lm.Tensor:
    """The frequencies of the elements of a transform of ``n`` values, ``d`` apart."""
    return lm.fft.fftfreq(n, d=d).astype(dtype or "float32")


def rfftfreq(
    n: int, d: float = 1.0, dtype: Any = None, name: Any = None, *, device: Any = None, requires_grad: bool = False
) -> lm.Tensor:
    """The frequencies at least 0 of a transform of ``n`` real values, ``d`` apart."""
    return lm.fft.rfftfreq(n, d=d).astype(dtype or "float32")


__getattr__ = serve(Names(__name__, [("lamella.fft", _TABLE, _words.FUNCTIONS)]))
