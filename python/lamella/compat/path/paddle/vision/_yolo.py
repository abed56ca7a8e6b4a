"""Boxes and losses of detectors that predict a grid of boxes (Redmon and Farhadi 2018, "YOLOv3")."""

from __future__ import annotations

from collections.abc import Sequence

import lamella as lm


def _grid(x: lm.Tensor, anchors: int, classes: int, name: str) -> lm.Tensor:
    """Returns predictions as ``(n, anchors, 5 + classes, h, w)``.

    Raises:
        ValueError: there are more or fewer channels.
    """
    count, channels, height, width = tuple(x.shape)
    if channels != anchors * (5 + classes):
        raise ValueError(
            f"[{name}] x has {channels} channels, {anchors} anchors of 5 + {classes} need {anchors * (5 + classes)}"
        )
    return lm.reshape(x, (count, anchors, 5 + classes, height, width))


def _boxes(
    grid: lm.Tensor, sizes: Sequence[tuple[int, int]], ratio: int, scale: float, square: bool
) -> tuple[lm.Tensor, ...]:
    """Returns the centers and the sizes of the boxes of a grid, each ``(n, anchors, h, w)``, as parts of the image.

    ``square`` has rows and columns counted in rows, as the loss has them.
    """
    height, width = tuple(grid.shape)[-2:]
    dtype = grid.dtype
    columns = lm.arange(width, dtype=dtype)
    rows = lm.reshape(lm.arange(height, dtype=dtype), (height, 1))
    shift = 0.5 * (1.0 - scale)
    wide, high = (lm.reshape(lm.tensor([s[k] for s in sizes], dtype=dtype), (len(sizes), 1, 1)) for k in (0, 1))
    across = height if square else width
    return (
        (lm.sigmoid(grid[:, :, 0]) * scale + shift + columns) / across,
        (lm.sigmoid(grid[:, :, 1]) * scale + shift + rows) / height,
        lm.exp(grid[:, :, 2]) * wide / (ratio * across),
        lm.exp(grid[:, :, 3]) * high / (ratio * height),
    )


def _sizes(anchors: Sequence[int]) -> list[tuple[int, int]]:
    return [(int(wide), int(high)) for wide, high in zip(anchors[::2], anchors[1::2], strict=True)]


def yolo_box(
    x: lm.Tensor,
    img_size: lm.Tensor,
    anchors: Sequence[int],
    class_num: int,
    conf_thresh: float,
    downsample_ratio: int,
    clip_bbox: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
    iou_aware: bool = False,
    iou_aware_factor: float = 0.5,
) -> tuple[lm.Tensor, lm.Tensor]:
    """Returns the boxes of a grid of predictions, and their scores for each class.

    Args:
        x: predictions, ``(n, anchors * (5 + class_num), h, w)``, with ``anchors`` channels of overlaps in front of them
            where ``iou_aware``.
        img_size: heights and widths of the images, ``(n, 2)``.
        anchors: width and height of each anchor, in pixels.
        class_num: number of classes.
        conf_thresh: boxes that are less certain become 0.
        downsample_ratio: pixels of a step of the grid.
        clip_bbox: True cuts boxes at the edges of their images.
        name: not used.
        scale_x_y: how far centers may go beyond their cells.
        iou_aware: True weighs certainty by predicted overlaps.
        iou_aware_factor: the weight of these.

    Returns:
        Corners ``(n, anchors * h * w, 4)`` in pixels, and scores ``(n, anchors * h * w, class_num)``.
    """
    sizes = _sizes(anchors)
    overlaps = None
    if iou_aware:
        overlaps, x = lm.sigmoid(x[:, : len(sizes)]), x[:, len(sizes) :]
    grid = _grid(x, len(sizes), class_num, "yolo_box")
    count = grid.shape[0]
    across, down, wide, high = _boxes(grid, sizes, downsample_ratio, scale_x_y, square=False)
    certain = lm.sigmoid(grid[:, :, 4])
    if overlaps is not None:
        certain = certain ** (1.0 - iou_aware_factor) * overlaps**iou_aware_factor
    height, width = (lm.reshape(lm.cast(img_size[:, k], x.dtype), (count, 1, 1, 1)) for k in (0, 1))
    corners = [
        (across - wide / 2) * width,
        (down - high / 2) * height,
        (across + wide / 2) * width,
        (down + high / 2) * height,
    ]
    if clip_bbox:
        zero = lm.zeros_like(corners[0])
        corners[:2] = [lm.maximum(corner, zero) for corner in corners[:2]]
        corners[2:] = [
            lm.minimum(corner, zero + end - 1) for corner, end in zip(corners[2:], (width, height), strict=True)
        ]
    kept = lm.cast(certain >= conf_thresh, x.dtype)
    boxes = lm.stack(corners, axis=-1) * lm.expand_dims(kept, -1)
    scores = lm.sigmoid(grid[:, :, 5:]) * lm.expand_dims(certain * kept, 2)
    return (
        lm.reshape(boxes, (count, -1, 4)),
        lm.reshape(lm.moveaxis(scores, 2, -1), (count, -1, class_num)),
    )


