"""Functions of images: arrays ``(height, width, channels)`` or images of Pillow, which stay what they are."""

from __future__ import annotations

from typing import Any

import numpy as np

import lamella as lm
from lamella.compat.front import close_module

from ._arrays import like, of_array
from ._geometry import affine, perspective, rotate, size_of  # noqa: F401

_MODES = {"nearest": "nearest", "bilinear": "bilinear", "bicubic": "bicubic", "area": "area"}
#: Shares of red, green and blue in brightness (ITU-R BT.601).
_GRAY = np.array([0.299, 0.587, 0.114], np.float32)


def to_tensor(pic: Any, data_format: str = "CHW") -> lm.Tensor:
    """Returns an image as a tensor of float32, ``(channels, height, width)``; 8 bits become numbers up to 1.

    A tensor is returned as it is.
    """
    if data_format not in ("CHW", "HWC"):
        raise ValueError(f"[to_tensor] data_format is 'CHW' or 'HWC', not {data_format!r}")
    if isinstance(pic, lm.Tensor):
        return pic
    array = np.asarray(pic)
    array = array[..., None] if array.ndim == 2 else array
    array = array.transpose(2, 0, 1) if data_format == "CHW" else array
    values = array.astype(np.float32) / 255 if array.dtype == np.uint8 else array.astype(np.float32)
    return lm.tensor(np.ascontiguousarray(values))


def normalize(img: Any, mean: Any, std: Any, data_format: str = "CHW", to_rgb: bool = False) -> Any:
    """Returns ``(img - mean) / std`` of each channel, of a tensor, an array, or an image of Pillow."""
    values = img if isinstance(img, lm.Tensor) else np.asarray(img, np.float32)
    if to_rgb and not isinstance(values, lm.Tensor):
        values = values[::-1] if data_format == "CHW" else values[..., ::-1]
    sides = (-1, 1, 1) if data_format == "CHW" else (-1,)
    shift, scale = (np.asarray(each, np.float32).reshape(sides) for each in (mean, std))
    if isinstance(values, lm.Tensor):
        return (values - lm.tensor(shift)) / lm.tensor(scale)
    return (values - shift) / scale


@of_array
def resize(img: Any, size: Any, interpolation: str = "bilinear") -> Any:
    """Returns an image of another size: (height, width), or that of the shorter side.

    Raises:
        ValueError: the interpolation is none of nearest, bilinear, bicubic and area.
    """
    if interpolation not in _MODES:
        raise ValueError(f"[resize] interpolation is one of {', '.join(_MODES)}, not {interpolation!r}")
    height, width = img.shape[:2]
    if isinstance(size, int):
        shorter = min(height, width)
        size = int(height * size / shorter), int(width * size / shorter)
    flat = img[..., None] if img.ndim == 2 else img
    batch = lm.tensor(np.ascontiguousarray(flat.transpose(2, 0, 1), np.float32)[None])
    made = lm.nn.functional.interpolate(batch, tuple(size), mode=_MODES[interpolation])
    values = np.asarray(made.numpy())[0].transpose(1, 2, 0)
    return like(values[..., 0] if img.ndim == 2 else values, img)


@of_array
def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Returns a part of an image."""
    return img[top : top + height, left : left + width]


def _pair(size: Any) -> tuple[int, int]:
    return (int(size), int(size)) if isinstance(size, (int, float)) else (int(size[0]), int(size[1]))


def center_crop(img: Any, output_size: Any) -> Any:
    """Returns the part in the middle of an image."""
    (height, width), (rows, columns) = size_of(img), _pair(output_size)
    return crop(img, round((height - rows) / 2), round((width - columns) / 2), rows, columns)


@of_array
def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Returns an image with a frame: one width, (sides, top and bottom), or (left, top, right, bottom)."""
    widths = [padding] * 4 if isinstance(padding, int) else list(padding) * (2 if len(padding) == 2 else 1)
    left, top, right, bottom = widths
    sides = [(top, bottom), (left, right)] + [(0, 0)] * (img.ndim - 2)
    options = {"constant_values": fill} if padding_mode == "constant" and not isinstance(fill, (tuple, list)) else {}
    mode: Any = {"constant": "constant", "edge": "edge", "reflect": "reflect", "symmetric": "symmetric"}[padding_mode]
    made = np.pad(img, sides, mode, **options)
    if padding_mode == "constant" and isinstance(fill, (tuple, list)):
        inside = np.zeros(made.shape[:2], bool)
        inside[top : top + img.shape[0], left : left + img.shape[1]] = True
        made[~inside] = fill
    return made


