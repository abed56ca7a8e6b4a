"""Functions of images of Pillow, which are Pillow's own: its numbers are those that Paddle gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from . import functional

_FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "box": Image.Resampling.BOX,
    "lanczos": Image.Resampling.LANCZOS,
    "hamming": Image.Resampling.HAMMING,
}


def _filter(function: str, name: str) -> Any:
    if name not in _FILTERS:
        raise ValueError(f"[{function}] interpolation is one of {', '.join(_FILTERS)}, not {name!r}")
    return _FILTERS[name]


def _color(img: Image.Image, fill: Any) -> Any:
    """Returns the color that fills: one number stands for each band."""
    bands = len(img.getbands())
    return (fill,) * bands if isinstance(fill, int) and bands > 1 else fill


def resize(img: Image.Image, size: Any, interpolation: str = "bilinear") -> Image.Image:
    """Resamples to (height, width), or to a shorter side."""
    found = _filter("resize", interpolation)
    if isinstance(size, int):
        width, height = img.size
        shorter = min(width, height)
        if shorter == size:
            return img
        size = int(height * size / shorter), int(width * size / shorter)
    return img.resize((size[1], size[0]), found)


def pad(img: Image.Image, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Image.Image:
    """Puts a frame around: a color, in which one number is that of the first band, or what the image has there."""
    if padding_mode == "constant":
        return ImageOps.expand(img, padding if isinstance(padding, int) else tuple(padding), fill)
    return Image.fromarray(functional.pad(np.asarray(img), padding, padding_mode=padding_mode))


def to_grayscale(img: Image.Image, num_output_channels: int = 1) -> Image.Image:
    """Converts to brightness, in one band or in three alike."""
    if num_output_channels not in (1, 3):
        raise ValueError(f"[to_grayscale] num_output_channels is 1 or 3, not {num_output_channels}")
    gray = img.convert("L")
    return gray if num_output_channels == 1 else Image.merge("RGB", [gray] * 3)


def adjust_brightness(img: Image.Image, brightness_factor: float) -> Image.Image:
    """Blends with black."""
    return ImageEnhance.Brightness(img).enhance(brightness_factor)


def adjust_contrast(img: Image.Image, contrast_factor: float) -> Image.Image:
    """Blends with the mean brightness."""
    return ImageEnhance.Contrast(img).enhance(contrast_factor)


def adjust_saturation(img: Image.Image, saturation_factor: float) -> Image.Image:
    """Blends with the gray image."""
    return ImageEnhance.Color(img).enhance(saturation_factor)


def adjust_hue(img: Image.Image, hue_factor: float) -> Image.Image:
    """Turns the hues, which have 8 bits, by a share of their circle; an image without colors stays as it is."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"[adjust_hue] hue_factor is between -0.5 and 0.5, not {hue_factor}")
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    turned = np.asarray(hue) + np.uint8(int(hue_factor * 255) & 255)
    return Image.merge("HSV", (Image.fromarray(turned), saturation, value)).convert(img.mode)


def rotate(
    img: Image.Image,
    angle: float,
    interpolation: str = "nearest",
    expand: bool = False,
    center: Any = None,
    fill: Any = 0,
) -> Image.Image:
    """Turns against the clock, in the image's own size or in one that holds all of it."""
    return img.rotate(angle, _filter("rotate", interpolation), expand, center, fillcolor=_color(img, fill))


def warped(img: Image.Image, matrix: np.ndarray, interpolation: str, fill: Any) -> Image.Image:
    """Shows at each place (x, y, 1) what is where the matrix maps it to."""
    numbers = (matrix / matrix[2, 2]).ravel()
    plain = bool(np.all(matrix[2, :2] == 0))
    kind, count = (Image.Transform.AFFINE, 6) if plain else (Image.Transform.PERSPECTIVE, 8)
    return img.transform(
        img.size, kind, tuple(numbers[:count]), _filter("warp", interpolation), fillcolor=_color(img, fill)
    )