def _crossed(x: lm.Tensor, target: lm.Tensor | float) -> lm.Tensor:
    """Returns the cross-entropy of the sigmoid of ``x``, element by element."""
    wanted = target if isinstance(target, lm.Tensor) else lm.full_like(x, target)
    return lm.binary_cross_entropy_with_logits(x, wanted, reduction="none")


def _overlap(first: Sequence[lm.Tensor], second: Sequence[lm.Tensor]) -> lm.Tensor:
    """The share of two boxes, given by centers and sizes, that both have."""
    sides = []
    for axis in (0, 1):
        low = lm.maximum(first[axis] - first[axis + 2] / 2, second[axis] - second[axis + 2] / 2)
        high = lm.minimum(first[axis] + first[axis + 2] / 2, second[axis] + second[axis + 2] / 2)
        sides.append(lm.maximum(high - low, lm.zeros_like(low)))
    both = sides[0] * sides[1]
    return both / (first[2] * first[3] + second[2] * second[3] - both)


def yolo_loss(
    x: lm.Tensor,
    gt_box: lm.Tensor,
    gt_label: lm.Tensor,
    anchors: Sequence[int],
    anchor_mask: Sequence[int],
    class_num: int,
    ignore_thresh: float,
    downsample_ratio: int,
    gt_score: lm.Tensor | None = None,
    use_label_smooth: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
) -> lm.Tensor:
    """Returns the loss of a grid of predictions for each image: of places, of certainty and of classes.

    Args:
        x: predictions, ``(n, len(anchor_mask) * (5 + class_num), h, w)``.
        gt_box: the true boxes, ``(n, b, 4)``: centers and sizes, as parts of the image; those without a size are none.
        gt_label: their classes, ``(n, b)``.
        anchors: width and height of each anchor of the detector, in pixels.
        anchor_mask: the anchors of this grid.
        class_num: number of classes.
        ignore_thresh: a box without an object that overlaps a true one more than this costs nothing.
        downsample_ratio: pixels of a step of the grid.
        gt_score: weights of the true boxes, ``(n, b)``; 1 by default.
        use_label_smooth: True moves the classes' targets away from 0 and 1.
        name: not used.
        scale_x_y: how far centers may go beyond their cells.
    """
    sizes, mask = _sizes(anchors), [int(each) for each in anchor_mask]
    grid = _grid(x, len(mask), class_num, "yolo_loss")
    height = grid.shape[3]
    whole = downsample_ratio * height
    smooth = min(1.0 / class_num, 1.0 / 40.0) if use_label_smooth else 0.0
    weights = lm.ones(tuple(gt_box.shape)[:2], dtype=x.dtype) if gt_score is None else gt_score
    with lm.no_grad():
        places, state = _matched(grid, gt_box, weights, sizes, mask, ignore_thresh, downsample_ratio, scale_x_y)
    positive = lm.cast(state > 1e-5, x.dtype) * state
    negative = lm.cast(lm.logical_and(state <= 1e-5, state > -0.5), x.dtype)
    certain = grid[:, :, 4]
    loss = lm.sum(_crossed(certain, 1.0) * positive + _crossed(certain, 0.0) * negative, axis=(1, 2, 3))
    if not places:
        return loss
    image, box, anchor, row, column = (lm.tensor(list(each), dtype="int64") for each in zip(*places, strict=True))
    cells = lm.moveaxis(grid, 2, -1)[image, anchor, row, column]
    true, weight = gt_box[image, box], weights[image, box]
    chosen = lm.tensor([sizes[mask[place[2]]] for place in places], dtype=x.dtype)
    at = (true[:, 0] * height - lm.cast(column, x.dtype), true[:, 1] * height - lm.cast(row, x.dtype))
    extent = lm.log(true[:, 2:] * whole / chosen)
    places_loss = _crossed(cells[:, 0], at[0]) + _crossed(cells[:, 1], at[1])
    places_loss = places_loss + lm.sum(lm.abs(cells[:, 2:4] - extent), axis=1)
    places_loss = places_loss * (2.0 - true[:, 2] * true[:, 3]) * weight
    hot = lm.cast(lm.one_hot(lm.cast(gt_label[image, box], "int64"), class_num), x.dtype)
    targets = hot * (1.0 - smooth) + (1.0 - hot) * smooth
    classes_loss = lm.sum(_crossed(cells[:, 5:], targets), axis=1) * weight
    return lm.index_add(loss, 0, image, places_loss + classes_loss)


