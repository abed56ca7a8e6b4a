"""Boxes and losses of grids of predictions in the paddle front, beside loops over cells and boxes in numpy."""

import pytest

from .test_paddle import run

REFERENCE = """
import math

def sigmoid(t):
    return 1 / (1 + math.exp(-t))

def crossed(t, target):
    return max(t, 0) - t * target + math.log1p(math.exp(-abs(t)))

def overlap(a, b):
    high = [min(a[k] + a[k + 2] / 2, b[k] + b[k + 2] / 2) for k in (0, 1)]
    low = [max(a[k] - a[k + 2] / 2, b[k] - b[k + 2] / 2) for k in (0, 1)]
    sides = [max(0, end - start) for end, start in zip(high, low)]
    both = sides[0] * sides[1]
    return both / (a[2] * a[3] + b[2] * b[3] - both)

def cell(grid, place, size, ratio, scale, across):
    n, j, row, column = place
    t = grid[n, j, :, row, column]
    down = grid.shape[3]
    return [
        (column + sigmoid(t[0]) * scale - 0.5 * (scale - 1)) / across,
        (row + sigmoid(t[1]) * scale - 0.5 * (scale - 1)) / down,
        math.exp(t[2]) * size[0] / (ratio * across),
        math.exp(t[3]) * size[1] / (ratio * down),
    ]

def loss_of(x, boxes, labels, sizes, mask, classes, threshold, ratio, scores, smooth, scale):
    count, _, height, width = x.shape
    grid = x.reshape(count, len(mask), 5 + classes, height, width)
    low = min(1 / classes, 1 / 40) if smooth else 0.0
    total = np.zeros(count)
    for n in range(count):
        true = [b for b in boxes[n] if b[2] > 0 and b[3] > 0]
        state = np.zeros((len(mask), height, width))
        for place in np.ndindex(*state.shape):
            own = cell(grid, (n, *place), sizes[mask[place[0]]], ratio, scale, height)
            if max((overlap(own, b) for b in true), default=0) > threshold:
                state[place] = -1
        for b, label, score in zip(boxes[n], labels[n], scores[n]):
            if b[2] <= 0 or b[3] <= 0:
                continue
            fits = [overlap([0, 0, *b[2:]], [0, 0, w / (ratio * height), h / (ratio * height)]) for w, h in sizes]
            best = int(np.argmax(fits))
            if best not in mask:
                continue
            row, column = int(b[1] * height), int(b[0] * width)
            state[mask.index(best), row, column] = score
            t = grid[n, mask.index(best), :, row, column]
            part = crossed(t[0], b[0] * height - column) + crossed(t[1], b[1] * height - row)
            part += sum(abs(t[2 + k] - math.log(b[2 + k] * ratio * height / sizes[best][k])) for k in (0, 1))
            total[n] += part * (2 - b[2] * b[3]) * score
            total[n] += score * sum(crossed(t[5 + c], 1 - low if c == label else low) for c in range(classes))
        for place in np.ndindex(*state.shape):
            t = grid[n, place[0], 4, place[1], place[2]]
            if state[place] > -0.5:
                total[n] += crossed(t, 1) * state[place] if state[place] > 1e-5 else crossed(t, 0)
    return total

ANCHORS = [10, 13, 16, 30, 33, 23, 30, 61]
SIZES = list(zip(ANCHORS[::2], ANCHORS[1::2]))
ops, rng = paddle.vision.ops, np.random.default_rng(3)
"""

#: Settings of a loss: size of the grid, anchors, classes, smoothing, range of centers, and if boxes have weights.
LOSSES = [(4, [0, 1, 2], 2, True, 1.1, True), (3, [1, 3], 5, False, 1.0, False), (2, [0], 60, True, 1.0, True)]


@pytest.mark.parametrize("setting", LOSSES, ids=str)
def test_losses(setting):
    run(
        f"{REFERENCE}\nside, mask, classes, smooth, scale, weighted = {setting!r}\n"
        + """
x = rng.normal(size=(2, len(mask) * (5 + classes), side, side))
boxes = rng.uniform(0.1, 0.6, (2, 3, 4))
boxes[0, 1] = 0
labels = rng.integers(0, classes, (2, 3))
scores = rng.uniform(0.5, 1, (2, 3)) if weighted else np.ones((2, 3))
given = {"gt_score": paddle.to_tensor(scores)} if weighted else {}

def made(x):
    t = paddle.to_tensor(x, stop_gradient=False)
    b, l = paddle.to_tensor(boxes), paddle.to_tensor(labels.astype("int32"))
    return t, ops.yolo_loss(
        t, b, l, ANCHORS, mask, classes, 0.4, 16, use_label_smooth=smooth, scale_x_y=scale, **given
    )

def wanted(x):
    return loss_of(x, boxes, labels, SIZES, mask, classes, 0.4, 16, scores, smooth, scale)

t, loss = made(x)
np.testing.assert_allclose(loss.numpy(), wanted(x), 1e-9)
loss.sum().backward()
for place in zip(*(rng.integers(0, n, 12) for n in x.shape)):
    step = np.zeros_like(x)
    step[place] = 1e-6
    slope = (wanted(x + step).sum() - wanted(x - step).sum()) / 2e-6
    np.testing.assert_allclose(t.grad.numpy()[place], slope, 1e-4, 1e-6)
"""
    )


def test_boxes():
    run(
        REFERENCE
        + """
for classes, clip, scale, aware in [(2, True, 1.0, False), (3, False, 1.2, False), (1, True, 1.1, True)]:
    x = rng.normal(size=(2, 4 * (5 + classes + aware), 2, 3)) * 2
    images = np.array([[48, 64], [80, 96]])
    boxes, scores = ops.yolo_box(
        paddle.to_tensor(x), paddle.to_tensor(images.astype("int32")), ANCHORS, classes, 0.3, 16, clip,
        scale_x_y=scale, iou_aware=aware, iou_aware_factor=0.4,
    )
    assert boxes.shape == [2, 24, 4] and scores.shape == [2, 24, classes]
    grid = x[:, 4 * aware:].reshape(2, 4, 5 + classes, 2, 3)
    left = 0
    for n, j, row, column in np.ndindex(2, 4, 2, 3):
        height, width = images[n]
        a, b, w, h = cell(grid, (n, j, row, column), SIZES[j], 16, scale, 3)
        box = np.array([(a - w / 2) * width, (b - h / 2) * height, (a + w / 2) * width, (b + h / 2) * height])
        if clip:
            box = np.array([max(box[0], 0), max(box[1], 0), min(box[2], width - 1), min(box[3], height - 1)])
        certain = sigmoid(grid[n, j, 4, row, column])
        if aware:
            certain = certain**0.6 * sigmoid(x[n, j, row, column]) ** 0.4
        left += certain < 0.3
        kept = float(certain >= 0.3)
        at = (j * 2 + row) * 3 + column
        np.testing.assert_allclose(boxes.numpy()[n, at], kept * box, 1e-9)
        found = [kept * certain * sigmoid(each) for each in grid[n, j, 5:, row, column]]
        np.testing.assert_allclose(scores.numpy()[n, at], found, 1e-9)
    assert 0 < left < 48
one = paddle.ones([1, 12, 2, 2])
raises(ValueError, lambda: ops.yolo_box(one, paddle.ones([1, 2], "int32"), ANCHORS, 2, 0.1, 16), "yolo_box", "28")
"""
    )
