"""Operators of detectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella.compat import regions
from lamella.compat.front import close_module

from ..nn import Layer
from ._networks import ConvNormActivation  # noqa: F401
from ._yolo import yolo_box, yolo_loss  # noqa: F401


def _pair(value: Any) -> tuple[int, int]:
    first, second = (value, value) if isinstance(value, int) else value
    return int(first), int(second)


def _regions(boxes: lm.Tensor, boxes_num: lm.Tensor) -> lm.Tensor:
    """Returns boxes with the number of their image in front."""
    counts = [int(count) for count in boxes_num.tolist()]
    images = [image for image, count in enumerate(counts) for _ in range(count)]
    column = lm.asarray(images, dtype=boxes.dtype, device=boxes.device)
    return lm.concat([lm.reshape(column, (-1, 1)), boxes], axis=1)


def nms(
    boxes: lm.Tensor,
    iou_threshold: float = 0.3,
    scores: lm.Tensor | None = None,
    category_idxs: lm.Tensor | None = None,
    categories: Sequence[int] | None = None,
    top_k: int | None = None,
) -> lm.Tensor:
    """Returns the indices of the boxes that remain, see :func:`lamella.compat.regions.nms`.

    Args:
        boxes: shape ``(n, 4)``.
        iou_threshold: the overlap that is allowed.
        scores: shape ``(n,)``; without them, boxes that stand before others are better.
        category_idxs: the category of each box; boxes of different categories do not count against each other.
        categories: all categories.
        top_k: the largest number of results.

    Raises:
        ValueError: there are categories without scores, or without the list of all.
    """
    if scores is None:
        if category_idxs is not None:
            raise ValueError("[nms] scores: categories need scores")
        return regions.nms(boxes, -lm.arange(boxes.shape[0], dtype=lm.float64), iou_threshold)
    if category_idxs is not None:
        if categories is None:
            raise ValueError("[nms] categories: give all categories")
        # Boxes of different categories are moved apart, so that they do not overlap.
        apart = lm.astype(category_idxs, boxes.dtype) * (lm.max(boxes) - lm.min(boxes) + 1)
        boxes = boxes + lm.reshape(apart, (-1, 1))
    kept = regions.nms(boxes, scores, iou_threshold)
    return kept if top_k is None else kept[:top_k]


def roi_align(
    x: lm.Tensor,
    boxes: lm.Tensor,
    boxes_num: lm.Tensor,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = True,
    name: str | None = None,
) -> lm.Tensor:
    """Returns regions as cells of means of interpolated points, see :func:`lamella.compat.regions.roi_align`."""
    found = _regions(boxes, boxes_num)
    return regions.roi_align(x, found, spatial_scale, *_pair(output_size), sampling_ratio, aligned)


def roi_pool(
    x: lm.Tensor,
    boxes: lm.Tensor,
    boxes_num: lm.Tensor,
    output_size: Any,
    spatial_scale: float = 1.0,
    name: str | None = None,
) -> lm.Tensor:
    """Returns regions as cells of maxima, see :func:`lamella.compat.regions.roi_pool`."""
    return regions.roi_pool(x, _regions(boxes, boxes_num), spatial_scale, *_pair(output_size))


def deform_conv2d(
    x: lm.Tensor,
    offset: lm.Tensor,
    weight: lm.Tensor,
    bias: lm.Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    deformable_groups: int = 1,
    groups: int = 1,
    mask: lm.Tensor | None = None,
    name: str | None = None,
) -> lm.Tensor:
    """Returns a convolution that reads at places of its own, see :func:`lamella.compat.regions.deform_conv2d`."""
    return regions.deform_conv2d(x, weight, offset, mask, bias, _pair(stride), _pair(padding), _pair(dilation))


class _Pool(Layer):
    _function: Any

    def __init__(self, output_size: Any, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self._output_size, self._spatial_scale = output_size, spatial_scale

    def forward(self, x: lm.Tensor, boxes: lm.Tensor, boxes_num: lm.Tensor, **options: Any) -> lm.Tensor:
        """Returns the regions as cells."""
        made: lm.Tensor = type(self)._function(x, boxes, boxes_num, self._output_size, self._spatial_scale, **options)
        return made


class RoIAlign(_Pool):
    """:func:`roi_align` as a layer."""

    _function = staticmethod(roi_align)


class RoIPool(_Pool):
    """:func:`roi_pool` as a layer."""

    _function = staticmethod(roi_pool)


class DeformConv2D(Layer):
    """:func:`deform_conv2d` with weights of its own; called with the images, the offsets and perhaps the mask."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        deformable_groups: int = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        from ..nn.initializer import Normal

        super().__init__()
        window = _pair(kernel_size)
        self._options = {"stride": stride, "padding": padding, "dilation": dilation}
        self._options |= {"deformable_groups": deformable_groups, "groups": groups}
        deviation = (2.0 / (window[0] * window[1] * in_channels)) ** 0.5
        shape = [out_channels, in_channels // groups, *window]
        self.weight = self.create_parameter(shape, attr=weight_attr, default_initializer=Normal(0.0, deviation))
        self.bias = None if bias_attr is False else self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: lm.Tensor, offset: lm.Tensor, mask: lm.Tensor | None = None) -> lm.Tensor:
        """Returns the convolution."""
        return deform_conv2d(x, offset, self.weight, self.bias, mask=mask, **self._options)


__getattr__ = close_module(__name__)
