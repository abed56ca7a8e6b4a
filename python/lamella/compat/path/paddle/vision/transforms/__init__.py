"""Transforms of images. Random ones draw from ``random`` and from numpy, each number from where Paddle takes it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import lamella as lm
from lamella.compat.front import close_module

from . import functional as F  # noqa: N812
from ._base import BaseTransform
from ._geometry import affine, perspective  # noqa: F401
from ._warps import RandomAffine, RandomPerspective  # noqa: F401
from .functional import (  # noqa: F401
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    center_crop,
    crop,
    erase,
    hflip,
    normalize,
    pad,
    resize,
    rotate,
    to_grayscale,
    to_tensor,
    vflip,
)


class Compose:
    """Transforms one after the other."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = list(transforms)

    def __call__(self, data: Any) -> Any:
        """Returns the data transformed."""
        for transform in self.transforms:
            data = transform(data)
        return data


def _transform(name: str, doc: str, function: Callable[..., Any], parameters: str, **defaults: Any) -> Any:
    """Returns the class of a transform that calls a function with what it was made with."""
    names = parameters.split()

    def __init__(self: Any, *args: Any, keys: Any = None, **named: Any) -> None:  # noqa: N807
        BaseTransform.__init__(self, keys)
        given = {**defaults, **dict(zip(names, args, strict=False)), **named}
        if set(given) != set(names) or len(args) > len(names):
            raise TypeError(f"[{name}] takes {', '.join(names)}; got {', '.join(given)}")
        vars(self).update(given)

    def _apply_image(self: Any, image: Any) -> Any:
        return function(image, *(getattr(self, each) for each in names))

    members = {"__init__": __init__, "_apply_image": _apply_image, "__doc__": doc, "__module__": __name__}
    return type(name, (BaseTransform,), members)


ToTensor = _transform("ToTensor", "See :func:`to_tensor`.", F.to_tensor, "data_format", data_format="CHW")
Resize = _transform("Resize", "See :func:`resize`.", F.resize, "size interpolation", interpolation="bilinear")
CenterCrop = _transform("CenterCrop", "See :func:`center_crop`.", F.center_crop, "size")
Pad = _transform("Pad", "See :func:`pad`.", F.pad, "padding fill padding_mode", fill=0, padding_mode="constant")
Grayscale = _transform(
    "Grayscale", "See :func:`to_grayscale`.", F.to_grayscale, "num_output_channels", num_output_channels=1
)


def _order(image: Any, order: Sequence[int]) -> Any:
    if isinstance(image, lm.Tensor):
        return lm.permute_dims(image, tuple(order))
    array = np.asarray(image)
    return (array[..., None] if array.ndim == 2 else array).transpose(*order)


Transpose = _transform("Transpose", "An array with its axes in another order.", _order, "order", order=(2, 0, 1))


class Normalize(BaseTransform):
    """``(image - mean) / std`` of each channel, see :func:`normalize`."""

    def __init__(
        self, mean: Any = 0.0, std: Any = 1.0, data_format: str = "CHW", to_rgb: bool = False, keys: Any = None
    ) -> None:
        super().__init__(keys)
        self.mean, self.std = ([each] * 3 if isinstance(each, (int, float)) else each for each in (mean, std))
        self.data_format, self.to_rgb = data_format, to_rgb

    def _apply_image(self, image: Any) -> Any:
        if not isinstance(image, lm.Tensor):
            image = np.asarray(image, np.float32)
        channels = 3 if image.ndim < 3 else image.shape[-3 if self.data_format == "CHW" else -1]
        mean, std = (list(each)[:channels] for each in (self.mean, self.std))
        return F.normalize(image, mean, std, self.data_format, self.to_rgb)


class _Flip(BaseTransform):
    _flip: Callable[[Any], Any]

    def __init__(self, prob: float = 0.5, keys: Any = None) -> None:
        super().__init__(keys)
        self.prob = prob

    def _apply_image(self, image: Any) -> Any:
        return type(self)._flip(image) if random.random() < self.prob else image


class RandomHorizontalFlip(_Flip):
    """Turns left to right, with a probability."""

    _flip = staticmethod(F.hflip)


class RandomVerticalFlip(_Flip):
    """Turns upside down, with a probability."""

    _flip = staticmethod(F.vflip)


class RandomCrop(BaseTransform):
    """A part of a size, anywhere in the image, which may get a frame before."""

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
        keys: Any = None,
    ) -> None:
        super().__init__(keys)
        self.size, self.padding, self.pad_if_needed = F._pair(size), padding, pad_if_needed
        self.frame = fill, padding_mode

    def _apply_image(self, image: Any) -> Any:
        if self.padding is not None:
            image = F.pad(image, self.padding, *self.frame)
        rows, columns = self.size
        if self.pad_if_needed:
            lacking = [max(0, want - have) for want, have in zip(self.size, F.size_of(image), strict=True)]
            if any(lacking):
                image = F.pad(image, (lacking[1], lacking[0]), *self.frame)
        height, width = F.size_of(image)
        if rows > height or columns > width:
            raise ValueError(f"[RandomCrop] size {self.size} is more than that of the image, {(height, width)}")
        return F.crop(image, random.randint(0, height - rows), random.randint(0, width - columns), rows, columns)


