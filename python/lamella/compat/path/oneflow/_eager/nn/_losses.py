"""Losses with the order that OneFlow has their parameters in: without the two that PyTorch has given up."""

from __future__ import annotations

import torch  # type: ignore[import-not-found]
from torch import nn  # type: ignore[import-not-found]

from . import functional


class L1Loss(nn.L1Loss):
    """Returns absolute differences, or their mean or sum."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class MSELoss(nn.MSELoss):
    """Returns squared differences, or their mean or sum."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class SmoothL1Loss(nn.SmoothL1Loss):
    """Returns differences, squared where they are below ``beta``, or their mean or sum."""

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction=reduction, beta=beta)


class CrossEntropyLoss(nn.CrossEntropyLoss):
    """Returns the cross entropy of classes and scores."""

    def __init__(
        self,
        weight: torch.Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)


class NLLLoss(nn.NLLLoss):
    """Returns minus the scores of the classes."""

    def __init__(self, weight: torch.Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(weight, ignore_index=ignore_index, reduction=reduction)


class BCELoss(nn.BCELoss):
    """Returns the cross entropy of probabilities."""

    def __init__(self, weight: torch.Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(weight, reduction=reduction)


class BCEWithLogitsLoss(nn.BCEWithLogitsLoss):
    """Returns the cross entropy of probabilities and of the sigmoid of scores."""

    def __init__(
        self, weight: torch.Tensor | None = None, reduction: str = "mean", pos_weight: torch.Tensor | None = None
    ) -> None:
        super().__init__(weight, reduction=reduction, pos_weight=pos_weight)


class KLDivLoss(nn.Module):
    """Returns the divergence of :func:`kl_div`."""

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__()
        self.reduction = reduction
        self.log_target = log_target

    def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Returns the loss of logarithms of probabilities."""
        return functional.kl_div(input, target, self.log_target, self.reduction)


class CombinedMarginLoss(nn.Module):
    """Replaces the cosine ``x`` of each row's class by ``cos(m1 * arccos(x) + m2) - m3``."""

    def __init__(self, m1: float = 1.0, m2: float = 0.0, m3: float = 0.0) -> None:
        super().__init__()
        self.m1, self.m2, self.m3 = m1, m2, m3

    def forward(self, x: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        """Returns the cosines."""
        chosen = nn.functional.one_hot(label.to(torch.int64), x.shape[1]).to(torch.bool)
        # Elsewhere the arc cosine would have a gradient of its own, which is not finite at 1.
        angle = torch.acos(torch.where(chosen, x, torch.zeros_like(x)))
        return torch.where(chosen, torch.cos(self.m1 * angle + self.m2) - self.m3, x)
