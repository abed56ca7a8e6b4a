"""Functions of ``paddle.nn.functional`` that are compositions: losses, and a few that move elements."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor


def reduced(name: str, loss: Tensor, reduction: str) -> Tensor:
    """Returns the mean of costs, their sum, or themselves ("none").

    Raises:
        ValueError: ``reduction`` is another word.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"[{name}] reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    return loss if reduction == "none" else lm.mean(loss) if reduction == "mean" else lm.sum(loss)


def label_smooth(label: Tensor, prior_dist: Tensor | None = None, epsilon: float = 0.1, name: Any = None) -> Tensor:
    """``(1 - epsilon) * label + epsilon * prior_dist``; the prior is uniform over the last axis where none is given."""
    prior: Any = 1.0 / label.shape[-1] if prior_dist is None else prior_dist
    return (1 - epsilon) * label + epsilon * prior


def log_loss(input: Tensor, label: Tensor, epsilon: float = 1e-4, name: Any = None) -> Tensor:
    """``-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon)``, of each element."""
    return -label * lm.log(input + epsilon) - (1 - label) * lm.log(1 - input + epsilon)


def dice_loss(input: Tensor, label: Tensor, epsilon: float = 1e-5, name: Any = None) -> Tensor:
    """1 less twice the overlap of probabilities ``(n, ..., classes)`` and classes ``(n, ..., 1)``, over their sum."""
    target = lm.one_hot(lm.squeeze(label, -1), input.shape[-1]).astype(input.dtype)
    axes = tuple(range(1, input.ndim))
    inside = lm.sum(input * target, axis=axes)
    return lm.mean(1 - 2 * inside / (lm.sum(input, axis=axes) + lm.sum(target, axis=axes) + epsilon))


def sigmoid_focal_loss(
    logit: Tensor,
    label: Tensor,
    normalizer: Tensor | None = None,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "sum",
    name: Any = None,
) -> Tensor:
    """Cross entropy that counts less where it is small (Lin et al. 2017, "Focal loss for dense object detection").

    ``alpha_t * (1 - p_t) ** gamma * -log(p_t)`` with ``p_t`` the probability of the right answer.
    """
    cost = lm.binary_cross_entropy_with_logits(logit, label, reduction="none")
    p = lm.sigmoid(logit)
    right = p * label + (1 - p) * (1 - label)
    loss = (alpha * label + (1 - alpha) * (1 - label)) * (1 - right) ** gamma * cost
    return reduced("sigmoid_focal_loss", loss if normalizer is None else loss / normalizer, reduction)


def npair_loss(anchor: Tensor, positive: Tensor, labels: Tensor, l2_reg: float = 0.002) -> Tensor:
    """Cross entropy of similarities in a batch (Sohn 2016, "Improved deep metric learning with N-pair loss")."""
    column = lm.reshape(labels, (-1, 1)).astype("float32")
    same = (column == lm.reshape(column, (1, -1))).astype("float32")
    target = same / lm.sum(same, axis=1, keepdims=True)
    squares = lm.mean(lm.sum(lm.square(anchor), axis=1)) + lm.mean(lm.sum(lm.square(positive), axis=1))
    cost = -lm.sum(target * lm.log_softmax(lm.matmul(anchor, positive.mT), 1), axis=1)
    return lm.mean(cost) + 0.25 * l2_reg * squares


def multi_label_soft_margin_loss(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: Any = None
) -> Tensor:
    """Cross entropy of each of several classes, averaged over them."""
    return lm.nn.functional.multilabel_soft_margin_loss(input, label, weight, reduction)


def triplet_margin_loss(
    input: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    epsilon: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
    name: Any = None,
) -> Tensor:
    """:func:`triplet_margin_with_distance_loss` of distances by the ``p``-norm of differences plus ``epsilon``."""

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return lm.nn.functional.pairwise_distance(a, b, p, epsilon)

    return triplet_margin_with_distance_loss(input, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    input: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    name: Any = None,
) -> Tensor:
    """The amount by which the distance to ``positive``, plus ``margin``, is more than that to ``negative``.

    Args:
        input: the examples.
        positive: those that are to be near.
        negative: those that are to be far, from ``positive`` too where ``swap``.
        distance_function: of two tensors; the Euclidean distance by default.
        margin: at least 0.
        swap: True takes the smaller one of both distances to ``negative``.
        reduction: "mean", "sum" or "none".
        name: not used.
    """
    if margin < 0:
        raise ValueError(f"[triplet_margin_loss] margin is at least 0, not {margin}")
    distance = lm.nn.functional.pairwise_distance if distance_function is None else distance_function
    near, far = distance(input, positive), distance(input, negative)
    if swap:
        far = lm.minimum(far, distance(positive, negative))
    return reduced("triplet_margin_loss", lm.relu(near - far + margin), reduction)


def sequence_mask(x: Tensor, maxlen: Any = None, dtype: Any = "int64", name: Any = None) -> Tensor:
    """1 up to each length, then 0: ``(..., maxlen)``, by default as long as the longest."""
    longest = int(lm.max(x).item()) if maxlen is None else int(maxlen)
    return (lm.arange(longest) < lm.expand_dims(x, -1)).astype(dtype)


def temporal_shift(
    x: Tensor, seg_num: int, shift_ratio: float = 0.25, name: Any = None, data_format: str = "NCHW"
) -> Tensor:
    """Moves parts of the channels one step back and one forth in time.

    Lin et al. 2019, "TSM: temporal shift module for efficient video understanding".

    Args:
        x: ``(n * seg_num, channels, height, width)``, or with channels last.
        seg_num: number of steps.
        shift_ratio: share of the channels that come from the step before, and of those from the step behind.
        name: not used.
        data_format: "NCHW" or "NHWC".
    """
    turned = lm.moveaxis(x, -1, 1) if data_format == "NHWC" else x
    steps = lm.unflatten(turned, 0, (-1, seg_num))
    first, second = (int(steps.shape[2] * shift_ratio * times) for times in (1, 2))
    blank = lm.zeros_like(steps[:, :1])
    before, behind = lm.concat([blank, steps[:, :-1]], axis=1), lm.concat([steps[:, 1:], blank], axis=1)
    moved = lm.concat([before[:, :, :first], behind[:, :, first:second], steps[:, :, second:]], axis=2)
    made = lm.flatten(moved, 0, 1)
    return lm.moveaxis(made, 1, -1) if data_format == "NHWC" else made


def margin_ranking_loss(
    input: Tensor,
    other: Tensor,
    label: Tensor,
    margin: float = 0.0,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The part above 0 of ``margin - label * (input - other)``, whose derivative at 0 is 0."""
    return reduced("margin_ranking_loss", lm.relu(margin - label * (input - other)), reduction)


def hinge_embedding_loss(
    input: Tensor, label: Tensor, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """``input`` where the label is 1, the part above 0 of ``margin - input`` where it is -1, and 0 elsewhere."""
    none = lm.zeros_like(input)
    loss = lm.where(label == 1, input, none) + lm.where(label == -1, lm.relu(margin - input), none)
    return reduced("hinge_embedding_loss", loss, reduction)


def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors; the product of their lengths counts as ``eps`` at least."""
    squares = lm.sum(x1 * x1, axis=axis) * lm.sum(x2 * x2, axis=axis)
    return lm.sum(x1 * x2, axis=axis) / lm.sqrt(lm.clip(squares, min=eps * eps))


def thresholded_relu(x: Tensor, threshold: float = 1.0, value: float = 0.0, name: Any = None) -> Tensor:
    """``x`` above the threshold, else ``value``."""
    return lm.nn.functional.threshold(x, threshold, value)
