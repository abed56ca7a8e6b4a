"""Fourier transforms: the array API standard's extension, and those of two axes beside it.

Lengths of any size take O(n log n): factors of 2, 3 and 5 are fastest, large primes take a few times as long. float32
and complex64 are transformed in that precision, float64 and complex128 in theirs. All are linear, have derivatives of
every order in both modes, and take part in ``vmap``.

`norm` says where the sum is divided by the length n of a transform: ``"backward"`` in the inverse transforms,
``"forward"`` in the others, ``"ortho"`` in both, by the root of n. `n` (`s` for several axes) is the length to which
the axis is cut or filled up with zeros beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, Literal, ParamSpec, TypeAlias

from . import _C
from ._arguments import expect_tensors
from ._C import DType, Tensor
from ._names import explain_arguments_of

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

Norm: TypeAlias = Literal["backward", "ortho", "forward"]

P = ParamSpec("P")

_COMPLEX = {"float32": "complex64", "float64": "complex128", "complex64": "complex64", "complex128": "complex128"}


def _complex(x: Tensor, function: str) -> Tensor:
    """Returns the numbers in the complex dtype of their precision; integers and bools count as float32."""
    return _C.cast(x, _COMPLEX[_floating(x, function).dtype.name])


def _real(x: Tensor, function: str) -> Tensor:
    if _C.isdtype(x.dtype, "complex floating"):
        raise TypeError(f"[{function}] takes real numbers, not {x.dtype.name}")
    return _floating(x, function)


def _floating(x: Tensor, function: str) -> Tensor:
    """x, as float32 where it holds integers or bools."""
    if x.dtype.name in _COMPLEX:
        return x
    if _C.isdtype(x.dtype, "real floating"):  # float16 and bfloat16, which are too short for a transform
        raise TypeError(f"[{function}] does not take dtype {x.dtype.name}: expected one of {', '.join(_COMPLEX)}")
    return _C.cast(x, "float32")


def _rounded_once(transform: Callable[Concatenate[Tensor, P], Tensor]) -> Callable[Concatenate[Tensor, P], Tensor]:
    """Lets integers of 32 and 64 bits, whose differences float32 may lose, be transformed in float64."""

    @wraps(transform)
    def call(x: Tensor, *args: P.args, **kwargs: P.kwargs) -> Tensor:
        if not isinstance(x, Tensor) or x.dtype.itemsize < 4 or not _C.isdtype(x.dtype, "integral"):
            return transform(x, *args, **kwargs)
        y = transform(_C.cast(x, "float64"), *args, **kwargs)
        return _C.cast(y, "complex64" if _C.isdtype(y.dtype, "complex floating") else "float32")

    return call


def _scale(norm: str, lengths: Sequence[int], forward: bool, function: str) -> float:
    """Returns the factor that the sum is multiplied by."""
    if norm not in ("backward", "ortho", "forward"):
        raise ValueError(f"[{function}] norm: expected 'backward', 'ortho' or 'forward', got {norm!r}")
    count = math.prod(lengths)
    if norm == "ortho":
        return 1 / math.sqrt(count) if count else 1.0
    return 1 / count if count and forward == (norm == "forward") else 1.0


def _axis(x: Tensor, axis: int, function: str) -> int:
    """Returns the axis, counted from the front."""
    expect_tensors(function, x=x)
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"[{function}] axis {axis} is out of range for a tensor with {x.ndim} axes")
    return axis % x.ndim


def _resized(x: Tensor, axis: int, length: int, function: str) -> Tensor:
    """Cuts the axis, or fills it up with zeros, to `length`."""
    if length < 1:
        raise ValueError(f"[{function}] a transform of length {length} along axis {axis}: expected at least 1")
    shape = list(x.shape)
    if length < shape[axis]:
        keys = [slice(None)] * axis + [slice(0, length)]
        return x[tuple(keys)]
    if length == shape[axis]:
        return x
    shape[axis] = length - shape[axis]
    return _C.concat([x, _C.zeros(shape, dtype=x.dtype, device=str(x.device))], axis=axis)


def _axes(
    x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, function: str
) -> tuple[list[int], list[int] | None]:
    """Returns the axes, counted from the front, and the lengths that are asked for."""
    expect_tensors(function, x=x)
    if axes is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise ValueError(f"[{function}] s: {count} lengths for a tensor with {x.ndim} axes")
        axes = range(x.ndim - count, x.ndim)
    found = [_axis(x, axis, function) for axis in axes]
    if len(set(found)) < len(found):
        raise ValueError(f"[{function}] axes: {tuple(axes)} names an axis twice")
    if s is not None and len(s) != len(found):
        raise ValueError(f"[{function}] s: {len(s)} lengths for {len(found)} axes")
    return found, None if s is None else list(s)


@_rounded_once
def _over_axes(
    x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str, forward: bool, function: str
) -> Tensor:
    """Returns the transforms of complex numbers."""
    found, sizes = _axes(x, s, axes, function)
    x = _complex(x, function)
    for i, axis in enumerate(found):
        x = _resized(x, axis, x.shape[axis] if sizes is None else sizes[i], function)
    lengths = [x.shape[axis] for axis in found]
    return _C.fft_c2c(x, found, scale=_scale(norm, lengths, forward, function), forward=forward)


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Returns the discrete Fourier transform along an axis: y[k] is the sum of x[j] exp(-2 pi i j k / n)."""
    return _over_axes(x, None if n is None else [n], [axis], norm, True, "fft")


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Computes the inverse of :func:`fft`."""
    return _over_axes(x, None if n is None else [n], [axis], norm, False, "ifft")


def fftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """Returns the transforms along several axes: all of them, or as many of the last ones as `s` has lengths."""
    return _over_axes(x, s, axes, norm, True, "fftn")


def ifftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """Computes the inverse of :func:`fftn`."""
    return _over_axes(x, s, axes, norm, False, "ifftn")


@_rounded_once
def _from_real(x: Tensor, n: int | None, axis: int, norm: str, forward: bool, function: str) -> Tensor:
    """Returns the first n // 2 + 1 coefficients of real numbers."""
    at = _axis(x, axis, function)
    x = _resized(_real(x, function), at, x.shape[at] if n is None else n, function)
    return _C.fft_r2c(x, at, scale=_scale(norm, [x.shape[at]], forward, function), forward=forward)


