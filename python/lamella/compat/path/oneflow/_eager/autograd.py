"""Functions with gradients of their own, whose objects can be called."""

from __future__ import annotations

from typing import Any

import torch  # type: ignore[import-not-found]


class Function(torch.autograd.Function):  # type: ignore[misc]
    """Base of functions that define ``forward(ctx, ...)`` and ``backward(ctx, ...)``."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns what ``apply`` does."""
        return type(self).apply(*args, **kwargs)
