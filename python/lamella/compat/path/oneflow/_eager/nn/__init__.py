"""Layers whose parameters differ from PyTorch's, or that it does not have."""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch  # type: ignore[import-not-found]
from torch import nn  # type: ignore[import-not-found]

from . import functional
from ._graph import Graph
from ._losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CombinedMarginLoss,
    CrossEntropyLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)

FusedBatchNorm1d, FusedBatchNorm2d, FusedBatchNorm3d = nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d


class QuickGELU(nn.Module):
    """Returns ``x * sigmoid(1.702 * x)``."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns the formula's value."""
        return functional.quick_gelu(x)


class SquareReLU(nn.Module):
    """Returns the square of positive elements, 0 for others."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns the formula's value."""
        return functional.square_relu(x)


class RMSLayerNorm(nn.Module):
    """Divides by the root of the mean square along the last axis, and multiplies by the parameter ``weight``."""

    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        warnings.warn("RMSLayerNorm is RMSNorm by its older name", DeprecationWarning, stacklevel=2)
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """Returns the normalized elements."""
        return nn.functional.rms_norm(hidden_states, tuple(self.weight.shape), self.weight, self.variance_epsilon)


class PixelShuffle(nn.Module):
    """Makes pixels of channels: ``h_upscale_factor`` rows and ``w_upscale_factor`` columns of each."""

    def __init__(
        self,
        upscale_factor: int | None = None,
        h_upscale_factor: int | None = None,
        w_upscale_factor: int | None = None,
    ) -> None:
        super().__init__()
        both = (h_upscale_factor, w_upscale_factor)
        if (upscale_factor is None) == (both == (None, None)) or (upscale_factor is None and None in both):
            raise ValueError("[PixelShuffle] takes upscale_factor, or h_upscale_factor and w_upscale_factor")
        self.h_upscale_factor, self.w_upscale_factor = both if upscale_factor is None else (upscale_factor,) * 2

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Returns the larger images."""
        (n, c, h, w), down, right = input.shape, self.h_upscale_factor, self.w_upscale_factor
        if down is None or right is None or c % (down * right):
            raise ValueError(f"[PixelShuffle] the channels, {c}, are a multiple of {down} * {right}")
        parts = input.reshape(n, c // (down * right), down, right, h, w).permute(0, 1, 4, 2, 5, 3)
        return parts.reshape(n, c // (down * right), h * down, w * right)


def _to_global(self: nn.Module, placement: Any = None, sbp: Any = None) -> nn.Module:
    """Makes the parameters and buffers global tensors, in place; returns the module."""
    for module in self.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            made = parameter.detach().to_global(placement, sbp)
            setattr(module, name, nn.Parameter(made, parameter.requires_grad))
        for name, buffer in list(module.named_buffers(recurse=False)):
            setattr(module, name, buffer.to_global(placement, sbp))
    return self


_module: Any = nn.Module
_module.to_global = _to_global


class Dropout(nn.Dropout):
    """Zeroes each element with the probability ``p`` while training, and divides the others by ``1 - p``."""

    def __init__(self, p: float = 0.5, inplace: bool = False, generator: Any = None) -> None:
        super().__init__(p, inplace)
        self.generator = generator

    def forward(self, x: torch.Tensor, addend: torch.Tensor | None = None) -> torch.Tensor:
        """Returns what remains, to which ``addend`` is added."""
        return functional.dropout(x, self.p, self.training, self.inplace, generator=self.generator, addend=addend)


class FusedMLP(nn.Module):
    """Applies linear maps with a ReLU and a dropout behind each; ``weight_k`` and ``bias_k`` belong to map ``k``."""

    def __init__(
        self,
        in_features: int,
        hidden_features: Sequence[int],
        out_features: int,
        hidden_dropout_rate: Sequence[float] | None = None,
        out_dropout_rate: float = 0.0,
        skip_final_activation: bool = False,
    ) -> None:
        super().__init__()
        self.sizes = [in_features, *hidden_features, out_features]
        self.rates = [*(hidden_dropout_rate or [0.0] * len(hidden_features)), out_dropout_rate]
        self.skip_final_activation = skip_final_activation
        if len(self.rates) != len(self.sizes) - 1:
            raise ValueError(
                f"[FusedMLP] hidden_dropout_rate has {len(self.rates) - 1} rates, for {len(hidden_features)} layers"
            )
        for k, (columns, rows) in enumerate(zip(self.sizes, self.sizes[1:], strict=False)):
            linear = nn.Linear(columns, rows)
            self.register_parameter(f"weight_{k}", linear.weight)
            self.register_parameter(f"bias_{k}", linear.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns what the last map makes."""
        for k, rate in enumerate(self.rates):
            x = nn.functional.linear(x, getattr(self, f"weight_{k}"), getattr(self, f"bias_{k}"))
            if k < len(self.rates) - 1 or not self.skip_final_activation:
                x = nn.functional.relu(x)
            x = nn.functional.dropout(x, rate, self.training)
        return x
