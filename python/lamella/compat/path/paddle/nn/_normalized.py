"""Norms, sizes and orders of images in the layouts that Paddle takes."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.static import in_dynamic_mode
from lamella.static.nn import normalized_by_batch

from ._layouts import LAST, of_any_layout


@of_any_layout
def batch_norm(
    x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Normalizes channels by the batch, in evaluation by the running mean and variance, which training moves.

    ``use_global_stats`` chooses for both: by the running ones where it is true, by the batch where it is false.
    """
    by_batch = training if use_global_stats is None else not use_global_stats
    if by_batch and not in_dynamic_mode():
        return normalized_by_batch(x, running_mean, running_var, weight, bias, momentum, epsilon)
    kept = running_var * momentum if by_batch else None
    y = lm.batch_norm(x, running_mean, running_var, weight, bias, by_batch, 1.0 - momentum, epsilon)
    if kept is not None:
        # Of a batch's variance Paddle keeps the mean of squares, PyTorch and Lamella the unbiased estimate.
        count = math.prod(x.shape) // x.shape[1]
        with lm.no_grad():
            running_var.copy_(kept + (running_var - kept) * ((count - 1) / count))
    return y


@of_any_layout
def instance_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-05,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Normalizes each channel of each example."""
    return lm.instance_norm(x, weight, bias, eps)


@of_any_layout
def group_norm(
    x: Tensor,
    num_groups: int,
    epsilon: float = 1e-05,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Normalizes groups of channels of each example."""
    return lm.group_norm(x, num_groups, weight, bias, epsilon)


