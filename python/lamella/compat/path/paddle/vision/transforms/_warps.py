"""Random turns, moves, slants and views."""

from __future__ import annotations

import random
from typing import Any

from ._base import BaseTransform
from ._geometry import affine, perspective, size_of


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
        height, width = size_of(image)
        angle = random.uniform(*self.degrees)
        way: tuple[int, ...] = (0, 0)
        if self.translate is not None:
            limits = self.translate[0] * width, self.translate[1] * height
            way = tuple(int(random.uniform(-limit, limit)) for limit in limits)
        scale = 1.0 if self.scale is None else random.uniform(*self.scale)
        slant = (0.0, 0.0)
        if self.shear is not None:
            first = random.uniform(*self.shear[:2])
            slant = (first, random.uniform(*self.shear[2:]) if len(self.shear) == 4 else 0.0)
        return affine(image, angle, way, scale, slant, *self.options)


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
        height, width = size_of(image)
        most = int(self.distortion_scale * (width // 2)) + 1, int(self.distortion_scale * (height // 2)) + 1
        corners = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
        moved = []
        for corner in corners:
            ends = zip(corner, (width, height), most, strict=True)
            moved.append([int(random.uniform(*((0, far) if at == 0 else (end - far, end)))) for at, end, far in ends])
        return perspective(image, corners, moved, *self.options)
