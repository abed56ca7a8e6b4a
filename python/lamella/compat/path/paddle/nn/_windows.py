"""Convolutions and pooling with the layouts and paddings that Paddle takes."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella import Tensor

from ._layouts import of_any_layout, pairs, sizes, split


def _conv(axes: int) -> Any:
    native = getattr(lm, f"conv{axes}d")
    layout = ("NCL", "NCHW", "NCDHW")[axes - 1]

    def conv(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        data_format: str = layout,
        name: str | None = None,
    ) -> Tensor:
        step, spread = sizes(stride, axes), sizes(dilation, axes)
        if isinstance(padding, str) and padding.upper() == "SAME":
            spread = (1,) * axes
        spatial, window = tuple(x.shape)[2:], tuple(weight.shape)[2:]
        x, pads = split(x, pairs(conv.__name__, padding, axes, data_format, window, step, spatial))
        return native(x, weight, bias, step, pads, spread, groups)

    conv.__name__ = conv.__qualname__ = f"conv{axes}d"
    conv.__doc__ = (
        f"Convolves with filters ``(out_channels, channels / groups, ...)``, see :func:`lamella.conv{axes}d`."
    )
    return of_any_layout(conv)


conv1d, conv2d, conv3d = map(_conv, (1, 2, 3))


def transposed(
    axes: int,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    dilation: Any,
    groups: int,
    output_size: Any,
    data_format: str,
) -> Tensor:
    """Returns the transpose of a convolution; ``output_size`` chooses among the sizes that a stride leaves open."""
    name = f"conv{axes}d_transpose"
    step, spread, more = sizes(stride, axes), sizes(dilation, axes), sizes(output_padding, axes)
    window, spatial = tuple(weight.shape)[2:], tuple(x.shape)[2:]
    if isinstance(padding, str) and padding.upper() == "SAME":
        spread = (1,) * axes
    given = pairs(name, padding, axes, data_format, window, step, spatial)
    if output_size is not None:
        wanted = sizes(output_size, axes)
        usual = [
            (n - 1) * s + d * (k - 1) + 1 - first - last
            for n, s, d, k, (first, last) in zip(spatial, step, spread, window, given, strict=True)
        ]
        more = tuple(w - u for w, u in zip(wanted, usual, strict=True))
        if not all(0 <= each < max(s, d) for each, s, d in zip(more, step, spread, strict=True)):
            raise ValueError(f"[{name}] output_size {list(wanted)} does not lie between {usual} and the next step")
    pads = tuple(min(pair) for pair in given)
    made = getattr(lm, f"conv_transpose{axes}d")(x, weight, bias, step, pads, more, groups, spread)
    for axis, ((first, last), pad) in enumerate(zip(given, pads, strict=True)):
        if first != last:
            made = lm.narrow(made, 2 + axis, first - pad, tuple(made.shape)[2 + axis] - first - last + 2 * pad)
    return made


@of_any_layout
def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    output_size: Any = None,
    data_format: str = "NCL",
    name: str | None = None,
) -> Tensor:
    """The transpose of :func:`conv1d`, with filters ``(channels, out_channels / groups, size)``."""
    return transposed(1, x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format)


def _transpose(axes: int) -> Any:
    layout = ("NCL", "NCHW", "NCDHW")[axes - 1]

    def conv(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        output_size: Any = None,
        data_format: str = layout,
        name: str | None = None,
    ) -> Tensor:
        options = stride, padding, output_padding, dilation, groups, output_size, data_format
        return transposed(axes, x, weight, bias, *options)

    conv.__name__ = conv.__qualname__ = f"conv{axes}d_transpose"
    conv.__doc__ = f"The transpose of :func:`conv{axes}d`, with filters ``(channels, out_channels / groups, ...)``."
    if axes == 3:
        return of_any_layout(_groups_first(conv))
    return of_any_layout(conv)


def _groups_first(conv: Any) -> Any:
    """Returns the function with ``groups`` before ``dilation``, as in three dimensions."""

    def conv3d_transpose(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
        output_size: Any = None,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> Tensor:
        made: Tensor = conv(
            x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format
        )
        return made

    conv3d_transpose.__doc__ = conv.__doc__
    return conv3d_transpose


conv2d_transpose, conv3d_transpose = map(_transpose, (2, 3))


def _whole(spatial: Any, window: Any, step: Any, given: list[tuple[int, int]], ceil_mode: bool) -> Any:
    """Returns the padding with what the last windows of ``ceil_mode`` need, which may lie behind all elements."""
    if not ceil_mode:
        return given
    found = []
    for n, k, s, (first, last) in zip(spatial, window, step, given, strict=True):
        left = (n + first + last - k) % s
        found.append((first, last + (s - left if left else 0)))
    return found


def _around(x: Tensor, given: list[tuple[int, int]], value: float = 0.0) -> Tensor:
    return lm.pad(x, [each for pair in reversed(given) for each in pair], "constant", value)


def _lengths(x: Tensor, counts: Any, window: Any, step: Any, given: list[tuple[int, int]], exclusive: bool) -> Tensor:
    """Returns the number of elements that Paddle divides each window by: of those in ``x`` where ``exclusive``.

    Others end where as much padding ends as there is in front, however much there is behind. That of a window behind
    all elements is 0 or negative.
    """
    found = lm.ones((), dtype=x.dtype)
    for axis, (count, k, s, (first, _)) in enumerate(zip(counts, window, step, given, strict=True)):
        starts = lm.arange(count) * s - first
        end = tuple(x.shape)[2 + axis] + (0 if exclusive else first)
        length = lm.minimum(starts + k, lm.tensor(end)) - (lm.relu(starts) if exclusive else starts)
        found = found * lm.reshape(length.astype(x.dtype), (count, *(1,) * (len(counts) - 1 - axis)))
    return found


def average(
    axes: int,
    x: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    exclusive: bool,
    divisor_override: float | None,
    data_format: str,
) -> Tensor:
    """Returns the mean of each window: of its elements that are in ``x`` where ``exclusive``."""
    name = f"avg_pool{axes}d"
    native = getattr(lm, name)
    window = sizes(kernel_size, axes)
    step = window if stride is None else sizes(stride, axes)
    spatial = tuple(x.shape)[2:]
    given = pairs(name, padding, axes, data_format, window, step, spatial)
    whole = _whole(spatial, window, step, given, ceil_mode)
    if whole == given and all(first == last for first, last in given):
        made: Tensor = native(x, window, step, tuple(first for first, _ in given), False, not exclusive)
    else:
        made = native(_around(x, whole), window, step, 0, False, True)
        made = made * (math.prod(window) / _lengths(x, tuple(made.shape)[2:], window, step, given, exclusive))
    # As Paddle does: the mean is scaled as if all windows had all elements.
    return made if divisor_override is None else made * (math.prod(window) / divisor_override)


def avg_pool1d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the mean of each window of series."""
    return average(1, x, kernel_size, stride, padding, ceil_mode, exclusive, None, "NCL")