@_rounded_once
def _to_real(x: Tensor, n: int | None, axis: int, norm: str, forward: bool, function: str) -> Tensor:
    """Returns the n real numbers with these first coefficients."""
    at = _axis(x, axis, function)
    x = _complex(x, function)
    length = 2 * (x.shape[at] - 1) if n is None else n
    if length < 1:
        raise ValueError(f"[{function}] a transform of length {length} along axis {axis}: expected at least 1")
    x = _resized(x, at, length // 2 + 1, function)
    return _C.fft_c2r(x, length, at, scale=_scale(norm, [length], forward, function), forward=forward)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Returns the first n // 2 + 1 coefficients of the transform of real numbers; the others are their conjugates."""
    return _from_real(x, n, axis, norm, True, "rfft")


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Computes the inverse of :func:`rfft`; n is 2 (m - 1) for m coefficients unless it is given."""
    return _to_real(x, n, axis, norm, False, "irfft")


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Returns the real transform of numbers whose first n // 2 + 1 are given, the others being their conjugates."""
    return _to_real(x, n, axis, norm, True, "hfft")


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Computes the inverse of :func:`hfft`."""
    return _from_real(x, n, axis, norm, False, "ihfft")


@_rounded_once
def _real_over_axes(
    x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str, forward: bool, function: str
) -> Tensor:
    """Returns the transforms of real numbers."""
    found, sizes = _axes(x, s, axes, function)
    if not found:
        raise ValueError(f"[{function}] needs at least one axis")
    x = _real(x, function)
    for i, axis in enumerate(found):
        x = _resized(x, axis, x.shape[axis] if sizes is None else sizes[i], function)
    scale = _scale(norm, [x.shape[axis] for axis in found], forward, function)
    return _C.fft_r2c(x, found[-1], scale=scale, forward=forward, others=found[:-1])


@_rounded_once
def _to_real_over_axes(
    x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str, forward: bool, function: str
) -> Tensor:
    """Returns the real numbers with these transforms."""
    found, sizes = _axes(x, s, axes, function)
    if not found:
        raise ValueError(f"[{function}] needs at least one axis")
    y = _over_axes(x, None if sizes is None else sizes[:-1], found[:-1], norm, forward, function)
    return _to_real(y, None if sizes is None else sizes[-1], found[-1], norm, forward, function)


def rfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """:func:`rfft` along the last of the axes, then :func:`fft` along the others."""
    return _real_over_axes(x, s, axes, norm, True, "rfftn")


def irfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """Computes the inverse of :func:`rfftn`; the last length is 2 (m - 1) for m coefficients unless it is given."""
    return _to_real_over_axes(x, s, axes, norm, False, "irfftn")


def hfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """:func:`fft` along the axes but the last, then :func:`hfft`, of length 2 (m - 1) unless it is given, along it."""
    return _to_real_over_axes(x, s, axes, norm, True, "hfftn")


def ihfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """Computes the inverse of :func:`hfftn`."""
    return _real_over_axes(x, s, axes, norm, False, "ihfftn")


def fft2(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward"
) -> Tensor:
    """:func:`fftn` along the last two axes."""
    return _over_axes(x, s, axes, norm, True, "fft2")


def ifft2(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward"
) -> Tensor:
    """Computes the inverse of :func:`fft2`."""
    return _over_axes(x, s, axes, norm, False, "ifft2")


def rfft2(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward"
) -> Tensor:
    """:func:`rfftn` along the last two axes."""
    return _real_over_axes(x, s, axes, norm, True, "rfft2")


def irfft2(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward"
) -> Tensor:
    """Computes the inverse of :func:`rfft2`."""
    return _to_real_over_axes(x, s, axes, norm, False, "irfft2")


def hfft2(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward"
) -> Tensor:
    """:func:`hfftn` along the last two axes."""
    return _to_real_over_axes(x, s, axes, norm, True, "hfft2")


def ihfft2(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: Norm = "backward"
) -> Tensor:
    """Computes the inverse of :func:`hfft2`."""
    return _real_over_axes(x, s, axes, norm, False, "ihfft2")


def _frequencies(
    first: int, last: int, n: int, d: float, dtype: DType | str | None, device: str | None, function: str
) -> Tensor:
    """Returns the whole numbers in [first, last) over n d."""
    if n < 1:
        raise ValueError(f"[{function}] n: expected at least 1, got {n}")
    # Multiplies by the inverse, as numpy does: the same bits, and no division of each number.
    values = _C.arange(first, last, dtype="float64", device=device) * (1 / (n * d) if d else math.inf)
    result = _C.cast(values, "float32" if dtype is None else dtype)
    if not _C.isdtype(result.dtype, "real floating"):
        raise TypeError(f"[{function}] dtype: expected a real floating dtype, got {result.dtype.name}")
    return result


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | str | None = None, device: str | None = None) -> Tensor:
    """Returns the frequencies of the n coefficients of :func:`fft` for samples d apart: 0, 1, .., -2, -1 over n d."""
    negative = n // 2
    values = _frequencies(-negative, n - negative, n, d, dtype, device, "fftfreq")
    return _C.concat([values[negative:], values[:negative]])


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | str | None = None, device: str | None = None) -> Tensor:
    """Returns the frequencies of the n // 2 + 1 coefficients of :func:`rfft`, for samples that are d apart."""
    return _frequencies(0, n // 2 + 1, n, d, dtype, device, "rfftfreq")


def _shifted(x: Tensor, axes: int | Sequence[int] | None, sign: int, function: str) -> Tensor:
    expect_tensors(function, x=x)
    chosen = range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    for axis in chosen:
        at = _axis(x, axis, function)
        # Shifts by half of the length, rounded down to the right and up to the left: the two directions are inverses.
        x = _C.roll(x, sign * (x.shape[at] // 2), at)
    return x


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Moves the coefficient of frequency 0 to the middle of the axes (all of them for None)."""
    return _shifted(x, axes, 1, "fftshift")


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Computes the inverse of :func:`fftshift`."""
    return _shifted(x, axes, -1, "ifftshift")


globals().update((_name, explain_arguments_of(globals()[_name])) for _name in __all__)