class RandomResizedCrop(BaseTransform):
    """A part of random size and proportions, resized."""

    def __init__(
        self,
        size: Any,
        scale: Any = (0.08, 1.0),
        ratio: Any = (3.0 / 4, 4.0 / 3),
        interpolation: str = "bilinear",
        keys: Any = None,
    ) -> None:
        super().__init__(keys)
        self.size, self.scale, self.ratio, self.interpolation = F._pair(size), scale, ratio, interpolation

    def _apply_image(self, image: Any) -> Any:
        height, width = F.size_of(image)
        for _ in range(10):
            area = height * width * np.random.uniform(*self.scale)
            proportion = math.exp(np.random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            rows, columns = round(math.sqrt(area / proportion)), round(math.sqrt(area * proportion))
            if 0 < rows <= height and 0 < columns <= width:
                place = random.randint(0, height - rows), random.randint(0, width - columns)
                break
        else:  # the middle, in the nearest of the proportions
            rows = min(height, round(width / min(self.ratio)))
            columns = min(width, round(height * max(self.ratio)))
            place = (height - rows) // 2, (width - columns) // 2
        return F.resize(F.crop(image, *place, rows, columns), self.size, self.interpolation)


class _Adjust(BaseTransform):
    _function: Callable[[Any, float], Any]

    def __init__(self, value: float, keys: Any = None) -> None:
        super().__init__(keys)
        if value < 0:
            raise ValueError(f"[{type(self).__name__}] value is at least 0, not {value}")
        self.value = value

    def _factor(self) -> float:
        return random.uniform(max(0.0, 1 - self.value), 1 + self.value)

    def _apply_image(self, image: Any) -> Any:
        return type(self)._function(image, self._factor()) if self.value else image


class BrightnessTransform(_Adjust):
    """Brightness times a factor within ``value`` of 1."""

    _function = staticmethod(F.adjust_brightness)


class ContrastTransform(_Adjust):
    """Contrast times a factor within ``value`` of 1."""

    _function = staticmethod(F.adjust_contrast)


class SaturationTransform(_Adjust):
    """Saturation times a factor within ``value`` of 1."""

    _function = staticmethod(F.adjust_saturation)


class HueTransform(_Adjust):
    """Colors turned by a share of their circle within ``value`` of 0."""

    _function = staticmethod(F.adjust_hue)

    def _factor(self) -> float:
        return random.uniform(-self.value, self.value)


class ColorJitter(BaseTransform):
    """Brightness, contrast, saturation and hue changed at random, in random order."""

    def __init__(
        self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0, keys: Any = None
    ) -> None:
        super().__init__(keys)
        self.parts = [
            BrightnessTransform(brightness),
            ContrastTransform(contrast),
            SaturationTransform(saturation),
            HueTransform(hue),
        ]

    def _apply_image(self, image: Any) -> Any:
        parts = list(self.parts)
        random.shuffle(parts)
        return Compose(parts)(image)


class RandomRotation(BaseTransform):
    """Turns by random degrees, see :func:`rotate`."""

    def __init__(
        self,
        degrees: Any,
        interpolation: str = "nearest",
        expand: bool = False,
        center: Any = None,
        fill: Any = 0,
        keys: Any = None,
    ) -> None:
        super().__init__(keys)
        self.degrees = (-degrees, degrees) if isinstance(degrees, (int, float)) else tuple(degrees)
        self.options = interpolation, expand, center, fill

    def _apply_image(self, image: Any) -> Any:
        return F.rotate(image, random.uniform(*self.degrees), *self.options)


class RandomErasing(BaseTransform):
    """Fills a random rectangle, with a probability (Zhong et al. 2017, "Random erasing data augmentation")."""

    def __init__(
        self,
        prob: float = 0.5,
        scale: Any = (0.02, 0.33),
        ratio: Any = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
        keys: Any = None,
    ) -> None:
        super().__init__(keys)
        self.prob, self.scale, self.ratio, self.value, self.inplace = prob, scale, ratio, value, inplace

    def _apply_image(self, image: Any) -> Any:
        if random.random() >= self.prob:
            return image
        height, width = F.size_of(image)
        for _ in range(10):
            area = height * width * np.random.uniform(*self.scale)
            proportion = math.exp(np.random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            rows, columns = round(math.sqrt(area * proportion)), round(math.sqrt(area / proportion))
            if 0 < rows < height and 0 < columns < width:
                value = self._values(image, rows, columns)
                top = np.random.randint(0, height - rows + 1)
                return F.erase(
                    image, top, np.random.randint(0, width - columns + 1), rows, columns, value, self.inplace
                )
        return image

    def _values(self, image: Any, rows: int, columns: int) -> Any:
        """Returns what fills the rectangle: a number, one for each channel, or random ones for None."""
        if isinstance(image, lm.Tensor):
            if self.value is None:
                return lm.randn((image.shape[-3], rows, columns)).astype(image.dtype)
            value = lm.tensor(self.value, dtype=image.dtype)
            return value if value.ndim == 0 else value.reshape((-1, 1, 1))
        if self.value is None:
            return np.random.normal(size=(rows, columns, *np.asarray(image).shape[2:])) * 255
        return self.value


__getattr__ = close_module(__name__)
