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
    y = cast(x, lm.int32) if is_bool(x) else x
    if mode == "constant":
        y = op("Pad", y, [*before, *after], constant(bool(value) if is_bool(x) else value, y.dtype))
    else:
        y = op("Pad", y, [*before, *after], mode=_PAD_MODES[mode])
    return cast(y, x.dtype)


def _around(x: Value, axis: int, before: int, after: int) -> Value:
    """Returns an axis with elements from its other end in front and behind, after those that are cut off."""
    low, high = max(-before, 0), max(-after, 0)
    if low or high:
        x = slice_axis(x, axis, low, -high if high else 2**62)
    parts = [x]
    if before > 0:
        parts.insert(0, slice_axis(x, axis, -before, 2**62))
    if after > 0:
        parts.append(slice_axis(x, axis, 0, after))
    return concat(parts, axis)


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
    told: Value | None = None,
) -> Value:
    """An image in another size, which a vector may hold."""
    spatial = x.ndim - 2
    target = list(meta_outputs.shape[2:])
    if size is None and -1 in x.shape[2:]:
        target = [-1] * spatial
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
        axes = list(zip(x.shape[2:], scales, target, strict=True))
        # Sizes give a scale, too: where it is the same one, the engine need not round its product with the old size.
        by_size = [not _gives(n, np.float32(s), t) and np.float32(t / n) == np.float32(s) for n, s, t in axes]
        if any(by_size):
            lengths = [t if given else n for given, t, n in zip(by_size, target, sizes(y)[2 + line :], strict=True)]
            y = op("Resize", y, None, None, shape_value([*sizes(y)[: 2 + line], *lengths]), **settings)
        if not all(by_size):
            near = [1.0 if given else _near(*axis) for given, axis in zip(by_size, axes, strict=True)]
            y = op("Resize", y, None, constant(np.array([*ones, *near], dtype="float32")), **settings)
    elif told is not None:
        y = op("Resize", y, None, None, shape_value([*sizes(y)[: 2 + line], told]), **settings)
    elif -1 in target:
        _needs_sizes()
    else:
        y = op("Resize", y, None, None, shape_value([*sizes(y)[: 2 + line], *target]), **settings)
    y = squeeze(y, 2) if line else y
    return op("Round", y) if x.dtype == lm.uint8 and not mode.startswith("nearest") else y


@builtin("dynamic_interpolate")
def dynamic_interpolate(x: Value, size: Value, meta_outputs: Any = None, **settings: Any) -> Value:
    """An image in a size that a vector holds."""
    return interpolate(x, [-1], meta_outputs=meta_outputs, told=cast(size, lm.int64), **settings)


def _gives(n: int, scale: Any, wanted: int) -> bool:
    """True unless ``n`` times a scale in float32 is not ``wanted``: for engines, or for the inference of shapes."""
    return n < 0 or wanted < 0 or math.floor(np.float32(n) * scale) == math.floor(n * float(scale)) == wanted


def _near(n: int, scale: float, wanted: int) -> Any:
    """Returns the scale in float32, or a neighbor that gives the size of a scale in float64."""
    up = down = first = np.float32(scale)
    for _ in range(4):
        for near in (up, down):
            if _gives(n, near, wanted):
                return near
        up, down = np.nextafter(up, np.float32(math.inf)), np.nextafter(down, np.float32(0.0))
    return first


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
    channels = size(y, 1)
    channels = channels // table.shape[0] if isinstance(channels, int) else op("Div", channels, table.shape[0])
    total = math.prod(padded)
    values = reshape(y, [size(y, 0), channels, table.size])
    places = op("Expand", constant(table.reshape(-1)), op("Shape", values))
    zeros = op("Expand", cast(0, y.dtype), shape_value([size(y, 0), channels, total]))
    summed = op("ScatterElements", zeros, places, values, axis=2, reduction="add")
    z = reshape(summed, [size(y, 0), channels, *padded])
    for axis, p in zip((2, 3), edge, strict=True):
        z = slice_axis(z, axis, p, padded[axis - 2] - p) if p else z
    return squeeze(z, 0) if alone else z
