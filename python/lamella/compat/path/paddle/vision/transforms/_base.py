"""The base of transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class BaseTransform:
    """The base: a subclass defines ``_apply_image``, and may define ``_get_params`` of the inputs.

    Args:
        keys: what the inputs are, ``("image", "label")``: all but images are given back as they are, unless the
            subclass defines ``_apply_`` with their name. None is one image.
    """

    def __init__(self, keys: Sequence[str] | None = None) -> None:
        self.keys = ("image",) if keys is None else tuple(keys)
        self.params: Any = None

    def _get_params(self, inputs: Any) -> Any:
        return None

    def _apply_image(self, image: Any) -> Any:
        raise NotImplementedError(f"[{type(self).__name__}] the transform defines no _apply_image")

    def __call__(self, inputs: Any) -> Any:
        """Returns the inputs transformed."""
        parts = inputs if isinstance(inputs, tuple) else (inputs,)
        self.params = self._get_params(parts)
        made = [
            getattr(self, f"_apply_{key}", lambda part: part)(part) for key, part in zip(self.keys, parts, strict=False)
        ]
        made += parts[len(self.keys) :]
        return tuple(made) if isinstance(inputs, tuple) else made[0]
