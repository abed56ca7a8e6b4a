"""Pooling."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any

import numpy as np

import lamella as lm

from .._builder import (
    Value,
    cast,
    constant,
    op,
    ops,
    product,
    reshape,
    shape_value,
    sizes,
    slice_axis,
    squeeze,
)
from .._registry import builtin
from ._pointwise import is_float
from .convolutions import numbers, with_batch


def _max_pooled(
    x: Value, spatial: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, places: bool
) -> list[Value]:
    window = numbers(kernel, spatial)
    strides = numbers(stride, spatial) if stride else window
    steps = numbers(dilation, spatial)
    # Whole numbers of 32 and more bits have no kernels in engines, and float32 holds fewer of them.
    y, alone = with_batch(x if is_float(x) else cast(x, lm.float32 if x.dtype.itemsize < 4 else lm.float64), spatial)
    whole = sizes(y)[2:]
    before = numbers(padding, spatial)
    after = before
    if ceil_mode:
        reach = [d * (k - 1) + 1 for d, k in zip(steps, window, strict=True)]
        y, after = _without_windows_behind(y, reach, strides, before)
    found = ops(
        "MaxPool",
        y,
        outputs=2 if places else 1,
        kernel_shape=window,
        strides=strides,
        pads=[*before, *after],
        dilations=steps,
        ceil_mode=int(ceil_mode),
    )
    results = [cast(found[0], x.dtype)]
    if places:
        results.append(_places(found[1], sizes(y)[2:], whole))
    return [squeeze(part, 0) for part in results] if alone else results


def _without_windows_behind(
    y: Value, reach: list[int], strides: list[int], padding: list[int]
) -> tuple[Value, list[int]]:
    """Returns an image and its padding behind, so that with ceil_mode no window begins behind the image.

    Lamella and engines leave out such windows, but ONNX's inference of shapes counts them.
    """
    after = list(padding)
    for i, (n, k, s, p) in enumerate(zip(y.shape[2:], reach, strides, padding, strict=True)):
        count = _windows(n, k, s, p, True)
        if n < 0 or (count - 1) * s + k >= n + 2 * p:
            continue
        beyond = (count - 1) * s + k - n - p
        after[i] = max(beyond, 0)
        if beyond < 0:
            y = slice_axis(y, 2 + i, 0, n + beyond)
    return y, after


def _places(found: Value, part: list[Any], whole: list[Any]) -> Value:
    """Returns places in images of the sizes ``whole``, of those that ONNX counts through parts of all images."""
    rest = op("Mod", found, product(part))
    if all(isinstance(m, Value) or m == n for m, n in zip(part, whole, strict=True)):
        return rest
    along = []
    stride: Any = 1
    for m, n in zip(part[::-1], whole[::-1], strict=True):
        along.append(op("Mod", rest, m) * stride)
        rest = op("Div", rest, m)
        stride = n * stride
    return functools.reduce(operator.add, along)


def _max_pool(spatial: int) -> None:
    @builtin(f"max_pool{spatial}d")
    def convert(
        x: Value,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Value:
        return _max_pooled(x, spatial, kernel_size, stride, padding, dilation, ceil_mode, False)[0]

    @builtin(f"max_pool{spatial}d_with_indices")
    def convert_with_indices(
        x: Value,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> list[Value]:
        return _max_pooled(x, spatial, kernel_size, stride, padding, dilation, ceil_mode, True)


def _windows(n: int, kernel: int, stride: int, padding: int, ceil_mode: bool) -> int:
    """Returns the number of windows along an axis; the last one begins inside of the axis or its front padding."""
    span = n + 2 * padding - kernel
    count = (-(-span // stride) if ceil_mode else span // stride) + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= n + padding else count


def _sums(
    y: Value, window: list[int], strides: list[int], padding: list[int], ceil_mode: bool
) -> tuple[Value, list[Any]]:
    """Returns the sums of windows, and for each axis begin and end of each window, None without ceil_mode."""
    spans: list[Any] = []
    ends = []
    for n, k, s, p in zip(y.shape[2:], window, strides, padding, strict=True):
        if not ceil_mode:
            ends.append(p)
            spans.append(None if n < 0 else np.arange(_windows(n, k, s, p, False)) * s - p)
            continue
        if n < 0:
            raise NotImplementedError("[pool] with ceil_mode an exported model needs the sizes of the image")
        count = _windows(n, k, s, p, True)
        ends.append((count - 1) * s + k - n - p)
        spans.append(np.arange(count) * s - p)
    if any(padding) or any(ends):
        y = op("Pad", y, [0, 0, *padding, 0, 0, *ends])
    mean = op("AveragePool", y, kernel_shape=window, strides=strides)
    return mean * float(math.prod(window)), spans


def _avg_pool(spatial: int) -> None:
    @builtin(f"avg_pool{spatial}d")
    def convert(
        x: Value,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        window = numbers(kernel_size, spatial)
        strides = numbers(stride, spatial) if stride else window
        pads = numbers(padding, spatial)
        if not is_float(x):
            raise NotImplementedError("[avg_pool] ONNX has means of floating-point numbers only")
        y, alone = with_batch(x, spatial)
        if not ceil_mode and divisor_override is None:
            include = int(count_include_pad)
            z = op("AveragePool", y, kernel_shape=window, strides=strides, pads=pads * 2, count_include_pad=include)
            return squeeze(z, 0) if alone else z
        total, spans = _sums(y, window, strides, pads, ceil_mode)
        if divisor_override is not None:
            z = total / float(divisor_override)
        else:
            counts = np.ones(())
            for begins, n, k, p in zip(spans, y.shape[2:], window, pads, strict=True):
                low, high = (-p, n + p) if count_include_pad else (0, n)
                along = np.minimum(begins + k, high) - np.maximum(begins, low)
                counts = np.multiply.outer(counts, along)
            z = total / constant(counts, x.dtype)
        return squeeze(z, 0) if alone else z


def _lp_pool(spatial: int) -> None:
    @builtin(f"lp_pool{spatial}d")
    def convert(x: Value, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Value:
        window = numbers(kernel_size, spatial)
        y, alone = with_batch(x, spatial)
        strides = numbers(stride, spatial) if stride else window
        total, _ = _sums(y ** float(norm_type), window, strides, [0] * spatial, ceil_mode)
        z = total ** (1.0 / norm_type)
        return squeeze(z, 0) if alone else z


def _bounds(n: int, count: int) -> list[tuple[int, int]]:
    """Returns begin and end of each window of adaptive pooling."""
    return [(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]


def averaged(y: Value, sizes_: list[int]) -> Value:
    """Returns means of the windows of adaptive pooling over the last axes."""
    first = y.ndim - len(sizes_)
    if all(count == 1 for count in sizes_):
        from .._builder import reduce

        return reduce("ReduceMean", y, list(range(first, y.ndim)), keepdims=True)
    known = y.shape[first:]
    if -1 in known:
        raise NotImplementedError("[adaptive_avg_pool] an exported model needs the sizes of the image")
    if all(n % count == 0 for n, count in zip(known, sizes_, strict=True)):
        window = [n // count for n, count in zip(known, sizes_, strict=True)]
        return op("AveragePool", y, kernel_shape=window, strides=window)
    for place, (n, count) in enumerate(zip(known, sizes_, strict=True)):
        weights = np.zeros((n, count))
        for i, (begin, end) in enumerate(_bounds(n, count)):
            weights[begin:end, i] = 1.0 / (end - begin)
        axis = first + place
        order = [i for i in range(y.ndim) if i != axis] + [axis]
        back = [order.index(i) for i in range(y.ndim)]
        moved = op("MatMul", op("Transpose", y, perm=order), constant(weights, y.dtype))
        y = op("Transpose", moved, perm=back)
    return y


def _adaptive(spatial: int) -> None:
    @builtin(f"adaptive_avg_pool{spatial}d")
    def convert_avg(x: Value, output_size: Any) -> Value:
        y, alone = with_batch(x, spatial)
        z = averaged(y, numbers(output_size, spatial))
        return squeeze(z, 0) if alone else z

    def largest(x: Value, output_size: Any) -> list[Value]:
        y, alone = with_batch(x, spatial)
        wanted = numbers(output_size, spatial)
        known = y.shape[2:]
        if -1 in known:
            raise NotImplementedError("[adaptive_max_pool] an exported model needs the sizes of the image")
        # The places of each window's elements in the flat image; a smaller window has its first element again.
        rows = []
        for window in itertools.product(*(_bounds(n, count) for n, count in zip(known, wanted, strict=True))):
            grid = np.meshgrid(*(np.arange(a, b) for a, b in window), indexing="ij")
            rows.append(np.ravel_multi_index([axis.ravel() for axis in grid], known))
        width = max(len(row) for row in rows)
        table = np.stack([np.concatenate([row, np.full(width - len(row), row[0])]) for row in rows]).astype("int64")
        flat = reshape(y, [*sizes(y)[:2], math.prod(known)])
        picked = op("Gather", flat, constant(table), axis=2)
        best = op("ArgMax", picked, axis=3, keepdims=1)
        values = op("GatherElements", picked, best, axis=3)
        spread = op("Expand", constant(table), op("Shape", picked))
        places = op("GatherElements", spread, best, axis=3)
        shape = [*sizes(y)[:2], *wanted]
        results = [reshape(part, shape) for part in (values, places)]
        return [squeeze(part, 0) for part in results] if alone else results

    @builtin(f"adaptive_max_pool{spatial}d")
    def convert_max(x: Value, output_size: Any) -> Value:
        return largest(x, output_size)[0]

    @builtin(f"adaptive_max_pool{spatial}d_with_indices")
    def convert_with_indices(x: Value, output_size: Any) -> list[Value]:
        return largest(x, output_size)

    @builtin(f"max_unpool{spatial}d")
    def convert_unpool(x: Value, indices: Value, *settings: Any, meta_outputs: Any = None) -> Value:
        target = list(meta_outputs.shape[x.ndim - spatial :])
        if -1 in target:
            raise NotImplementedError("[max_unpool] an exported model needs the sizes of the image")
        leading: list[Any] = sizes(x)[: x.ndim - spatial]
        zeros = op("Expand", cast(0, x.dtype), shape_value([*leading, math.prod(target)]))
        places, values = (reshape(part, [*leading, -1]) for part in (indices, x))
        return reshape(op("ScatterElements", zeros, places, values, axis=-1), [*leading, *target])


for _spatial in (1, 2, 3):
    _max_pool(_spatial)
    _avg_pool(_spatial)
    _lp_pool(_spatial)
    _adaptive(_spatial)
