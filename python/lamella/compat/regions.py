"""Operators of detectors over boxes of images: suppression, pooling of regions, deformable convolution.

Boxes are ``(x1, y1, x2, y2)``, regions ``(image, x1, y1, x2, y2)``. Pooling is separable: each cell of a region is a
sum over rows and columns of its image, weighted by the product of a number for the row and one for the column.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lamella as lm
from lamella import Tensor

#: Number of regions pooled together, so that what lies between stays small.
_TOGETHER = 64


def nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """Returns the indices of the boxes that remain, best scores first.

    A box goes where one of a better score overlaps it by more than ``threshold``, measured by intersection over union.

    Args:
        boxes: shape ``(n, 4)``.
        scores: shape ``(n,)``.
        threshold: the overlap that is allowed.
    """
    if boxes.ndim != 2 or boxes.shape[1] != 4 or tuple(scores.shape) != (boxes.shape[0],):
        raise ValueError(f"[nms] takes boxes (n, 4) and n scores, not {tuple(boxes.shape)} and {tuple(scores.shape)}")
    corners = lm.astype(boxes.detach(), lm.float64).numpy()
    left = np.argsort(-lm.astype(scores.detach(), lm.float64).numpy(), kind="stable")
    areas = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    kept = []
    while left.size:
        first, left = left[0], left[1:]
        kept.append(first)
        low = np.maximum(corners[first, :2], corners[left, :2])
        high = np.minimum(corners[first, 2:], corners[left, 2:])
        shared = np.prod(np.maximum(high - low, 0.0), axis=1)
        left = left[~(shared > threshold * (areas[first] + areas[left] - shared))]
    return lm.asarray(np.asarray(kept, np.int64), device=boxes.device)


def _sampled(start: Any, length: Any, cells: int, size: int, samples: int) -> Any:
    """Returns weights ``(regions, cells, size)``: means over points of linear interpolation along one axis."""
    count = np.full(start.shape, samples) if samples > 0 else np.ceil(length / cells).astype(np.int64)
    most = max(int(count.max(initial=0)), 1)
    point = np.arange(most)
    step = (length / cells)[:, None, None]
    at = start[:, None, None] + step * (np.arange(cells)[:, None] + (point + 0.5) / np.maximum(count, 1)[:, None, None])
    weight = ((at >= -1.0) & (at <= size) & (point < count[:, None, None])) / np.maximum(count, 1)[:, None, None]
    at = np.clip(at, 0.0, size - 1)
    low = np.minimum(at.astype(np.int64), size - 1)
    part = at - low
    made = np.zeros((start.size, cells, size))
    region, cell = np.ogrid[: start.size, :cells]
    for k in range(most):
        np.add.at(made, (region, cell, low[..., k]), weight[..., k] * (1.0 - part[..., k]))
        np.add.at(made, (region, cell, np.minimum(low[..., k] + 1, size - 1)), weight[..., k] * part[..., k])
    return made


def _round(x: Any) -> Any:
    """Rounds halves away from 0, as C does."""
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def _bins(start: Any, length: Any, cells: int, size: int) -> Any:
    """Returns which positions along an axis belong to a cell, as bools ``(regions, cells, size)``."""
    step = (length / cells)[:, None]
    low = np.clip(np.floor(np.arange(cells) * step + start[:, None]), 0, size)
    high = np.clip(np.ceil((np.arange(cells) + 1) * step + start[:, None]), 0, size)
    place = np.arange(size)
    return (place >= low[..., None]) & (place < high[..., None])


def _parts(x: Tensor, rois: Tensor) -> list[tuple[int, Any]]:
    """Returns pairs of an image and the numbers of some regions of it."""
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise ValueError(f"[roi] takes images (n, c, h, w) and regions (k, 5), not {x.shape} and {rois.shape}")
    images = rois.detach().numpy()[:, 0].astype(np.int64)
    if images.size and not 0 <= images.min() <= images.max() < x.shape[0]:
        raise IndexError(f"[roi] regions are of images from 0 to {x.shape[0] - 1}, not {sorted(set(images.tolist()))}")
    found = []
    for image in np.unique(images):
        (own,) = np.nonzero(images == image)
        found += [(int(image), own[k : k + _TOGETHER]) for k in range(0, own.size, _TOGETHER)]
    return found


def _pooled(x: Tensor, rois: Tensor, rows: Any, columns: Any, equation: str, channels: tuple[int, ...]) -> Tensor:
    """Returns sums over the rows and columns of each region, in the order of the regions."""
    parts = _parts(x, rois)
    cells = (rows.shape[1], columns.shape[1])
    if not parts:
        return lm.zeros((0, channels[0], *cells), dtype=x.dtype, device=x.device)
    made = []
    for image, own in parts:
        of_rows, of_columns = (lm.asarray(w[own], dtype=x.dtype, device=x.device) for w in (rows, columns))
        made.append(lm.einsum(equation, of_rows, lm.reshape(x[image], (*channels, *x.shape[2:])), of_columns))
    order = np.argsort(np.concatenate([own for _, own in parts]), kind="stable")
    return lm.take(lm.concat(made), lm.asarray(order, device=x.device), axis=0)


def _boxes(rois: Tensor, scale: float) -> Any:
    return lm.astype(rois.detach(), lm.float64).numpy()[:, 1:] * scale


def roi_align(
    x: Tensor, rois: Tensor, scale: float, height: int, width: int, sampling_ratio: int, aligned: bool
) -> Tensor:
    """Returns regions as cells of means of interpolated points, shape ``(k, c, height, width)``.

    Source: He et al. 2017, "Mask R-CNN".

    Args:
        x: images, shape ``(n, c, h, w)``.
        rois: regions, shape ``(k, 5)``.
        scale: what boxes are multiplied by.
        height: number of rows of cells.
        width: number of columns of cells.
        sampling_ratio: points along each axis of a cell; as many as it has pixels if not above 0.
        aligned: True shifts boxes by half a pixel, as pixels have their centers there.
    """
    boxes = _boxes(rois, scale) - (0.5 if aligned else 0.0)
    lengths = boxes[:, 2:] - boxes[:, :2]
    lengths = lengths if aligned else np.maximum(lengths, 1.0)
    rows = _sampled(boxes[:, 1], lengths[:, 1], height, x.shape[2], sampling_ratio)
    columns = _sampled(boxes[:, 0], lengths[:, 0], width, x.shape[3], sampling_ratio)
    return _pooled(x, rois, rows, columns, "kph,chw,kqw->kcpq", (x.shape[1],))


def ps_roi_align(x: Tensor, rois: Tensor, scale: float, height: int, width: int, sampling_ratio: int) -> Tensor:
    """Returns :func:`roi_align` where each cell reads channels of its own; there are ``c / (height * width)`` results.

    Source: Dai et al. 2016, "R-FCN".
    """
    boxes = _boxes(rois, scale) - 0.5
    lengths = boxes[:, 2:] - boxes[:, :2]
    rows = _sampled(boxes[:, 1], lengths[:, 1], height, x.shape[2], sampling_ratio)
    columns = _sampled(boxes[:, 0], lengths[:, 0], width, x.shape[3], sampling_ratio)
    return _by_cell(x, rois, rows, columns)


def _by_cell(x: Tensor, rois: Tensor, rows: Any, columns: Any) -> Tensor:
    cells = rows.shape[1] * columns.shape[1]
    if x.shape[1] % cells:
        raise ValueError(f"[ps_roi] the channels, {x.shape[1]}, are a multiple of the cells, {cells}")
    channels = (x.shape[1] // cells, rows.shape[1], columns.shape[1])
    return _pooled(x, rois, rows, columns, "kph,opqhw,kqw->kopq", channels)


def ps_roi_pool(x: Tensor, rois: Tensor, scale: float, height: int, width: int) -> Tensor:
    """Returns means of whole pixels where each cell reads channels of its own, see :func:`ps_roi_align`."""
    boxes = _round(_boxes(rois, scale))
    lengths = np.maximum(boxes[:, 2:] - boxes[:, :2], 1.0)
    rows = _bins(boxes[:, 1], lengths[:, 1], height, x.shape[2]).astype(np.float64)
    columns = _bins(boxes[:, 0], lengths[:, 0], width, x.shape[3]).astype(np.float64)
    rows, columns = (w / np.maximum(w.sum(-1, keepdims=True), 1.0) for w in (rows, columns))
    return _by_cell(x, rois, rows, columns)


def roi_pool(x: Tensor, rois: Tensor, scale: float, height: int, width: int) -> Tensor:
    """Returns regions as cells of maxima of whole pixels, 0 for a cell without any; see :func:`roi_align`.

    Source: Girshick 2015, "Fast R-CNN".
    """
    boxes = _round(_boxes(rois, scale))
    lengths = np.maximum(boxes[:, 2:] - boxes[:, :2] + 1.0, 1.0)
    rows = _bins(boxes[:, 1], lengths[:, 1], height, x.shape[2])
    columns = _bins(boxes[:, 0], lengths[:, 0], width, x.shape[3])
    nothing = lm.zeros((x.shape[1],), dtype=x.dtype, device=x.device)
    made = []
    for k, image in enumerate(rois.detach().numpy()[:, 0].astype(np.int64)):
        cells = []
        for row in rows[k]:
            for column in columns[k]:
                (down,), (right,) = np.nonzero(row), np.nonzero(column)
                if not down.size or not right.size:
                    cells.append(nothing)
                    continue
                part = x[int(image), :, int(down[0]) : int(down[-1]) + 1, int(right[0]) : int(right[-1]) + 1]
                cells.append(lm.max(part, axis=(1, 2)))
        made.append(lm.reshape(lm.stack(cells, axis=1), (x.shape[1], height, width)))
    return lm.stack(made) if made else lm.zeros((0, x.shape[1], height, width), dtype=x.dtype, device=x.device)


def deform_conv2d(
    x: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
) -> Tensor:
    """Returns a convolution whose kernel reads at places of its own, interpolated between pixels.

    Sources: Dai et al. 2017, "Deformable convolutional networks"; Zhu et al. 2019, of version 2, which has the mask.

    Args:
        x: images, shape ``(n, c, h, w)``.
        weight: shape ``(out, c / groups, kernel height, kernel width)``.
        offset: shape ``(n, 2 * g * kernel height * kernel width, out height, out width)``: for each place of the
            kernel how far down and to the right it reads, for ``g`` groups of channels.
        mask: what is read is multiplied by it, shape ``(n, g * kernel height * kernel width, out height, out width)``.
        bias: shape ``(out,)``.
        stride: steps between the places of the results.
        padding: zeros around the images.
        dilation: steps between the places of the kernel.
    """
    n, c, h, w = x.shape
    out, per_group, kh, kw = weight.shape
    places = kh * kw
    rows, columns = offset.shape[2:]
    if offset.shape[1] % (2 * places) or c % (offset.shape[1] // (2 * places)) or c % per_group:
        raise ValueError(f"[deform_conv2d] offset has 2 channels for each of {places} places and each group")
    g = offset.shape[1] // (2 * places)
    moved = lm.reshape(offset, (n, g, places, 2, rows, columns))
    base_y = np.arange(rows)[None, :, None] * stride[0] - padding[0]
    base_x = np.arange(columns)[None, None, :] * stride[1] - padding[1]
    place = np.arange(places)[:, None, None]
    y = moved[:, :, :, 0] + lm.asarray(base_y + place // kw * dilation[0], dtype=x.dtype, device=x.device)
    z = moved[:, :, :, 1] + lm.asarray(base_x + place % kw * dilation[1], dtype=x.dtype, device=x.device)
    flat = lm.reshape(x, (n, g, c // g, 1, h * w))
    low_y, low_x = lm.floor(y.detach()), lm.floor(z.detach())
    read: Any = 0.0
    for down in (0, 1):
        for right in (0, 1):
            at_y, at_x = low_y + down, low_x + right
            inside = (at_y >= 0) & (at_y <= h - 1) & (at_x >= 0) & (at_x <= w - 1)
            index = lm.astype(lm.clip(at_y, 0, h - 1) * w + lm.clip(at_x, 0, w - 1), lm.int64)
            share = (1.0 - lm.abs(y - at_y)) * (1.0 - lm.abs(z - at_x)) * lm.astype(inside, x.dtype)
            index = lm.reshape(index, (n, g, 1, places * rows * columns))
            index = index + lm.zeros((c // g, 1), dtype=lm.int64, device=x.device)
            found = lm.take_along_axis(flat[:, :, :, 0], index, axis=3)
            read = read + lm.reshape(found, (n, g, c // g, places, rows, columns)) * lm.expand_dims(share, axis=2)
    if mask is not None:
        read = read * lm.reshape(mask, (n, g, 1, places, rows, columns))
    groups = c // per_group
    read = lm.reshape(read, (n, groups, per_group * places, rows * columns))
    made = lm.matmul(lm.reshape(weight, (1, groups, out // groups, per_group * places)), read)
    made = lm.reshape(made, (n, out, rows, columns))
    return made if bias is None else made + lm.reshape(bias, (1, out, 1, 1))
