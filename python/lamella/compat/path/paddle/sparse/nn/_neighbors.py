"""Convolutions and pooling of sparse images and volumes: each window sees the values that lie in it.

Places are examples and positions, channels are a dense axis: ``(n, h, w, c)`` and ``(n, d, h, w, c)``.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import lamella as lm
from lamella import Tensor

from ...nn._layouts import pairs, sizes
from .._tensor import SparseTensor


class _Windows:
    """Windows over the values of a sparse tensor: which value each has at which of its positions.

    Args:
        name: the function's name, for errors.
        x: the tensor.
        kernel: size of a window along each axis.
        options: the stride, the padding and the dilation, in the forms that Paddle takes.
        layout: the layout that the user named.
        at_values: True for windows around each value and nowhere else.
    """

    def __init__(
        self, name: str, x: SparseTensor, kernel: Any, options: tuple[Any, Any, Any], layout: str, at_values: bool
    ) -> None:
        axes = len(kernel)
        wanted = "NDHWC" if axes == 3 else "NHWC"
        if layout != wanted:
            raise ValueError(f"[{name}] data_format is {wanted!r}, not {layout!r}")
        if not isinstance(x, SparseTensor) or x.is_sparse_csr() or x.ndim != axes + 2 or x.dense_dim() != 1:
            raise ValueError(f"[{name}] takes a sparse tensor {tuple(wanted)} by coordinates, whose channels are dense")
        stride, dilation = sizes(options[0], axes), sizes(options[2], axes)
        spatial = [int(n) for n in x.shape[1:-1]]
        spread = [(k - 1) * step + 1 for k, step in zip(kernel, dilation, strict=True)]
        if at_values:
            stride = (1,) * axes
            margins = [(k // 2 * step, k // 2 * step) for k, step in zip(kernel, dilation, strict=True)]
            self.shape = spatial
        else:
            margins = pairs(name, options[1], axes, layout, spread, stride, spatial)
            rests = zip(spatial, margins, spread, stride, strict=True)
            self.shape = [(n + first + last - wide) // step + 1 for n, (first, last), wide, step in rests]
        self.count = x.shape[0]
        places = x.indices().numpy().astype(np.int64)
        before = np.array([[first] for first, _ in margins])
        step, last = np.array(stride)[:, None], np.array(self.shape)[:, None]
        found = []
        for offset in itertools.product(*map(range, kernel)):
            moved = places[1:] + before - np.array(offset)[:, None] * np.array(dilation)[:, None]
            fits = ((moved >= 0) & (moved % step == 0) & (moved // step < last)).all(axis=0)
            rows = np.flatnonzero(fits)
            found.append((rows, self._number(places[0, rows], moved[:, rows] // step)))
        own = self._number(places[0], places[1:]) if at_values else np.concatenate([numbers for _, numbers in found])
        self.numbers, first = np.unique(own, return_index=True)
        #: Of each position in the window, rows of values, and of the windows that they are in.
        self.parts = []
        for rows, numbers in found:
            window = np.searchsorted(self.numbers, numbers)
            window[window == len(self.numbers)] = 0
            there = self.numbers[window] == numbers if len(self.numbers) else np.zeros(len(rows), bool)
            self.parts.append((rows[there], window[there]))
        if at_values:  # in the order of the tensor's own places
            back = np.argsort(first, kind="stable")
            order = np.empty_like(back)
            order[back] = np.arange(len(back))
            self.numbers = self.numbers[back]
            self.parts = [(rows, order[window]) for rows, window in self.parts]

    def _number(self, example: Any, position: Any) -> Any:
        number = example
        for at, size in zip(position, self.shape, strict=True):
            number = number * size + at
        return number

    def made(self, values: Tensor) -> SparseTensor:
        """Returns the sparse tensor with a row of values for each window."""
        places = np.stack(np.unravel_index(self.numbers, (int(self.count), *self.shape)))
        shape = (self.count, *self.shape, values.shape[1])
        return SparseTensor(lm.asarray(places.astype(np.int64)), values, shape)


def _convolved(
    name: str,
    x: SparseTensor,
    weight: Tensor,
    bias: Tensor | None,
    options: tuple[Any, Any, Any],
    groups: int,
    data_format: str,
    at_values: bool,
) -> SparseTensor:
    if groups != 1:
        raise ValueError(f"[{name}] groups is 1, not {groups}")
    *kernel, inside, outside = (int(n) for n in tuple(weight.shape))
    windows = _Windows(name, x, kernel, options, data_format, at_values)
    if x.shape[-1] != inside:
        raise ValueError(f"[{name}] the tensor has {x.shape[-1]} channels, the weight is for {inside}")
    values, matrices = x.values(), lm.reshape(weight, (-1, inside, outside))
    total = lm.zeros((len(windows.numbers), outside), dtype=values.dtype)
    for k, (rows, window) in enumerate(windows.parts):
        if len(rows):
            products = lm.matmul(lm.take(values, lm.asarray(rows), axis=0), matrices[k])
            total = lm.index_add(total, 0, lm.asarray(window), products)
    return windows.made(total if bias is None else total + bias)


def conv3d(
    x: SparseTensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> SparseTensor:
    """The convolution with a weight ``(d, h, w, in, out)``, at all places whose window has a value."""
    return _convolved("conv3d", x, weight, bias, (stride, padding, dilation), groups, data_format, False)


def subm_conv3d(
    x: SparseTensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NDHWC",
    key: str | None = None,
    name: str | None = None,
) -> SparseTensor:
    """The convolution at the places of ``x``, with windows around them whatever the stride and the padding are."""
    return _convolved("subm_conv3d", x, weight, bias, (stride, padding, dilation), groups, data_format, True)


def conv2d(
    x: SparseTensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NHWC",
    name: str | None = None,
) -> SparseTensor:
    """The convolution with a weight ``(h, w, in, out)``, at all places whose window has a value."""
    return _convolved("conv2d", x, weight, bias, (stride, padding, dilation), groups, data_format, False)


def subm_conv2d(
    x: SparseTensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NHWC",
    key: str | None = None,
    name: str | None = None,
) -> SparseTensor:
    """The convolution at the places of ``x``, with windows around them whatever the stride and the padding are."""
    return _convolved("subm_conv2d", x, weight, bias, (stride, padding, dilation), groups, data_format, True)


subm_conv2d_igemm, subm_conv3d_igemm = subm_conv2d, subm_conv3d


def max_pool3d(
    x: SparseTensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> SparseTensor:
    """The largest value of each channel in each window that has any.

    Raises:
        NotImplementedError: ``ceil_mode`` is set.
    """
    if ceil_mode:
        raise NotImplementedError("[max_pool3d] Lamella's paddle front takes no ceil_mode of sparse tensors")
    kernel = sizes(kernel_size, 3)
    options = (kernel if stride is None else stride, padding, 1)
    windows = _Windows("max_pool3d", x, kernel, options, data_format, False)
    members: list[list[int]] = [[] for _ in windows.numbers]
    for rows, window in windows.parts:
        for row, number in zip(rows.tolist(), window.tolist(), strict=True):
            members[number].append(row)
    most = max(map(len, members), default=1)
    # A window's first value stands in for those that it lacks, with which it shares no gradient.
    table = np.array([each + each[:1] * (most - len(each)) for each in members], np.int64).reshape(-1, most)
    values = lm.take(x.values(), lm.asarray(table), axis=0)
    best = lm.argmax(values, axis=1, keepdims=True)
    return windows.made(lm.squeeze(lm.take_along_axis(values, best, axis=1), 1))


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sparse_mask: SparseTensor,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Attention of ``(n, heads, length, size)`` to the places of a mask ``(n * heads, length, length)`` by rows.

    Args:
        query: what asks.
        key: what is compared with it.
        value: what is mixed.
        sparse_mask: its places are seen, its values mean nothing.
        key_padding_mask: ``(n, length)``, 0 for keys that are not seen.
        attn_mask: ``(length, length)``, 0 for pairs that are not seen.
        name: nothing.

    Raises:
        ValueError: the mask has another shape.
    """
    n, heads, length, size = (int(each) for each in tuple(query.shape))
    if list(sparse_mask.shape) != [n * heads, length, length]:
        raise ValueError(f"[attention] sparse_mask is {[n * heads, length, length]}, not {list(sparse_mask.shape)}")
    seen = lm.ones_like(sparse_mask.values(), dtype=lm.float32)
    there = lm.reshape(sparse_mask.with_values(seen).to_dense(), (n, heads, length, length)) > 0
    for given, shape in ((key_padding_mask, (n, 1, 1, length)), (attn_mask, (1, 1, length, length))):
        if given is not None:
            there = lm.logical_and(there, lm.reshape(given, shape) != 0)
    scores = lm.matmul(query, key.mT) / size**0.5
    scores = lm.where(there, scores, lm.full_like(scores, -float("inf")))
    none = lm.logical_not(lm.any(there, axis=-1, keepdims=True))
    weights = lm.softmax(lm.where(none, lm.zeros_like(scores), scores), axis=-1)
    return lm.matmul(lm.where(there, weights, lm.zeros_like(weights)), value)
