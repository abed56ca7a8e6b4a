"""Operators over boxes, against loops over their definitions."""

import math

import numpy as np
import pytest

import lamella as lm
from lamella.compat import regions

RNG = np.random.default_rng(7)
IMAGES = RNG.normal(size=(2, 4, 9, 11))
ROIS = np.array([[0, 1, 2, 9, 8], [1, -3, 0.5, 4.2, 30], [0, 5, 5, 5.1, 5.2], [1, 2.5, 1.5, 7, 6]])


def interpolated(image, y, x):
    """The value of an image (h, w) between pixels; 0 beyond a pixel outside."""
    h, w = image.shape
    if y < -1 or y > h or x < -1 or x > w:
        return 0.0
    y, x = min(max(y, 0.0), h - 1), min(max(x, 0.0), w - 1)
    top, left = math.floor(y), math.floor(x)
    down, right = min(top + 1, h - 1), min(left + 1, w - 1)
    a, b = y - top, x - left
    upper = image[top, left] * (1 - b) + image[top, right] * b
    return upper * (1 - a) + (image[down, left] * (1 - b) + image[down, right] * b) * a


def test_nms():
    corners = RNG.random((30, 2)) * 5
    boxes = np.concatenate([corners, corners + 1 + RNG.random((30, 2)) * 3], axis=1)
    scores = RNG.random(30)

    def overlap(a, b):
        low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
        shared = np.prod(np.maximum(high - low, 0))
        return shared / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared)

    kept = []
    for k in np.argsort(-scores):
        if all(overlap(boxes[k], boxes[j]) <= 0.4 for j in kept):
            kept.append(k)
    assert regions.nms(lm.asarray(boxes), lm.asarray(scores), 0.4).tolist() == kept
    assert regions.nms(lm.zeros((0, 4)), lm.zeros((0,)), 0.5).shape == (0,)
    with pytest.raises(ValueError, match="nms"):
        regions.nms(lm.zeros((3, 4)), lm.zeros((2,)), 0.5)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [0, 2])
@pytest.mark.parametrize("by_cell", [False, True])
def test_roi_align(aligned, ratio, by_cell):
    if by_cell and not aligned:
        return  # is always aligned
    x = lm.tensor(IMAGES, stop_gradient=False)
    options = () if by_cell else (aligned,)
    pool = regions.ps_roi_align if by_cell else regions.roi_align
    found = pool(x, lm.asarray(ROIS), 0.7, 2, 2, ratio, *options)
    wanted = np.zeros(found.shape)
    for k, (image, *box) in enumerate(ROIS):
        left, top, right, bottom = np.array(box) * 0.7 - 0.5 * aligned
        high, wide = bottom - top, right - left
        if not aligned:
            high, wide = max(high, 1.0), max(wide, 1.0)
        rows, columns = ratio or math.ceil(high / 2), ratio or math.ceil(wide / 2)
        for c, i, j in np.ndindex(wanted.shape[1:]):
            source = IMAGES[int(image), (c * 2 + i) * 2 + j if by_cell else c]
            down = [top + high / 2 * (i + (a + 0.5) / rows) for a in range(rows)]
            right = [left + wide / 2 * (j + (b + 0.5) / columns) for b in range(columns)]
            points = [interpolated(source, y, z) for y in down for z in right]
            wanted[k, c, i, j] = np.mean(points)
    np.testing.assert_allclose(found.detach().numpy(), wanted, atol=1e-9)
    small = lm.tensor(IMAGES[:, :4, :3, :3], stop_gradient=False)
    lm.autograd.gradcheck(lambda x: pool(x, lm.asarray(ROIS[:2]), 0.7, 2, 2, ratio, *options), (small,))


def test_pools_of_whole_pixels():
    x, rois = lm.asarray(IMAGES), lm.asarray(ROIS)
    largest, means = regions.roi_pool(x, rois, 1.0, 2, 2).numpy(), regions.ps_roi_pool(x, rois, 1.0, 2, 2).numpy()
    for k, (image, *box) in enumerate(ROIS):
        left, top, right, bottom = (math.floor(v + 0.5) for v in box)
        for i, j in np.ndindex(2, 2):
            for found, more in ((largest, 1), (means, 0)):
                high, wide = max(bottom - top + more, 1), max(right - left + more, 1)
                rows = slice(*np.clip([math.floor(i * high / 2) + top, math.ceil((i + 1) * high / 2) + top], 0, 9))
                columns = slice(
                    *np.clip([math.floor(j * wide / 2) + left, math.ceil((j + 1) * wide / 2) + left], 0, 11)
                )
                part = IMAGES[int(image)][:, rows, columns]
                if not part.size:
                    assert not found[k, :, i, j].any()
                elif more:
                    np.testing.assert_array_equal(found[k, :, i, j], part.max((1, 2)))
                else:
                    own = part[i * 2 + j :: 4]
                    np.testing.assert_allclose(found[k, :, i, j], own.mean((1, 2)))
    with pytest.raises(IndexError, match="images"):
        regions.roi_align(x, lm.asarray([[2.0, 0, 0, 1, 1]]), 1.0, 2, 2, 2, False)


def test_deform_conv2d():
    x, weight = RNG.normal(size=(2, 4, 5, 6)), RNG.normal(size=(6, 2, 3, 3))
    none = np.zeros((2, 2 * 9, 5, 6))
    plain = lm.nn.functional.conv2d(lm.asarray(x), lm.asarray(weight), stride=1, padding=1, groups=2)
    given = [lm.asarray(v) for v in (x, weight, none)]
    still = regions.deform_conv2d(*given, None, None, (1, 1), (1, 1), (1, 1))
    np.testing.assert_allclose(still.numpy(), plain.numpy(), atol=1e-12)
    offset, mask = RNG.normal(size=(2, 2 * 2 * 4, 2, 3)), RNG.random((2, 2 * 4, 2, 3))
    weight, bias = RNG.normal(size=(3, 4, 2, 2)), RNG.normal(size=3)
    given = [lm.tensor(v, stop_gradient=False) for v in (x, weight, offset, mask, bias)]

    def call(*given):
        return regions.deform_conv2d(*given, (2, 2), (0, 1), (1, 2))

    found = call(*given).detach().numpy()
    wanted = np.zeros(found.shape) + bias[:, None, None]
    padded = np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)))  # zeros all around, between which is interpolated, too
    for n, c, i, j, r, s in np.ndindex(2, 4, 2, 2, 2, 3):
        group, place = c // 2, i * 2 + j
        down, right = offset[n].reshape(2, 4, 2, 2, 3)[group, place, :, r, s]
        y, z = r * 2 + i + down, s * 2 - 1 + j * 2 + right
        value = interpolated(padded[n, c], y + 2, z + 2) if -1 < y < 5 and -1 < z < 6 else 0.0
        wanted[n, :, r, s] += weight[:, c, i, j] * value * mask[n].reshape(2, 4, 2, 3)[group, place, r, s]
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    lm.autograd.gradcheck(call, given)
