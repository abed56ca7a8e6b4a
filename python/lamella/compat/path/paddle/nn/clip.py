"""Paddle's clipping of gradients, which optimizers do before a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module

from .._attributes import attribute

#: Parameters with their gradients, None where a parameter has none.
Pairs = Sequence[tuple[Any, Any]]


class ClipGradBase:
    """Base of clippings: a subclass defines :meth:`_dygraph_clip`."""

    def __call__(self, params_grads: Pairs) -> list[tuple[Any, Any]]:
        """Returns each parameter with its clipped gradient."""
        with lm.no_grad():
            return self._dygraph_clip(params_grads)

    def _dygraph_clip(self, params_grads: Pairs) -> list[tuple[Any, Any]]:
        """Returns each parameter that has a gradient, with it clipped; a subclass may define it or :meth:`_clip`."""
        made = [pair for pair in params_grads if pair[1] is not None]
        chosen = [number for number, (parameter, _) in enumerate(made) if attribute(parameter, "need_clip", True)]
        clipped = self._clip([made[number][1] for number in chosen])
        for number, gradient in zip(chosen, clipped, strict=True):
            made[number] = made[number][0], gradient
        return made

    def _clip(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        """Returns clipped gradients."""
        raise NotImplementedError(f"[{type(self).__name__}] the clipping defines no _dygraph_clip")


class ClipGradByValue(ClipGradBase):
    """Limits every element to ``[min, max]``; ``min`` is ``-max`` by default."""

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max = float(max)
        self.min = -float(max) if min is None else float(min)

    def __str__(self) -> str:
        return f"Clip Gradient By Value, min = {self.min:f}, max={self.max:f}"

    def _clip(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        return [lm.clip(gradient, self.min, self.max) for gradient in gradients]


class ClipGradByNorm(ClipGradBase):
    """Scales each gradient down to a norm of at most ``clip_norm``."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = float(clip_norm)

    def __str__(self) -> str:
        return f"Gradient Clip By Norm, clip_norm={self.clip_norm:f}"

    def _clip(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        return [gradient * _factor([gradient], self.clip_norm) for gradient in gradients]


class ClipGradByGlobalNorm(ClipGradBase):
    """Scales all gradients by one factor, so that the norm of all together is at most ``clip_norm``."""

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        self.clip_norm = float(clip_norm)

    def __str__(self) -> str:
        return f"Gradient Clip By GlobalNorm, global_norm={self.clip_norm:f}"

    def _clip(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        factor = _factor(gradients, self.clip_norm)
        return [gradient * factor for gradient in gradients]


def _factor(gradients: Sequence[Tensor], limit: float) -> float:
    """Returns ``limit / max(norm, limit)``."""
    total = 0.0
    for gradient in gradients:
        total += float(lm.sum(lm.square(lm.cast(gradient, "float64"))).item())
    return limit / max(total**0.5, limit) if limit > 0 else 0.0


__getattr__ = close_module(__name__)
