"""Images seen from elsewhere: each place of the new image shows a place of the old one."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from . import functional as F  # noqa: N812
from ._base import BaseTransform


def _matrix(angle: float, translate: Any, scale: float, shear: Any, center: tuple[float, float]) -> np.ndarray:
    """Returns the map from places (x, y, 1) of the new image to those of the old one."""
    turn, (sx, sy) = math.radians(angle), (math.radians(each) for each in shear)
    a = math.cos(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    forward = np.array([[scale * a, scale * b, 0.0], [scale * c, scale * d, 0.0], [0.0, 0.0, 1.0]])
    x, y = center
    to_middle = np.array([[1.0, 0.0, -x], [0.0, 1.0, -y], [0.0, 0.0, 1.0]])
    back = np.array([[1.0, 0.0, x + translate[0]], [0.0, 1.0, y + translate[1]], [0.0, 0.0, 1.0]])
    return np.linalg.inv(back @ forward @ to_middle)


def _warped(img: np.ndarray, matrix: np.ndarray, interpolation: str, fill: Any) -> np.ndarray:
    """Returns the image whose place (x, y) shows the place that the matrix maps it to; ``fill`` outside.

    Raises:
        ValueError: the interpolation is neither "nearest" nor "bilinear".
    """
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError(f"[warp] interpolation is 'nearest' or 'bilinear', not {interpolation!r}")
    height, width = img.shape[:2]
    rows, columns = np.mgrid[:height, :width].astype(np.float64)
    x, y, w = np.einsum("ij,jhw->ihw", matrix, np.stack([columns, rows, np.ones_like(rows)]))
    x, y = x / w, y / w
    values = img.astype(np.float64)
    outside = np.empty_like(values)
    outside[...] = fill

    def at(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        found = values[row.clip(0, height - 1), column.clip(0, width - 1)]
        return np.where(inside if img.ndim == 2 else inside[..., None], found, outside)

    if interpolation == "nearest":
        made = at(np.floor(y + 0.5).astype(int), np.floor(x + 0.5).astype(int))
    else:
        top, left = np.floor(y).astype(int), np.floor(x).astype(int)
        down, right = y - top, x - left
        if img.ndim == 3:
            down, right = down[..., None], right[..., None]
        upper = at(top, left) * (1 - right) + at(top, left + 1) * right
        lower = at(top + 1, left) * (1 - right) + at(top + 1, left + 1) * right
        made = upper * (1 - down) + lower * down
    return F.like(made, img)


@F.of_array
def affine(
    img: Any,
    angle: float,
    translate: Any,
    scale: float,
    shear: Any,
    interpolation: str = "nearest",
    fill: Any = 0,
    center: Any = None,
) -> Any:
    """Returns an image that is turned by degrees with the clock, moved, enlarged and slanted about its middle.

    Args:
        img: the image.
        angle: the turn in degrees.
        translate: the way in x and in y.
        scale: the factor of its size.
        shear: the slant in degrees, along x or along both axes.
        interpolation: "nearest" or "bilinear".
        fill: numbers outside of the image.
        center: the point that stays, (x, y); the middle by default.
    """
    height, width = img.shape[:2]
    slant = (shear, 0.0) if isinstance(shear, (int, float)) else tuple(shear)
    middle = (width * 0.5, height * 0.5) if center is None else tuple(center)
    return _warped(img, _matrix(angle, translate, scale, slant, middle), interpolation, fill)


@F.of_array
def perspective(img: Any, startpoints: Any, endpoints: Any, interpolation: str = "nearest", fill: Any = 0) -> Any:
    """Returns an image in which four points (x, y) of the old one lie at others."""
    rows, ends = [], []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        ends += [u, v]
    found = np.linalg.lstsq(np.array(rows, np.float64), np.array(ends, np.float64), rcond=None)[0]
    return _warped(img, np.append(found, 1.0).reshape(3, 3), interpolation, fill)


class RandomAffine(BaseTransform):
    """Turns, moves, enlarges and slants at random, see :func:`affine`."""

    def __init__(
        self,
        degrees: Any,
        translate: Any = None,
        scale: Any = None,
        shear: Any = None,
        interpolation: str = "nearest",
        fill: Any = 0,
        center: Any = None,
        keys: Any = None,
    ) -> None:
        super().__init__(keys)
        self.degrees = (-degrees, degrees) if isinstance(degrees, (int, float)) else tuple(degrees)
        self.translate, self.scale = translate, scale
        self.shear = (-shear, shear) if isinstance(shear, (int, float)) else shear
        self.options = interpolation, fill, center

    def _apply_image(self, image: Any) -> Any:
        height, width = F.size_of(image)
        way: tuple[int, ...] = (0, 0)
        if self.translate is not None:
            limits = self.translate[0] * width, self.translate[1] * height
            way = tuple(round(random.uniform(-limit, limit)) for limit in limits)
        scale = 1.0 if self.scale is None else random.uniform(*self.scale)
        slant = (0.0, 0.0)
        if self.shear is not None:
            first = random.uniform(*self.shear[:2])
            slant = (first, random.uniform(*self.shear[2:]) if len(self.shear) == 4 else 0.0)
        return affine(image, random.uniform(*self.degrees), way, scale, slant, *self.options)


class RandomPerspective(BaseTransform):
    """Moves the corners by random parts of the image's sides, with a probability, see :func:`perspective`."""

    def __init__(
        self,
        prob: float = 0.5,
        distortion_scale: float = 0.5,
        interpolation: str = "nearest",
        fill: Any = 0,
        keys: Any = None,
    ) -> None:
        super().__init__(keys)
        self.prob, self.distortion_scale, self.options = prob, distortion_scale, (interpolation, fill)

    def _apply_image(self, image: Any) -> Any:
        if random.random() >= self.prob:
            return image
        height, width = F.size_of(image)
        most = int(self.distortion_scale * width / 2), int(self.distortion_scale * height / 2)
        corners = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
        moved = []
        for x, y in corners:
            dx, dy = (random.randint(0, each) for each in most)
            moved.append((x + dx if x == 0 else x - dx, y + dy if y == 0 else y - dy))
        return perspective(image, corners, moved, *self.options)
