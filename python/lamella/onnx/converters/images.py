"""Padding, resizing, sampling, and patches of images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import lamella as lm

from .._builder import (
    Value,
    cast,
    concat,
    constant,
    current,
    op,
    reshape,
    shape_value,
    size,
    sizes,
    slice_axis,
    squeeze,
    unsqueeze,
)
from .._registry import builtin
from ._pointwise import is_bool, is_float
from .convolutions import numbers, with_batch
from .pooling import averaged

_PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}


@builtin("pad")
def pad(x: Value, pad: Any, mode: str = "constant", value: Any = 0.0) -> Value:
    """With further elements at the ends of the last axes."""
    amounts = list(pad)
    axes = [x.ndim - 1 - i for i in range(len(amounts) // 2)]
    if mode == "circular":
        for i, axis in enumerate(axes):
            x = _around(x, axis, amounts[2 * i], amounts[2 * i + 1])
        return x
    before, after = [0] * x.ndim, [0] * x.ndim
    for i, axis in enumerate(axes):
        before[axis], after[axis] = amounts[2 * i], amounts[2 * i + 1]
    if is_bool(x):
        return cast(op("Pad", cast(x, lm.int32), [*before, *after], constant(int(bool(value)), lm.int32)), lm.bool)
    if mode == "constant":
        return op("Pad", x, [*before, *after], constant(value, x.dtype))
    return op("Pad", x, [*before, *after], mode=_PAD_MODES[mode])


def _around(x: Value, axis: int, before: int, after: int) -> Value:
    """Returns an axis with elements from its other end in front and behind."""
    parts = [x]
    if before > 0:
        parts.insert(0, slice_axis(x, axis, -before, 2**62))
    if after > 0:
        parts.append(slice_axis(x, axis, 0, after))
    y = concat(parts, axis)
    low, high = max(-before, 0), max(-after, 0)
    return slice_axis(y, axis, low, -high if high else 2**62) if low or high else y


@builtin("interpolate")
def interpolate(
    x: Value,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
    meta_outputs: Any = None,
) -> Value:
    """An image in another size."""
    spatial = x.ndim - 2
    target = list(meta_outputs.shape[2:])
    if mode == "area":
        return averaged(x, target) if -1 not in target else _needs_sizes()
    y = x if is_float(x) or mode.startswith("nearest") else cast(x, lm.float32)
    settings: dict[str, Any] = {}
    if mode.startswith("nearest"):
        exact = mode == "nearest-exact"
        settings["mode"] = "nearest"
        settings["coordinate_transformation_mode"] = "half_pixel" if exact else "asymmetric"
        settings["nearest_mode"] = "round_prefer_ceil" if exact else "floor"
    else:
        settings["mode"] = "cubic" if mode == "bicubic" else "linear"
        settings["coordinate_transformation_mode"] = "align_corners" if align_corners else "half_pixel"
        if mode == "bicubic":
            settings["cubic_coeff_a"] = -0.5 if antialias else -0.75
        if antialias:
            settings["antialias"] = 1
            settings["exclude_outside"] = 1
    # The kernels of engines for lines want images.
    line = spatial == 1
    y = unsqueeze(y, 2) if line else y
    ones = [1] * (2 + line)
    if scale_factor is not None and not recompute_scale_factor:
        scales = [float(s) for s in (scale_factor if isinstance(scale_factor, (list, tuple)) else [scale_factor])]
        scales = scales * spatial if len(scales) == 1 else scales
        y = op("Resize", y, None, constant(np.array([*ones, *scales], dtype="float32")), **settings)
    elif -1 in target:
        _needs_sizes()
    else:
        y = op("Resize", y, None, None, shape_value([*sizes(y)[: 2 + line], *target]), **settings)
    y = squeeze(y, 2) if line else y
    return op("Round", y) if x.dtype == lm.uint8 and not mode.startswith("nearest") else y


def _needs_sizes() -> Any:
    raise NotImplementedError("[interpolate] an exported model needs the sizes of the image, or scale_factor")


@builtin("grid_sample")
def grid_sample(
    x: Value, grid: Value, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False
) -> Value:
    """The values of images at places."""
    if current().opset_version >= 20:
        mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return op(
        "GridSample", x, cast(grid, x.dtype), mode=mode, padding_mode=padding_mode, align_corners=int(align_corners)
    )


def _patches(
    image: list[int], kernel: list[int], dilation: list[int], padding: list[int], stride: list[int]
) -> tuple[np.ndarray, list[int]]:
    """Returns the places of each patch's elements in the padded, flat image, and the padded sizes."""
    padded = [n + 2 * p for n, p in zip(image, padding, strict=True)]
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in zip(padded, kernel, dilation, stride, strict=True)]
    axes = [
        np.arange(k)[:, None] * d + np.arange(c)[None, :] * s
        for k, d, c, s in zip(kernel, dilation, counts, stride, strict=True)
    ]
    rows, columns = axes
    table = rows[:, None, :, None] * padded[1] + columns[None, :, None, :]
    return table.reshape(math.prod(kernel), math.prod(counts)).astype("int64"), padded


@builtin("unfold")
def unfold(x: Value, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Value:
    """The patches of images, as columns."""
    y, alone = with_batch(x, 2)
    if -1 in y.shape[1:]:
        raise NotImplementedError("[unfold] an exported model needs the sizes of the image")
    edge = numbers(padding, 2)
    table, padded = _patches(list(y.shape[2:]), numbers(kernel_size, 2), numbers(dilation, 2), edge, numbers(stride, 2))
    channels = y.shape[1]
    if any(edge):
        y = op("Pad", y, [0, 0, *edge, 0, 0, *edge])
    flat = reshape(y, [size(y, 0), channels, math.prod(padded)])
    columns = op("Gather", flat, constant(table), axis=2)
    z = reshape(columns, [size(y, 0), channels * table.shape[0], table.shape[1]])
    return squeeze(z, 0) if alone else z


@builtin("fold")
def fold(x: Value, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Value:
    """Images, as sums of patches."""
    y, alone = with_batch(x, 1)
    image, edge = numbers(output_size, 2), numbers(padding, 2)
    table, padded = _patches(image, numbers(kernel_size, 2), numbers(dilation, 2), edge, numbers(stride, 2))
    channels = y.shape[1] // table.shape[0]
    total = math.prod(padded)
    values = reshape(y, [size(y, 0), channels, table.size])
    places = op("Expand", constant(table.reshape(-1)), op("Shape", values))
    zeros = op("Expand", cast(0, y.dtype), shape_value([size(y, 0), channels, total]))
    summed = op("ScatterElements", zeros, places, values, axis=2, reduction="add")
    z = reshape(summed, [size(y, 0), channels, *padded])
    for axis, p in zip((2, 3), edge, strict=True):
        z = slice_axis(z, axis, p, padded[axis - 2] - p) if p else z
    return squeeze(z, 0) if alone else z