def _average(axes: int) -> Any:
    layout = ("NCL", "NCHW", "NCDHW")[axes - 1]

    def pool(
        x: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: float | None = None,
        data_format: str = layout,
        name: str | None = None,
    ) -> Tensor:
        return average(axes, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format)

    pool.__name__ = pool.__qualname__ = f"avg_pool{axes}d"
    pool.__doc__ = "Returns the mean of each window; of its elements in the image where ``exclusive``."
    return of_any_layout(pool)


avg_pool2d, avg_pool3d = map(_average, (2, 3))


def _largest(axes: int) -> Any:
    name = f"max_pool{axes}d"
    native, with_places = getattr(lm, name), getattr(lm, f"{name}_with_indices")
    layout = ("NCL", "NCHW", "NCDHW")[axes - 1]

    def pool(
        x: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = layout,
        name: str | None = None,
    ) -> Any:
        window = sizes(kernel_size, axes)
        step = window if stride is None else sizes(stride, axes)
        # Beside a mask, Paddle reads "SAME" as no padding.
        pads_by = "VALID" if return_mask and isinstance(padding, str) else padding
        spatial = tuple(x.shape)[2:]
        given = pairs(pool.__name__, pads_by, axes, data_format, window, step, spatial)
        if return_mask and any(first != last for first, last in given):
            raise NotImplementedError(f"[{pool.__name__}] return_mask takes the same padding at both ends")
        if not return_mask:
            whole = _whole(spatial, window, step, given, ceil_mode)
            if whole == given and all(first == last for first, last in given):
                return native(x, window, step, tuple(first for first, _ in given), 1, False)
            return native(_around(x, whole, lm.finfo(x.dtype).min), window, step, 0, 1, False)
        made, places = with_places(x, window, step, tuple(first for first, _ in given), 1, ceil_mode)
        return made, places.astype("int32")

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = native.__doc__
    return of_any_layout(pool)


max_pool1d, max_pool2d, max_pool3d = map(_largest, (1, 2, 3))


def _adaptive(kind: str, axes: int) -> Any:
    name = f"adaptive_{kind}_pool{axes}d"
    native = getattr(lm.nn.functional, name)

    def outputs(x: Tensor, output_size: Any) -> tuple[int, ...]:
        listed = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * axes
        return tuple(n if each is None else int(each) for each, n in zip(listed, tuple(x.shape)[2:], strict=True))

    if kind == "avg":
        layout = ("NCL", "NCHW", "NCDHW")[axes - 1]

        def pool(x: Tensor, output_size: Any, data_format: str = layout, name: str | None = None) -> Tensor:
            made: Tensor = native(x, outputs(x, output_size))
            return made

        made = of_any_layout(pool) if axes > 1 else (lambda x, output_size, name=None: pool(x, output_size))
    else:
        with_places = getattr(lm.nn.functional, f"{name}_with_indices")

        def largest(x: Tensor, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
            if not return_mask:
                return native(x, outputs(x, output_size))
            values, places = with_places(x, outputs(x, output_size))
            return values, places.astype("int32")

        made = largest
    made.__name__ = made.__qualname__ = name
    made.__doc__ = native.__doc__
    return made


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive("avg", axes) for axes in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive("max", axes) for axes in (1, 2, 3))


def _power(axes: int) -> Any:
    name = f"lp_pool{axes}d"
    native = getattr(lm.nn.functional, name)
    largest = (max_pool1d, max_pool2d)[axes - 1]
    layout = ("NCL", "NCHW")[axes - 1]

    def pool(
        x: Tensor,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        data_format: str = layout,
        name: str | None = None,
    ) -> Tensor:
        if norm_type == math.inf:  # the largest element, not the largest absolute value
            return largest(x, kernel_size, stride, padding, False, ceil_mode)
        window = sizes(kernel_size, axes)
        step = window if stride is None else sizes(stride, axes)
        spatial = tuple(x.shape)[2:]
        given = pairs(pool.__name__, padding, axes, data_format, window, step, spatial)
        whole = _whole(spatial, window, step, given, ceil_mode)
        if any(first or last for first, last in whole):
            x = _around(x, whole)
        made: Tensor = native(x, norm_type, window if axes > 1 else window[0], step if axes > 1 else step[0])
        return made

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = native.__doc__
    return of_any_layout(pool)


lp_pool1d, lp_pool2d = map(_power, (1, 2))
