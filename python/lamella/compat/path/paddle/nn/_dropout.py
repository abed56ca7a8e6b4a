"""Paddle's layers that zero elements at random."""

from __future__ import annotations

from typing import Any

import lamella as lm

from . import functional
from ._base import Layer


class Dropout(Layer):
    """Zeroes each element with probability ``p`` and divides the others by ``1 - p``, in training."""

    def __init__(
        self,
        p: float = 0.5,
        axis: Any = None,
        mode: str = "upscale_in_train",
        name: str | None = None,
        *,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        self.p, self.axis, self.mode = p, axis, mode

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return functional.dropout(x, self.p, self.axis, self.training, self.mode)


class AlphaDropout(Layer):
    """Dropout that keeps mean 0 and variance 1, for networks with ``SELU``."""

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return functional.alpha_dropout(x, self.p, self.training)


class FeatureAlphaDropout(AlphaDropout):
    """:class:`AlphaDropout` of whole channels."""

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return functional.feature_alpha_dropout(x, self.p, self.training)
