"""Window functions for spectral analysis, under the names that take a length and whether the window is periodic.

:mod:`lamella.signal.windows` has these, and others, by shorter names. A periodic window is one of a length greater by 1
without its last element. The formulas are those of Harris (1978), "On the use of windows for harmonic analysis with the
discrete Fourier transform".
"""

from __future__ import annotations

from .._C import Tensor
from . import windows as _windows
from .windows import DTypeLike


def hann_window(
    window_length: int, periodic: bool = True, *, dtype: DTypeLike = None, device: str | None = None
) -> Tensor:
    """0.5 - 0.5 cos(2 pi k / n); float32 unless another dtype is asked for. ValueError for a negative length."""
    return _windows.hann(window_length, sym=not periodic, dtype=dtype, device=device)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DTypeLike = None,
    device: str | None = None,
) -> Tensor:
    """`alpha` - `beta` cos(2 pi k / n); float32 unless another dtype is asked for. ValueError for a negative length."""
    return _windows.general_cosine(window_length, a=[alpha, beta], sym=not periodic, dtype=dtype, device=device)


def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: DTypeLike = None, device: str | None = None
) -> Tensor:
    """0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n); float32 unless another dtype is asked for.

    ValueError for a negative length.
    """
    return _windows.blackman(window_length, sym=not periodic, dtype=dtype, device=device)


def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: DTypeLike = None, device: str | None = None
) -> Tensor:
    """1 - |2 k / n - 1|; float32 unless another dtype is asked for. ValueError for a negative length."""
    return _windows.bartlett(window_length, sym=not periodic, dtype=dtype, device=device)


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: DTypeLike = None,
    device: str | None = None,
) -> Tensor:
    """I0(beta sqrt(1 - (2 k / n - 1)^2)) / I0(beta), with the modified Bessel function I0.

    float32 unless another dtype is asked for. ValueError for a negative length or beta.
    """
    return _windows.kaiser(window_length, beta=beta, sym=not periodic, dtype=dtype, device=device)
