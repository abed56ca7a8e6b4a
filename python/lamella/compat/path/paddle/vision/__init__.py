"""Images: what changes them, and networks that see them."""

from __future__ import annotations

from typing import Any

from lamella.compat.front import close_module

from . import datasets, models, ops, transforms  # noqa: F401

_backend = "pil"


def set_image_backend(backend: str) -> None:
    """Has images be read as those of Pillow ("pil"), or as arrays with the channels blue, green, red ("cv2").

    Raises:
        ValueError: the backend is another.
    """
    global _backend
    if backend not in ("pil", "cv2", "tensor"):
        raise ValueError(f"[set_image_backend] backend is 'pil', 'cv2' or 'tensor', not {backend!r}")
    _backend = backend


def get_image_backend() -> str:
    """Returns what :func:`set_image_backend` has set."""
    return _backend


def image_load(path: Any, backend: str | None = None) -> Any:
    """Returns the image of a file, which Pillow reads."""
    import numpy as np
    from PIL import Image

    kind = backend or _backend
    if kind not in ("pil", "cv2", "tensor"):
        raise ValueError(f"[image_load] backend is 'pil', 'cv2' or 'tensor', not {kind!r}")
    image = Image.open(path)
    if kind == "pil":
        return image
    array = np.asarray(image.convert("RGB"))
    return np.ascontiguousarray(array[..., ::-1]) if kind == "cv2" else transforms.to_tensor(array)


__getattr__ = close_module(__name__)