@of_any_layout
def local_response_norm(
    x: Tensor,
    size: int,
    alpha: float = 0.0001,
    beta: float = 0.75,
    k: float = 1.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Divides by the mean of squares of the channels around, see :func:`lamella.nn.functional.local_response_norm`."""
    return lm.nn.functional.local_response_norm(x, size, alpha, beta, k)


@of_any_layout
def prelu(x: Tensor, weight: Tensor, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """``x``, and ``weight * x`` below 0: one weight for all, or one for each channel."""
    return lm.prelu(x, weight)


@of_any_layout
def pixel_shuffle(x: Tensor, upscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Channels in the place of finer pixels, see :func:`lamella.nn.functional.pixel_shuffle`."""
    return x.clone() if upscale_factor == 1 else lm.nn.functional.pixel_shuffle(x, upscale_factor)


@of_any_layout
def pixel_unshuffle(x: Tensor, downscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Pixels in the place of channels, see :func:`lamella.nn.functional.pixel_unshuffle`."""
    return x.clone() if downscale_factor == 1 else lm.nn.functional.pixel_unshuffle(x, downscale_factor)


@of_any_layout
def channel_shuffle(x: Tensor, groups: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """The first channels of all groups, then the second ones, see :func:`lamella.nn.functional.channel_shuffle`."""
    return x.clone() if groups == 1 else lm.nn.functional.channel_shuffle(x, groups)


def _numbers(value: Any) -> Any:
    """Returns numbers that may be given as tensors."""
    if isinstance(value, Tensor):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(each.item() if isinstance(each, Tensor) else each for each in value)
    return value


@of_any_layout
def _resized(
    x: Tensor,
    size: Any,
    scale_factor: Any,
    mode: str,
    align_corners: bool,
    align_mode: int,
    recomputed: bool,
    data_format: str | None,
) -> Tensor:
    size, scale = _numbers(size), _numbers(scale_factor)
    mode = mode.lower()
    spatial = tuple(x.shape)[2:]
    scales = scale if isinstance(scale, tuple) else (scale,) * len(spatial)
    sizes = size if isinstance(size, tuple) else (size,) * len(spatial)
    if size is None and scale is not None:
        sizes = tuple(int(n * s) for n, s in zip(spatial, scales, strict=True))
        if recomputed:
            size, scale, scales = sizes, None, (None,) * len(spatial)
    if mode in ("linear", "bilinear", "trilinear") and align_mode == 1 and not align_corners:
        for axis, (old, new, factor) in enumerate(zip(spatial, sizes, scales, strict=True)):
            x = _from_corner(x, 2 + axis, old, int(new), old / new if size is not None else 1.0 / factor)
        return x
    if mode in ("bilinear", "bicubic") and not align_corners and 1 in sizes:
        for axis, new in enumerate(sizes):
            x = _first(x, 2 + axis, mode) if new == 1 else x
        if scale is not None:
            scale = tuple(1.0 if new == 1 else each for new, each in zip(sizes, scales, strict=True))
    corners = align_corners if mode in ("linear", "bilinear", "trilinear", "bicubic") else None
    return lm.nn.functional.interpolate(x, size, scale, mode, corners)


def _first(x: Tensor, axis: int, mode: str) -> Tensor:
    """Returns the one element of an axis that Paddle's images of one row have: that at -1/2, not that in the middle.

    Linear means begin at 0. A cubic through equal elements before the first one does not.
    """
    first = lm.take(x, lm.zeros((1,), dtype="int64"), axis=axis)
    if mode == "bilinear" or x.shape[axis] == 1:
        return first
    second = lm.take(x, lm.ones((1,), dtype="int64"), axis=axis)
    return first + (first - second) * 0.09375  # the cubic of slope -3/4, half way between two elements


def _from_corner(x: Tensor, axis: int, old: int, new: int, step: float) -> Tensor:
    """Returns linear means along an axis, at ``i * step`` for each new place i."""
    places = lm.arange(new, dtype="float64") * step
    low = lm.clip(lm.floor(places), 0, old - 1).astype("int64")
    high = lm.clip(low + 1, 0, old - 1)
    shape = tuple(new if each == axis else 1 for each in range(x.ndim))
    share = lm.reshape((places - low).astype(x.dtype), shape)
    return lm.take(x, low, axis=axis) * (1 - share) + lm.take(x, high, axis=axis) * share


def interpolate(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str | None = None,
    recompute_scale_factor: bool | None = None,
    name: str | None = None,
    antialias: bool = False,
) -> Tensor:
    """Images of another size, see :func:`lamella.nn.functional.interpolate`.

    ``align_mode`` 1 counts places from corners instead of the middles of pixels, in linear modes;
    ``recompute_scale_factor`` takes the factors of the sizes that ``scale_factor`` leads to.

    Raises:
        NotImplementedError: ``antialias`` is set.
    """
    if antialias:
        raise NotImplementedError("[interpolate] Lamella's paddle front takes no antialias")
    options = mode, align_corners, align_mode, bool(recompute_scale_factor)
    made: Tensor = _resized(x, size, scale_factor, *options, data_format=data_format)
    return made


def upsample(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Another name of :func:`interpolate`."""
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)


def pad(
    x: Tensor,
    pad: Any,
    mode: str = "constant",
    value: float = 0.0,
    data_format: str | None = None,
    pad_from_left_axis: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns ``x`` with more elements around it.

    Args:
        x: the tensor.
        pad: a number for all spatial axes; pairs for the spatial axes of the layout, the last one first; or pairs for
            all axes, from the first on. In mode "constant" other counts are for the last axes of the tensor in
            whatever layout, the last one first, and one that has no other begins its axis.
        mode: "constant", "reflect", "replicate" or "circular".
        value: the new elements of "constant".
        data_format: the layout; "NCHW" and its kin by default.
        pad_from_left_axis: False for pairs for all axes from the last one on.
        name: not used.
    """
    listed = pad.tolist() if isinstance(pad, Tensor) else pad
    spatial, full = 2 * (x.ndim - 2), 2 * x.ndim
    if not isinstance(listed, (list, tuple)):
        listed = [listed] * spatial
    counts = [int(each) for each in listed]
    by_layout = len(counts) == spatial if mode == "constant" else len(counts) < full
    turned = data_format is not None and data_format.upper() in LAST and by_layout
    if len(counts) == full and pad_from_left_axis:
        pairs = [counts[i : i + 2] for i in range(0, len(counts), 2)]
        counts = [each for pair in reversed(pairs) for each in pair]
    if mode == "constant" and len(counts) % 2 == 1:
        counts.append(0)
    made = lm.pad(lm.moveaxis(x, -1, 1) if turned else x, counts, mode, value)
    return lm.moveaxis(made, 1, -1) if turned else made


def zeropad2d(x: Tensor, padding: Any, data_format: str = "NCHW", name: Any = None) -> Tensor:
    """Images with zeros around them: left, right, top, bottom."""
    listed = padding.tolist() if isinstance(padding, Tensor) else padding
    return pad(x, [listed] * 4 if isinstance(listed, int) else listed, data_format=data_format)


def unfold(
    x: Tensor, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: str | None = None
) -> Tensor:
    """The windows of images in columns; four paddings are those at the top, left, bottom and right."""
    if isinstance(paddings, (list, tuple)) and len(paddings) == 4:
        top, left, bottom, right = paddings
        x, paddings = lm.pad(x, [left, right, top, bottom]), 0
    return lm.nn.functional.unfold(x, kernel_sizes, dilations, paddings, strides)
