"""Functions that read and write parts of tensors, and measures of what a classifier says."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import torch  # type: ignore[import-not-found]


def _places(index: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Returns an index for each of the first axes, of the numbers along the last axis."""
    return tuple(index[..., k].to(torch.int64) for k in range(index.shape[-1]))


def gather_nd(input: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Returns parts of a tensor, each at the place in its first axes that is along the last axis of ``index``."""
    return input[_places(index)]


def scatter_nd(index: torch.Tensor, update: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Returns zeros of a shape with the parts of ``update`` added at the places along the last axis of ``index``."""
    made = torch.zeros(tuple(shape), dtype=update.dtype, device=update.device)
    return made.index_put(_places(index), update, accumulate=True)


def tensor_scatter_nd_update(tensor: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
    """Returns a tensor with the parts of ``updates`` at the places along the last axis of ``indices``."""
    return tensor.index_put(_places(indices), updates.to(tensor.dtype))


def batch_gather(input: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Returns parts along the axis that is the last of ``indices``; those before it are the same in both.

    Raises:
        ValueError: the axes before it differ.
    """
    axis = indices.ndim - 1
    if tuple(input.shape[:axis]) != tuple(indices.shape[:axis]):
        raise ValueError(
            f"[batch_gather] input, {list(input.shape)}, and indices, {list(indices.shape)}, have the same axes before "
            "the last of indices"
        )
    behind = tuple(input.shape[axis + 1 :])
    index = indices.to(torch.int64).reshape(*indices.shape, *[1] * len(behind)).expand(*indices.shape, *behind)
    return torch.gather(input, axis, index)


def _key(op: str, input: torch.Tensor, parts: Sequence[Any]) -> tuple[builtins.slice, ...]:
    if len(parts) > input.ndim or any(len(part) != 3 for part in parts):
        raise ValueError(f"[{op}] slice_tup_list has (start, stop, step) for each of {input.ndim} axes, got {parts}")
    return tuple(builtins.slice(*part) for part in parts)


def slice(input: torch.Tensor, slice_tup_list: Sequence[Any]) -> torch.Tensor:
    """Returns the part that ``(start, stop, step)`` of each axis names."""
    return input[_key("slice", input, slice_tup_list)]


def slice_update(input: torch.Tensor, update: torch.Tensor, slice_tup_list: Sequence[Any]) -> torch.Tensor:
    """Writes over the part that ``(start, stop, step)`` of each axis names; returns the tensor."""
    input[_key("slice_update", input, slice_tup_list)] = update.to(input.dtype)
    return input


def broadcast_like(
    x: torch.Tensor, like_tensor: torch.Tensor, broadcast_axes: Sequence[int] | None = None
) -> torch.Tensor:
    """Returns a tensor repeated to the shape of another; ``broadcast_axes`` are axes that it lacks or has of size 1."""
    axes = sorted(axis % like_tensor.ndim for axis in broadcast_axes or ())
    if x.ndim < like_tensor.ndim and x.ndim + len(axes) == like_tensor.ndim:
        for axis in axes:
            x = x.unsqueeze(axis)
    return x.expand(*like_tensor.shape)


def in_top_k(targets: torch.Tensor, predictions: torch.Tensor, k: int) -> torch.Tensor:
    """Returns for each row of ``predictions`` if fewer than ``k`` elements are above that of its target."""
    at = predictions.gather(1, targets.to(torch.int64).unsqueeze(1))
    return (predictions > at).sum(dim=1) < k


def roc_auc_score(label: torch.Tensor, pred: torch.Tensor) -> torch.Tensor:
    """Returns the area under the curve of true by false positives, shape ``(1,)``.

    Raises:
        ValueError: there are no true labels, or no false ones.
    """
    truth, scores = label.reshape(-1) > 0, pred.reshape(-1)
    high, low = scores[truth], scores[~truth]
    if not len(high) or not len(low):
        raise ValueError("[roc_auc_score] label has one class only: the score needs both")
    ordered = torch.sort(low)[0]
    below = torch.searchsorted(ordered, high)
    ties = torch.searchsorted(ordered, high, right=True) - below
    won = (below.to(torch.float64) + 0.5 * ties.to(torch.float64)).sum() / (len(high) * len(low))
    return won.to(torch.float32).reshape(1)
