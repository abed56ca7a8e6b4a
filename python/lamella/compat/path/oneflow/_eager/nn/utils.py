"""Functions of parameters and gradients whose parameters are in another order than PyTorch's."""

from __future__ import annotations

from typing import Any

import torch  # type: ignore[import-not-found]

from lamella.nn import utils


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, fused: bool = False, error_if_nonfinite: bool = False
) -> torch.Tensor:
    """Scales gradients by one factor, in place, so that their norm is at most ``max_norm``; returns the norm."""
    return utils.clip_grad_norm_(parameters, float(max_norm), float(norm_type), error_if_nonfinite)
