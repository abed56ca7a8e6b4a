"""Functions of networks whose parameters or values differ from PyTorch's, or that it does not have."""

from __future__ import annotations

from typing import Any

import torch  # type: ignore[import-not-found]
import torch.nn.functional as F  # type: ignore[import-not-found]  # noqa: N812 (its usual name)

import lamella as lm
from lamella.compat import regions


def quick_gelu(x: torch.Tensor) -> torch.Tensor:
    """Returns ``x * sigmoid(1.702 * x)``."""
    return x * torch.sigmoid(1.702 * x)


def square_relu(x: torch.Tensor) -> torch.Tensor:
    """Returns the square of positive elements, 0 for others."""
    return torch.relu(x) ** 2


def kl_div(
    input: torch.Tensor, target: torch.Tensor, log_target: bool = False, reduction: str = "mean"
) -> torch.Tensor:
    """Returns ``target * (log(target) - input)``, which is 0 where ``target`` is not above 0; or of logarithms.

    ``batchmean`` is the sum divided by the size of the first axis.
    """
    if log_target:
        return F.kl_div(input, target, reduction=reduction, log_target=True)
    counts = target > 0
    safe = torch.where(counts, target, torch.ones_like(target))
    losses = torch.where(counts, target * (torch.log(safe) - input), torch.zeros_like(input))
    if reduction == "batchmean":
        return losses.sum() / input.shape[0]
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"[kl_div] reduction is 'none', 'mean', 'sum' or 'batchmean', got {reduction!r}")
    return losses if reduction == "none" else getattr(torch, reduction)(losses)


def sparse_softmax_cross_entropy(labels: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """Returns minus the logarithm of each label's softmax, along the last axis of ``logits``."""
    return lm.cross_entropy(logits, labels, reduction="none", axis=-1)


def dropout(
    x: torch.Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    generator: Any = None,
    *,
    addend: torch.Tensor | None = None,
) -> torch.Tensor:
    """Zeroes each element with the probability ``p``, divides the others by ``1 - p``, and adds ``addend``."""
    if generator is None or not training or p == 0:
        made = F.dropout(x, p, training, inplace)
    else:
        made = lm.dropout(x, p, True, generator=generator)
        made = x.copy_(made) if inplace else made
    return made if addend is None else made + addend


def interpolate_like(
    input: torch.Tensor, like: torch.Tensor, mode: str = "nearest", align_corners: bool | None = None
) -> torch.Tensor:
    """Returns images resized to the size of others."""
    return F.interpolate(input, size=tuple(like.shape[2:]), mode=mode, align_corners=align_corners)


def depend(input: torch.Tensor, depend: Any) -> torch.Tensor:
    """Returns the first tensor: what was called before has been computed already."""
    return input


def deform_conv2d(
    input: torch.Tensor,
    offset: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Returns a convolution whose kernel reads at places of its own, interpolated between pixels."""
    pairs = [(each, each) if isinstance(each, int) else each for each in (stride, padding, dilation)]
    return regions.deform_conv2d(input, weight, offset, mask, bias, *pairs)


def ctc_greedy_decoder(
    log_probs: torch.Tensor, input_lengths: torch.Tensor, merge_repeated: bool = True
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the best class of each step, without repetitions and blanks (the last class), and minus its scores' sum.

    Args:
        log_probs: scores, shape ``(steps, n, classes)``.
        input_lengths: numbers of steps, shape ``(n,)``.
        merge_repeated: False keeps repetitions.
    """
    steps, count, classes = log_probs.shape
    best, chosen = log_probs.max(dim=-1)
    decoded = torch.zeros((count, steps), dtype=torch.int64)
    sums = torch.zeros((count, 1), dtype=log_probs.dtype)
    for n, length in enumerate(input_lengths.tolist()):
        path = chosen[:length, n].tolist()
        fresh = [each for k, each in enumerate(path) if not (merge_repeated and k and path[k - 1] == each)]
        kept = [each for each in fresh if each != classes - 1]
        decoded[n, : len(kept)] = torch.tensor(kept, dtype=torch.int64)
        sums[n, 0] = -best[:length, n].sum()
    return decoded, sums
