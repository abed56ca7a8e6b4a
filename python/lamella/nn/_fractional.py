"""Pooling by windows that stand at random (Graham, 2014, "Fractional max-pooling")."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from .. import _C
from .._arguments import expect_tensors
from .._C import Tensor

__all__ = [
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]

Sizes = SupportsIndex | Sequence[SupportsIndex]
Ratios = float | Sequence[float]


def _sizes(given: Sizes, axes: int, name: str, what: str) -> list[int]:
    try:
        numbers = [index(n) for n in given] if isinstance(given, list | tuple) else [index(given)] * axes  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"[{name}] {what}: expected whole numbers, got {given!r}") from None
    if len(numbers) != axes or min(numbers) < 1:
        raise ValueError(f"[{name}] {what} must be one number above 0, or one for each of {axes} axes; got {given}")
    return numbers


def _output_sizes(
    shape: Sequence[int], output_size: Sizes | None, output_ratio: Ratios | None, axes: int, name: str
) -> list[int]:
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"[{name}] give one of output_size and output_ratio")
    if output_size is not None:
        return _sizes(output_size, axes, name, "output_size")
    ratios = [output_ratio] * axes if isinstance(output_ratio, int | float) else list(output_ratio or ())
    if len(ratios) != axes or not all(0 < ratio < 1 for ratio in ratios):
        raise ValueError(
            f"[{name}] output_ratio must be between 0 and 1, one for each of {axes} axes; got {output_ratio}"
        )
    return _sizes(
        [int(n * ratio) for n, ratio in zip(shape, ratios, strict=True)], axes, name, "the size of the result"
    )


def _starts(samples: Tensor, size: int, out: int, kernel: int) -> Tensor:
    """Returns the starts of windows, [..., out]: random steps of the integers next to (size - kernel) / (out - 1)."""
    last = _C.full([*samples.shape, 1], size - kernel, dtype="int64", device=samples.device)
    if out == 1:
        return last
    step = (size - kernel) / _C.full([], out - 1, dtype=samples.dtype, device=samples.device)
    places = _C.arange(out - 1, dtype=samples.dtype, device=samples.device) + samples[..., None]
    begins = _C.cast(places * step, "int64") - _C.cast(samples * step, "int64")[..., None]
    return _C.concat([begins, last], axis=-1)


def _pooled(
    name: str,
    axes: int,
    x: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None,
    output_ratio: Ratios | None,
    random_samples: Tensor | None,
    generator: _C.Generator | None,
) -> tuple[Tensor, Tensor]:
    expect_tensors(name, x=x)
    if x.ndim not in (axes + 1, axes + 2):
        raise ValueError(f"[{name}] x must have {axes + 1} or {axes + 2} axes, got the shape {x.shape}")
    if not _C.isdtype(x.dtype, "real floating"):
        raise TypeError(f"[{name}] does not take dtype {x.dtype.name}")
    shape = list(x.shape[x.ndim - axes :])
    kernel = _sizes(kernel_size, axes, name, "kernel_size")
    out = _output_sizes(shape, output_size, output_ratio, axes, name)
    for n, k, o in zip(shape, kernel, out, strict=True):
        if o + k - 1 > n:
            raise ValueError(f"[{name}] {o} windows of {k} elements do not fit into an axis of {n}")
    planes = list(x.shape[: x.ndim - axes])
    batch = planes if len(planes) == 2 else [1, *planes]
    if random_samples is None:
        dtype = x.dtype if x.dtype in (_C.float32, _C.float64) else _C.float32
        random_samples = _C.rand([*batch, axes], dtype=dtype, device=x.device, generator=generator)
    expect_tensors(name, random_samples=random_samples)
    if list(random_samples.shape) != [*batch, axes]:
        raise ValueError(f"[{name}] random_samples must have the shape {(*batch, axes)}, got {random_samples.shape}")
    samples = _C.reshape(random_samples, [*planes, axes])
    # Positions of the elements of each window in the flattened image: [planes, windows, elements of a window].
    places = _C.zeros([1] * (len(planes) + 2 * axes), dtype="int64", device=x.device)
    for axis in range(axes):
        # With two axes, the first sample is for the last axis, as in PyTorch.
        sample = samples[..., axes - 1 - axis if axes == 2 else axis]
        begins = _starts(sample, shape[axis], out[axis], kernel[axis])
        along = begins[..., None] + _C.arange(kernel[axis], dtype="int64", device=x.device)
        sizes = [1] * (2 * axes)
        sizes[axis], sizes[axes + axis] = out[axis], kernel[axis]
        places = places * shape[axis] + _C.reshape(along, [*planes, *sizes])
    count, width = _product(out), _product(kernel)
    windows = _C.reshape(places, [*planes, count * width])
    flat = _C.reshape(x, [*planes, _product(shape)])
    values = _C.reshape(_C.take_along_axis(flat.detach(), windows, axis=-1), [*planes, count, width])
    best = _C.argmax(values, axis=-1, keepdims=True)
    chosen = _C.reshape(
        _C.take_along_axis(_C.reshape(windows, [*planes, count, width]), best, axis=-1), [*planes, count]
    )
    pooled = _C.take_along_axis(flat, chosen, axis=-1)
    return _C.reshape(pooled, [*planes, *out]), _C.reshape(chosen, [*planes, *out])


def _product(numbers: Sequence[int]) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product


def fractional_max_pool2d_with_indices(
    x: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    *,
    random_samples: Tensor | None = None,
    generator: _C.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns the results of `fractional_max_pool2d`, and where in the flattened image each maximum stands (int64)."""
    name = "fractional_max_pool2d"
    return _pooled(name, 2, x, kernel_size, output_size, output_ratio, random_samples, generator)


def fractional_max_pool2d(
    x: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    *,
    random_samples: Tensor | None = None,
    generator: _C.Generator | None = None,
) -> Tensor:
    """Returns the maximum of each of `output_size` windows of x, [images, channels, height, width] or without images.

    The windows overlap, and stand at steps that differ by at most 1, in an order that `random_samples` chooses for each
    channel: numbers in [0, 1) for the width and the height, [images, channels, 2], drawn where they are not given.
    `output_ratio` is the size of the result for that of x, where output_size is not given (Graham, 2014).

    ValueError for windows that do not fit into x, TypeError where x is not floating.
    """
    name = "fractional_max_pool2d"
    return _pooled(name, 2, x, kernel_size, output_size, output_ratio, random_samples, generator)[0]


def fractional_max_pool3d_with_indices(
    x: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    *,
    random_samples: Tensor | None = None,
    generator: _C.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns the results of `fractional_max_pool3d`, and where in the flattened volume each maximum stands (int64)."""
    name = "fractional_max_pool3d"
    return _pooled(name, 3, x, kernel_size, output_size, output_ratio, random_samples, generator)


def fractional_max_pool3d(
    x: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: Ratios | None = None,
    *,
    random_samples: Tensor | None = None,
    generator: _C.Generator | None = None,
) -> Tensor:
    """`fractional_max_pool2d` of volumes, [images, channels, depth, height, width]; their samples are in this order."""
    name = "fractional_max_pool3d"
    return _pooled(name, 3, x, kernel_size, output_size, output_ratio, random_samples, generator)[0]
