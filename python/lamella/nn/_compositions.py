"""Functions of networks that are compositions of operators, and that other libraries have by these names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from .._arguments import expect_tensors
from .._C import Tensor

__all__ = [
    "dice_loss",
    "label_smooth",
    "maxout",
    "npair_loss",
    "sequence_mask",
    "sigmoid_focal_loss",
    "temporal_shift",
]


def maxout(x: Tensor, /, groups: int, axis: int = 1) -> Tensor:
    """Returns the largest of each `groups` neighbors along an axis (Goodfellow et al., 2013, "Maxout networks").

    The axis has a `groups`-th of its size in the result. ValueError where `groups` is not above 1 or does not divide
    it, IndexError where x has no such axis.
    """
    expect_tensors("maxout", x=x)
    if not isinstance(groups, int) or groups < 2:
        raise ValueError(f"[maxout] groups is an int above 1, got {groups!r}")
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"[maxout] axis {axis} is none of a tensor with {x.ndim} axes")
    axis %= x.ndim
    if x.shape[axis] % groups:
        raise ValueError(f"[maxout] groups must divide the axis: {groups} does not divide {x.shape[axis]}")
    return _C.max(_C.unflatten(x, axis, (-1, groups)), axis=axis + 1)


def sequence_mask(lengths: Tensor, /, maxlen: int | None = None, dtype: Any = "bool") -> Tensor:
    """Returns, along a new last axis of `maxlen` places, 1 for the places before each length and 0 for others.

    `lengths` are integers, `maxlen` is their largest by default. The dtype is that of the result. TypeError for lengths
    that are not integers.
    """
    expect_tensors("sequence_mask", lengths=lengths)
    if not _C.isdtype(lengths.dtype, "integral"):
        raise TypeError(f"[sequence_mask] lengths must be integers, got {lengths.dtype.name}")
    if maxlen is None:
        maxlen = max(int(_C.max(lengths).item()), 0) if lengths.size else 0
    places = _C.arange(maxlen, dtype=lengths.dtype, device=lengths.device)
    return _C.astype(places < lengths[..., None], dtype)


def label_smooth(labels: Tensor, /, prior: Tensor | None = None, epsilon: float = 0.1) -> Tensor:
    """Mixes probabilities of classes, along the last axis, with a share `epsilon` of a prior.

    The prior is uniform by default. Source: Szegedy et al., 2016, "Rethinking the inception
    architecture for computer vision". ValueError for a share that is not between 0 and 1.
    """
    expect_tensors("label_smooth", labels=labels)
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"[label_smooth] epsilon must be between 0 and 1, got {epsilon}")
    return (1.0 - epsilon) * labels + epsilon * (1.0 / labels.shape[-1] if prior is None else prior)


def sigmoid_focal_loss(
    input: Tensor, target: Tensor, alpha: float = 0.25, gamma: float = 2.0, reduction: str = "mean"
) -> Tensor:
    """Binary cross-entropy of logits, times (1 - p) ** gamma for the probability p that they give to the target.

    Source: Lin et al., 2017, "Focal loss for dense object detection". `alpha` is the weight of targets of 1, and 1 -
    alpha that of targets of 0; a negative one leaves them out. reduction is 'mean', 'sum' or 'none'.

    ValueError for another reduction, or for shapes that differ.
    """
    expect_tensors("sigmoid_focal_loss", input=input, target=target)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"[sigmoid_focal_loss] reduction must be 'mean', 'sum' or 'none', got {reduction!r}")
    if input.shape != target.shape:
        raise ValueError(
            f"[sigmoid_focal_loss] input and target must have one shape, got {input.shape}, {target.shape}"
        )
    target = _C.astype(target, input.dtype)
    p = _C.sigmoid(input)
    terms = _C.binary_cross_entropy_with_logits(input, target, reduction="none")
    terms = terms * (p + target - 2.0 * p * target) ** gamma
    if alpha >= 0:
        terms = terms * (alpha * target + (1.0 - alpha) * (1.0 - target))
    return terms if reduction == "none" else _C.sum(terms) if reduction == "sum" else _C.mean(terms)


def dice_loss(input: Tensor, target: Tensor, eps: float = 1e-5) -> Tensor:
    """1 minus twice the overlap of probabilities with classes by the sum of both, the mean over samples.

    Source: Milletari et al., 2016, "V-Net". `input` is [samples, .., classes], `target`, integers, [samples, ..] or
    [samples, .., 1]; `eps` is added to the sum. ValueError for shapes that do not fit.
    """
    expect_tensors("dice_loss", input=input, target=target)
    if target.ndim == input.ndim and target.shape[-1] == 1:
        target = _C.squeeze(target, -1)
    if input.ndim < 2 or target.shape != input.shape[:-1]:
        raise ValueError(
            f"[dice_loss] target must have the axes of input but the last, got {target.shape}, {input.shape}"
        )
    chosen = _C.astype(_C.one_hot(target, input.shape[-1]), input.dtype)
    axes: Sequence[int] = range(1, input.ndim)
    overlap = _C.sum(input * chosen, axis=[*axes])
    total = _C.sum(input, axis=[*axes]) + _C.sum(chosen, axis=[*axes])
    return _C.mean(1.0 - 2.0 * overlap / (total + eps))


def npair_loss(anchor: Tensor, positive: Tensor, labels: Tensor, l2_reg: float = 0.002) -> Tensor:
    """Cross-entropy of the similarities of anchors and positives, whose targets are the pairs of one label.

    Source: Sohn, 2016, "Improved deep metric learning with multi-class n-pair loss objective". `anchor` and `positive`
    are [n, size], `labels` [n]. A fourth of `l2_reg` times the mean squared lengths of both is added. ValueError for
    shapes that do not fit.
    """
    expect_tensors("npair_loss", anchor=anchor, positive=positive, labels=labels)
    if anchor.ndim != 2 or anchor.shape != positive.shape or labels.shape != anchor.shape[:1]:
        raise ValueError(
            "[npair_loss] anchor and positive must be [n, size] and labels [n], got the shapes "
            f"{anchor.shape}, {positive.shape} and {labels.shape}"
        )
    same = _C.astype(labels[:, None] == labels[None, :], anchor.dtype)
    targets = same / _C.sum(same, axis=1, keepdims=True)
    lengths = _C.mean(_C.sum(anchor * anchor, axis=1)) + _C.mean(_C.sum(positive * positive, axis=1))
    return _C.cross_entropy(anchor @ positive.T, targets) + 0.25 * l2_reg * lengths


def temporal_shift(x: Tensor, /, segments: int, shift_ratio: float = 0.25) -> Tensor:
    """Moves a share of the channels of each clip one frame back, as large a one forward, and keeps the others.

    Source: Lin et al., 2019, "TSM: temporal shift module for efficient video understanding". x is [clips * segments,
    channels, ..]; what comes from outside of a clip is 0. ValueError where `segments` does not divide the first axis,
    or the share is not between 0 and 0.5.
    """
    expect_tensors("temporal_shift", x=x)
    if x.ndim < 2 or segments < 1 or x.shape[0] % segments:
        raise ValueError(
            f"[temporal_shift] segments must divide the first axis, got {segments} and the shape {x.shape}"
        )
    if not 0.0 <= shift_ratio <= 0.5:
        raise ValueError(f"[temporal_shift] shift_ratio must be between 0 and 0.5, got {shift_ratio}")
    clips = _C.unflatten(x, 0, (-1, segments))
    first = int(x.shape[1] * shift_ratio)
    second = int(x.shape[1] * 2 * shift_ratio)
    nothing = _C.zeros_like(clips[:, :1])
    later = _C.concat([nothing[:, :, :first], clips[:, :-1, :first]], axis=1)
    sooner = _C.concat([clips[:, 1:, first:second], nothing[:, :, first:second]], axis=1)
    return _C.reshape(_C.concat([later, sooner, clips[:, :, second:]], axis=2), x.shape)
