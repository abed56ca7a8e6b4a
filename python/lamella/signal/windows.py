"""Window functions w(k) for k = 0, ..., length - 1: symmetric ones, or without their last element for ``sym=False``.

A window of length 1 is 1, one of length 0 is empty. All are computed in float64, and given in ``dtype``, float32 unless
another floating dtype is asked for. n is the number of steps from one end of the window to the other. ValueError for a
negative length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from .. import _C
from .._C import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]

DTypeLike: TypeAlias = "_C.DType | str | None"


def _places(length: int, name: str) -> Tensor:
    if length < 0:
        raise ValueError(f"[{name}] the length of a window cannot be negative, got {length}")
    return _C.arange(length, dtype="float64")


def _steps(length: int, sym: bool) -> int:
    """Returns the number of steps that a window spans; 1 for fewer than two elements, to avoid a division by 0."""
    return max(length - 1 if sym else length, 1)


def _given(w: Tensor, name: str, dtype: DTypeLike, device: str | None) -> Tensor:
    """Returns a window in a dtype and on a device; one of a single element is 1."""
    return _typed(_C.ones([1], dtype="float64") if w.shape == (1,) else w, name, dtype, device)


def _typed(w: Tensor, name: str, dtype: DTypeLike, device: str | None) -> Tensor:
    w = _C.cast(w, dtype or "float32")
    if not _C.isdtype(w.dtype, "real floating"):
        raise TypeError(f"[{name}] dtype must be floating, got {w.dtype.name}")
    return w if device is None else _C.to_device(w, device)


def general_cosine(
    length: int, /, *, a: Sequence[float], sym: bool = True, dtype: DTypeLike = None, device: str | None = None
) -> Tensor:
    """a[0] - a[1] cos(2 pi k / n) + a[2] cos(4 pi k / n) - ...; ValueError where `a` is empty."""
    return _cosines(length, a, sym, "general_cosine", dtype, device)


def _cosines(length: int, a: Sequence[float], sym: bool, name: str, dtype: DTypeLike, device: str | None) -> Tensor:
    k = _places(length, name)
    if len(a) == 0:
        raise ValueError(f"[{name}] a must have at least one coefficient")
    angle = k * (2 * math.pi / _steps(length, sym))
    w = _C.zeros([length], dtype="float64")
    for i, factor in enumerate(a):
        w = w + _C.cos(angle * i) * (-factor if i % 2 else factor)
    return _given(w, name, dtype, device)


def hann(length: int, /, *, sym: bool = True, dtype: DTypeLike = None, device: str | None = None) -> Tensor:
    """0.5 - 0.5 cos(2 pi k / n)."""
    return _cosines(length, (0.5, 0.5), sym, "hann", dtype, device)


def hamming(length: int, /, *, sym: bool = True, dtype: DTypeLike = None, device: str | None = None) -> Tensor:
    """0.54 - 0.46 cos(2 pi k / n)."""
    return _cosines(length, (0.54, 0.46), sym, "hamming", dtype, device)


def general_hamming(
    length: int, /, *, alpha: float = 0.54, sym: bool = True, dtype: DTypeLike = None, device: str | None = None
) -> Tensor:
    """`alpha` - (1 - alpha) cos(2 pi k / n)."""
    return _cosines(length, (alpha, 1 - alpha), sym, "general_hamming", dtype, device)


def blackman(length: int, /, *, sym: bool = True, dtype: DTypeLike = None, device: str | None = None) -> Tensor:
    """0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n)."""
    return _cosines(length, (0.42, 0.5, 0.08), sym, "blackman", dtype, device)


def nuttall(length: int, /, *, sym: bool = True, dtype: DTypeLike = None, device: str | None = None) -> Tensor:
    """0.3635819 - 0.4891775 cos(2 pi k / n) + 0.1365995 cos(4 pi k / n) - 0.0106411 cos(6 pi k / n).

    The minimum four-term window of Nuttall (1981), "Some windows with very good sidelobe behavior".
    """
    return _cosines(length, (0.3635819, 0.4891775, 0.1365995, 0.0106411), sym, "nuttall", dtype, device)


def bartlett(length: int, /, *, sym: bool = True, dtype: DTypeLike = None, device: str | None = None) -> Tensor:
    """1 - |2 k / n - 1|."""
    k = _places(length, "bartlett")
    return _given(1 - _C.abs(k * (2 / _steps(length, sym)) - 1), "bartlett", dtype, device)


def cosine(length: int, /, *, sym: bool = True, dtype: DTypeLike = None, device: str | None = None) -> Tensor:
    """sin(pi (k + 1/2) / (n + 1))."""
    k = _places(length, "cosine")
    return _given(_C.sin((k + 0.5) * (math.pi / (_steps(length, sym) + 1))), "cosine", dtype, device)


def exponential(
    length: int,
    /,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DTypeLike = None,
    device: str | None = None,
) -> Tensor:
    """exp(-|k - center| / tau); the center is n / 2, and only where `sym` is False may be another.

    ValueError for a tau that is not above 0, or a center of a symmetric window.
    """
    k = _places(length, "exponential")
    if not tau > 0:
        raise ValueError(f"[exponential] tau must be above 0, got {tau}")
    if sym and center is not None:
        raise ValueError("[exponential] the center of a symmetric window cannot be chosen")
    middle = _steps(length, sym) / 2 if center is None else center
    w = _C.exp(_C.abs(k - middle) * (-1 / tau))
    return (_given if center is None else _typed)(w, "exponential", dtype, device)


def gaussian(
    length: int, /, *, std: float = 1.0, sym: bool = True, dtype: DTypeLike = None, device: str | None = None
) -> Tensor:
    """exp(-((k - n / 2) / std)^2 / 2). ValueError for a std that is not above 0."""
    k = _places(length, "gaussian")
    if not std > 0:
        raise ValueError(f"[gaussian] std must be above 0, got {std}")
    return _given(_C.exp(_C.square((k - _steps(length, sym) / 2) * (1 / std)) * -0.5), "gaussian", dtype, device)


def kaiser(
    length: int, /, *, beta: float = 12.0, sym: bool = True, dtype: DTypeLike = None, device: str | None = None
) -> Tensor:
    """I0(beta sqrt(1 - (2 k / n - 1)^2)) / I0(beta), with the modified Bessel function I0.

    ValueError for a negative beta.
    """
    k = _places(length, "kaiser")
    if not beta >= 0:
        raise ValueError(f"[kaiser] beta must not be negative, got {beta}")
    share = _C.clip(1 - _C.square(k * (2 / _steps(length, sym)) - 1), 0.0, 1.0)
    # I0(x) = sum of (x^2 / 4)^j / j!^2 (Abramowitz and Stegun, 9.6.12), all of whose terms are positive. The terms are
    # divided by I0(beta) from the start, so that none overflows.
    quarter = beta * beta / 4
    log_terms = [0.0]
    while quarter > 0 and (len(log_terms) <= beta / 2 or log_terms[-1] > max(log_terms) - 45):
        log_terms.append(log_terms[-1] + math.log(quarter) - 2 * math.log(len(log_terms)))
    top = max(log_terms)
    whole = math.fsum(math.exp(term - top) for term in log_terms)
    w = _C.zeros([length], dtype="float64")
    for term in reversed(log_terms):
        w = w * share + math.exp(term - top) / whole
    return _given(w, "kaiser", dtype, device)
