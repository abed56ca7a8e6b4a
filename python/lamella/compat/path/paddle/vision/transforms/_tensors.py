"""Functions of images that are tensors ``(..., channels, height, width)``, of floats up to 1 or of 8 bits."""

from __future__ import annotations

import lamella as lm

#: Shares of red, green and blue in brightness, with the digits that Paddle has for tensors.
_GRAY = (0.2989, 0.5870, 0.1140)


def _blend(img: lm.Tensor, other: lm.Tensor | float, ratio: float) -> lm.Tensor:
    """Returns ``ratio`` of the image and the rest of the other one, cut to what images hold."""
    top = 1.0 if lm.isdtype(img.dtype, "real floating") else 255.0
    mixed = other + (img.astype(lm.float32) - other) * ratio
    return lm.clip(mixed, 0.0, top).astype(img.dtype)


def _gray(img: lm.Tensor) -> lm.Tensor:
    weights = lm.tensor(_GRAY, device=img.device).reshape((3, 1, 1))
    return lm.sum(img.astype(lm.float32) * weights, axis=-3, keepdims=True)


def to_grayscale(img: lm.Tensor, num_output_channels: int = 1) -> lm.Tensor:
    """Returns the brightness, in one channel or in three alike."""
    if num_output_channels not in (1, 3):
        raise ValueError(f"[to_grayscale] num_output_channels is 1 or 3, not {num_output_channels}")
    gray = (img if img.shape[-3] == 1 else _gray(img)).astype(img.dtype)
    return gray if num_output_channels == 1 else lm.concat([gray] * 3, axis=-3)


def adjust_brightness(img: lm.Tensor, brightness_factor: float) -> lm.Tensor:
    """Blends with black."""
    return _blend(img, 0.0, brightness_factor)


def adjust_contrast(img: lm.Tensor, contrast_factor: float) -> lm.Tensor:
    """Blends with the mean brightness."""
    gray = img.astype(lm.float32) if img.shape[-3] == 1 else _gray(img)
    return _blend(img, lm.mean(gray, axis=(-3, -2, -1), keepdims=True), contrast_factor)


def adjust_saturation(img: lm.Tensor, saturation_factor: float) -> lm.Tensor:
    """Blends with the gray image, which an image of one channel is."""
    return img if img.shape[-3] == 1 else _blend(img, _gray(img), saturation_factor)
