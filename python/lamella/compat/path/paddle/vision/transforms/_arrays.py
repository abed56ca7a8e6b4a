"""Functions of arrays that take the other kinds of images."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm

from . import _tensors


def of_array(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of arrays that takes images of Pillow, and gives such ones for them, too.

    Where Pillow has the function, its own is called. Of tensors, whose axes are ``(..., channels, height, width)``, it
    gives tensors.
    """

    @functools.wraps(function)
    def call(img: Any, *args: Any, **named: Any) -> Any:
        if isinstance(img, np.ndarray):
            return function(img, *args, **named)
        if isinstance(img, lm.Tensor):
            if (own := getattr(_tensors, function.__name__, None)) is not None:
                return own(img, *args, **named)
            if img.ndim > 3:
                return lm.stack([call(each, *args, **named) for each in lm.unstack(img)])
            values = img.detach().cpu().numpy()
            changed = function(values.transpose(1, 2, 0) if values.ndim == 3 else values, *args, **named)
            changed = changed.transpose(2, 0, 1) if changed.ndim == 3 else changed
            return lm.tensor(np.ascontiguousarray(changed)).to(img.device)
        from PIL import Image

        from . import _pillow

        if (own := getattr(_pillow, function.__name__, None)) is not None:
            return own(img, *args, **named)
        made = function(np.asarray(img), *args, **named)
        return Image.fromarray(made[..., 0] if made.ndim == 3 and made.shape[2] == 1 else made)

    return call


def like(values: np.ndarray, img: np.ndarray) -> np.ndarray:
    """Returns floats in the dtype of an image: rounded to what 8 bits hold, if it has those."""
    if img.dtype == np.uint8:
        return np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return values.astype(img.dtype)
