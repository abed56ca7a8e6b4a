"""Images seen from elsewhere: each place of the new image shows a place of the old one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import lamella as lm

from ._arrays import like, of_array


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


@of_array
def warped(
    img: Any,
    matrix: np.ndarray,
    interpolation: str,
    fill: Any,
    size: Any = None,
    start: float = 0.0,
    mixed: bool = True,
) -> Any:
    """Returns the image whose place (x, y) shows the place that the matrix maps it to.

    Args:
        img: the image.
        matrix: the map of (x, y, 1), up to a factor.
        interpolation: "nearest" or "bilinear"; of images of Pillow, "bicubic" as well.
        fill: numbers outside of the image.
        size: the new image's height and width; those of the old one by default.
        start: the place of the first element: 0 in arrays, and 0.5, its middle, in tensors.
        mixed: True if ``fill`` mixes with the elements at the border as they do with each other, as in arrays. In
            tensors, Paddle mixes these with zeros, and the result once more, by the same shares, with ``fill``.

    Raises:
        ValueError: the interpolation is neither "nearest" nor "bilinear".
    """
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError(f"[warp] interpolation is 'nearest' or 'bilinear', not {interpolation!r}")
    height, width = img.shape[:2]
    rows, columns = np.indices(size or (height, width)) + start
    x, y, w = np.einsum("ij,jhw->ihw", matrix, np.stack([columns, rows, np.ones_like(rows)]))
    # Rounding of the map's numbers must not decide between two elements that are equally near.
    x, y = np.round(x / w - start, 9), np.round(y / w - start, 9)
    values = img.astype(np.float64)
    outside = np.empty((*rows.shape, *values.shape[2:]))
    outside[...] = fill

    def at(row: np.ndarray, column: np.ndarray, of: np.ndarray, beyond: Any) -> np.ndarray:
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        found = of[row.clip(0, height - 1), column.clip(0, width - 1)]
        return np.where(inside if img.ndim == 2 else inside[..., None], found, beyond)

    if interpolation == "nearest":
        return like(at(np.rint(y).astype(int), np.rint(x).astype(int), values, outside), img)
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    down, right = y - top, x - left
    if img.ndim == 3:
        down, right = down[..., None], right[..., None]

    def between(of: np.ndarray, beyond: Any) -> np.ndarray:
        upper = at(top, left, of, beyond) * (1 - right) + at(top, left + 1, of, beyond) * right
        lower = at(top + 1, left, of, beyond) * (1 - right) + at(top + 1, left + 1, of, beyond) * right
        return upper * (1 - down) + lower * down

    if mixed:
        return like(between(values, outside), img)
    share = between(np.ones_like(values), 0.0)
    return like(between(values, 0.0) * share + outside * (1 - share), img)


def size_of(img: Any) -> tuple[int, int]:
    """Returns the height and width of an image."""
    if isinstance(img, lm.Tensor):
        return int(img.shape[-2]), int(img.shape[-1])
    return tuple(img.shape[:2]) if isinstance(img, np.ndarray) else tuple(img.size[::-1])


def _warp(img: Any, matrix: np.ndarray, interpolation: str, fill: Any) -> Any:
    named = {"start": 0.5, "mixed": False} if isinstance(img, lm.Tensor) else {}
    return warped(img, matrix, interpolation, 0 if fill is None else fill, **named)


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
    height, width = size_of(img)
    slant = (shear, 0.0) if isinstance(shear, (int, float)) else tuple(shear)
    middle = (width * 0.5, height * 0.5) if center is None else tuple(center)
    return _warp(img, _matrix(angle, translate, scale, slant, middle), interpolation, fill)


def perspective(img: Any, startpoints: Any, endpoints: Any, interpolation: str = "nearest", fill: Any = 0) -> Any:
    """Returns an image in which four points (x, y) of the old one lie at others."""
    rows, ends = [], []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        ends += [u, v]
    found = np.linalg.lstsq(np.array(rows, np.float64), np.array(ends, np.float64), rcond=None)[0]
    return _warp(img, np.append(found, 1.0).reshape(3, 3), interpolation, fill)


def rotate(
    img: Any,
    angle: float,
    interpolation: str = "nearest",
    expand: bool = False,
    center: Any = None,
    fill: Any = 0,
) -> Any:
    """Returns an image turned against the clock by degrees, about its middle or ``center`` (x, y).

    Args:
        img: the image.
        angle: the turn in degrees.
        interpolation: "nearest" or "bilinear"; of images of Pillow, "bicubic" as well.
        expand: True for an image with room for the turned corners.
        center: the point that stays, (x, y); the middle by default.
        fill: numbers outside of the image.
    """
    if not isinstance(img, (np.ndarray, lm.Tensor)):
        from . import _pillow

        return _pillow.rotate(img, angle, interpolation, expand, center, fill)
    height, width = size_of(img)
    middle = np.array([width / 2, height / 2])
    point = middle if center is None else np.array(center, np.float64)
    turn = math.radians(angle)
    back = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    new_middle, size = middle, (height, width)
    if expand:
        corners = np.array([[0, 0], [width, 0], [0, height], [width, height]]) - point
        moved = np.round(corners @ back + point - middle, 4)  # the transpose turns the other way
        columns, rows = np.ceil(moved.max(axis=0)) - np.floor(moved.min(axis=0))
        size = int(rows), int(columns)
        new_middle = np.array([columns / 2, rows / 2])
    matrix = np.eye(3)
    matrix[:2, :2] = back
    matrix[:2, 2] = point - back @ (point - middle + new_middle)
    return warped(img, matrix, interpolation, fill, size, start=0.5, mixed=not isinstance(img, lm.Tensor))