@of_array
def hflip(img: Any) -> Any:
    """Returns an image with its left side on the right."""
    return np.ascontiguousarray(img[:, ::-1])


@of_array
def vflip(img: Any) -> Any:
    """Returns an image upside down."""
    return np.ascontiguousarray(img[::-1])


@of_array
def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Returns the brightness of an image, in one channel or in three alike."""
    gray = img[..., None].astype(np.float32) if img.ndim == 2 else (img[..., :3] @ _GRAY)[..., None]
    return np.repeat(like(gray, img), num_output_channels, axis=2)


@of_array
def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Returns an image with its numbers times a factor; those of 8 bits are cut, not rounded, as Pillow cuts them."""
    return _cut(img.astype(np.float32) * np.float32(brightness_factor), img)


@of_array
def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Returns an image with the distances from its mean brightness times a factor."""
    mean = np.float32(img.mean() if img.ndim == 2 else _gray_of(img).mean())
    mean = np.floor(mean + np.float32(0.5)) if img.dtype == np.uint8 else mean
    return _cut(mean + (img.astype(np.float32) - mean) * np.float32(contrast_factor), img)


@of_array
def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Returns an image with the distances from its gray times a factor."""
    gray = _gray_of(img)[..., None]
    return _cut(gray + (img.astype(np.float32) - gray) * np.float32(saturation_factor), img)


def _gray_of(img: np.ndarray) -> np.ndarray:
    """Returns the brightness of colors, in whole numbers where they are such."""
    gray = img[..., :3] @ _GRAY
    return np.rint(gray) if img.dtype == np.uint8 else gray


def _cut(values: np.ndarray, img: np.ndarray) -> np.ndarray:
    """Returns floats in the dtype of an image: 8 bits hold the whole part of what they can."""
    return np.clip(values, 0, 255).astype(np.uint8) if img.dtype == np.uint8 else values.astype(img.dtype)


@of_array
def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Returns an image whose hues are turned by a share of the circle of colors, between -0.5 and 0.5.

    Saturation and value stay, in the hexcone model (Smith 1978, "Color gamut transform pairs").

    Raises:
        ValueError: the factor is beyond a half.
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"[adjust_hue] hue_factor is between -0.5 and 0.5, not {hue_factor}")
    colors = img[..., :3].astype(np.float32)
    value = colors.max(axis=-1, keepdims=True)
    chroma = value - colors.min(axis=-1, keepdims=True)
    red, green, blue = np.split(colors, 3, axis=-1)
    over = np.where(chroma == 0, 1, chroma)
    hue = np.where(
        value == red, (green - blue) / over, np.where(value == green, (blue - red) / over + 2, (red - green) / over + 4)
    )
    place = (np.array([5, 3, 1], np.float32) + hue + 6 * np.float32(hue_factor)) % 6
    turned = value - chroma * np.clip(np.minimum(place, 4 - place), 0, 1)
    return like(np.concatenate([turned, img[..., 3:]], axis=-1), img)


def erase(img: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """Returns an image, ``(channels, height, width)`` if it is a tensor, with ``v`` in a rectangle."""
    if isinstance(img, lm.Tensor):
        made = img if inplace else img.clone()
        made[..., i : i + h, j : j + w] = v
        return made
    array = img if inplace and isinstance(img, np.ndarray) else np.array(img)
    array[i : i + h, j : j + w] = v
    if isinstance(img, np.ndarray):
        return array
    from PIL import Image

    return Image.fromarray(array)


__getattr__ = close_module(__name__)
