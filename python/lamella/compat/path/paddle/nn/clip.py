"""Paddle's clipping of gradients, which optimizers do before a step."""

from __future__ import annotations

from collections.abc import Sequence

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module


class ClipGradByValue:
    """Limits every element to ``[min, max]``; ``min`` is ``-max`` by default."""

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max = float(max)
        self.min = -float(max) if min is None else float(min)

    def __call__(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        """Returns the clipped gradients."""
        return [lm.clip(gradient, self.min, self.max) for gradient in gradients]


class ClipGradByNorm:
    """Scales each gradient down to a norm of at most ``clip_norm``."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = float(clip_norm)

    def __call__(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        """Returns the clipped gradients."""
        return [gradient * _factor([gradient], self.clip_norm) for gradient in gradients]


class ClipGradByGlobalNorm:
    """Scales all gradients by one factor, so that the norm of all together is at most ``clip_norm``."""

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        self.clip_norm = float(clip_norm)

    def __call__(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        """Returns the clipped gradients."""
        factor = _factor(gradients, self.clip_norm)
        return [gradient * factor for gradient in gradients]


def _factor(gradients: Sequence[Tensor], limit: float) -> float:
    """Returns ``limit / max(norm, limit)``."""
    total = 0.0
    for gradient in gradients:
        total += float(lm.sum(lm.square(lm.cast(gradient, "float64"))).item())
    return limit / max(total**0.5, limit) if limit > 0 else 0.0


__getattr__ = close_module(__name__)