def _matched(
    grid: lm.Tensor,
    gt_box: lm.Tensor,
    weights: lm.Tensor,
    sizes: Sequence[tuple[int, int]],
    mask: Sequence[int],
    threshold: float,
    ratio: int,
    scale: float,
) -> tuple[list[tuple[int, int, int, int, int]], lm.Tensor]:
    """Returns where true boxes belong, and what the certainty of each cell costs.

    The first are an image, a box, an anchor of the mask, a row and a column each; the second is a weight for cells with
    an object, 0 for those without, and -1 for those that cost nothing.
    """
    count, _, _, height, width = tuple(grid.shape)
    predicted = [lm.expand_dims(each, -1) for each in _boxes(grid, [sizes[k] for k in mask], ratio, scale, square=True)]
    number = gt_box.shape[1]
    true = [lm.reshape(gt_box[:, :, k], (count, 1, 1, 1, number)) for k in range(4)]
    valid = lm.logical_and(gt_box[:, :, 2] > 1e-6, gt_box[:, :, 3] > 1e-6)
    overlaps = lm.where(lm.reshape(valid, (count, 1, 1, 1, number)), _overlap(predicted, true), lm.zeros_like(true[0]))
    state = lm.cast(lm.max(overlaps, axis=-1) > threshold, grid.dtype) * -1.0
    whole = ratio * height
    own = [lm.tensor([size[k] / whole for size in sizes], dtype=grid.dtype) for k in (0, 1)]
    zero = lm.zeros_like(own[0])
    centered = [lm.expand_dims(gt_box[:, :, k], -1) for k in (2, 3)]
    nothing = lm.zeros_like(centered[0])
    best = lm.argmax(_overlap([nothing, nothing, *centered], [zero, zero, *own]), axis=-1).tolist()
    columns, rows = (lm.cast(gt_box[:, :, k] * n, "int64").tolist() for k, n in ((0, width), (1, height)))
    values, kept = weights.tolist(), valid.tolist()
    places, costs = [], {}
    for image in range(count):
        for box in range(number):
            if kept[image][box] and best[image][box] in mask:
                place = (image, mask.index(best[image][box]), rows[image][box], columns[image][box])
                places.append((image, box, *place[1:]))
                costs[place] = values[image][box]
    for place, cost in costs.items():
        state[place] = cost
    return places, state


__all__ = ["yolo_box", "yolo_loss"]
