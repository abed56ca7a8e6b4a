"""Rules of losses, and how those over classes are computed where the classes are split."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella._C import Tensor

from ._letters import broadcast_letters, letters
from .call import Call, Pieces
from .registry import composition, rule
from .spec import UNKNOWN, Spec

#: Losses of one example, by the number of the last axes that each example has; 0 for those element by element.
_EXAMPLES = {
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"), 0),
    **dict.fromkeys(("binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss", "soft_margin_loss"), 0),
    **dict.fromkeys(("hinge_embedding_loss", "margin_ranking_loss"), 0),
    **dict.fromkeys(("triplet_margin_loss", "multilabel_margin_loss", "multi_margin_loss"), 1),
    "multilabel_soft_margin_loss": 1,
}


def _sum_over_all(call: Call, pieces: Pieces) -> Any:
    """Returns the sum of this process's losses over the number of all of them."""
    mean = call.run(pieces.tensors)
    if call.arguments.get("reduction") == "batchmean":
        first, last = pieces.ranges[0][0]
        share = (last - first) / pieces.shapes[0][0]
        # Along other axes the local sum is over the whole batch's number already.
        return mean if share == 1 else mean * share
    largest = max(range(len(pieces.shapes)), key=lambda i: len(pieces.shapes[i]))
    axes = pieces.ranges[largest]
    share = 1.0
    for (start, stop), size in list(zip(axes, pieces.shapes[largest], strict=True))[: len(axes) - _EXAMPLES[call.name]]:
        share *= (stop - start) / size
    return mean if share == 1 else mean * share


@rule(*_EXAMPLES)
def loss(call: Call) -> Spec | None:
    """Splits examples; their mean and their sum are partial sums."""
    last = _EXAMPLES[call.name]
    shapes = call.shapes
    if last:
        labels = letters(len(shapes[0]) - last)
        if len(labels) != 1:
            return None
        inputs = [labels + UNKNOWN * (len(shape) - 1) if shape[:1] == shapes[0][:1] else UNKNOWN * len(shape)
                  for shape in shapes]  # fmt: skip
        if call.arguments.get("weight") is not None:
            return None
    else:
        whole = lm.broadcast_shapes(*shapes)
        labels = letters(len(whole))
        if call.arguments.get("reduction") == "batchmean":
            labels = labels[0] + UNKNOWN * (len(labels) - 1)
        inputs = broadcast_letters(shapes, whole, labels)
    reduction = call.arguments.get("reduction", "mean")
    if reduction == "none":
        return Spec(tuple(inputs), (labels,))
    return Spec(
        tuple(inputs),
        ("",),
        partial=dict.fromkeys(labels.replace(UNKNOWN, ""), "sum"),
        run=None if reduction == "sum" else _sum_over_all,
    )


def _counted(losses: Tensor, weights: Tensor, reduction: str) -> Tensor:
    """Joins losses of examples that are weighted already."""
    if reduction == "none":
        return losses
    total = lm.sum(losses)
    return total if reduction == "sum" else total / lm.sum(weights)


@composition("cross_entropy")
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, label_smoothing: float,
    axis: int | None,
) -> Any:  # fmt: skip
    """Computes the loss of class numbers by operators that have rules, along split classes, too.

    ``-x[target] + max(x) + log(sum(exp(x - max(x))))`` for each example; a split vocabulary needs no more than the
    maximum, the sum and the target's logit of each (M. Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3).
    """
    if weight is not None or label_smoothing or not lm.isdtype(target.dtype, "integral"):
        return NotImplemented
    axis = (1 if input.ndim > 1 else 0) if axis is None else axis % input.ndim
    largest = lm.max(input, axis=axis, keepdims=True).detach()
    moved = input - largest
    normalizer = lm.log(lm.sum(lm.exp(moved), axis=axis))
    kept = lm.not_equal(target, ignore_index)
    safe = lm.where(kept, target, lm.zeros_like(target))
    chosen = lm.squeeze(lm.take_along_axis(moved, lm.expand_dims(safe, axis=axis), axis=axis), axis=axis)
    losses = lm.where(kept, normalizer - chosen, 0.0)
    return _counted(losses, lm.astype(kept, input.dtype), reduction)


@composition("nll_loss")
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, axis: int | None
) -> Any:
    """Computes the loss of logarithms of probabilities by operators that have rules."""
    if weight is not None:
        return NotImplemented
    axis = (1 if input.ndim > 1 else 0) if axis is None else axis % input.ndim
    kept = lm.not_equal(target, ignore_index)
    safe = lm.where(kept, target, lm.zeros_like(target))
    chosen = lm.squeeze(lm.take_along_axis(input, lm.expand_dims(safe, axis=axis), axis=axis), axis=axis)
    return _counted(lm.where(kept, -chosen, 0.0), lm.astype(kept, input.dtype), reduction)


@rule("cosine_embedding_loss")
def cosine_embedding_loss(call: Call) -> Spec | None:
    """Splits examples where each keeps its loss."""
    if call.arguments.get("reduction", "mean") != "none" or call.tensors[0].ndim != 2:
        return None
    return Spec(("n" + UNKNOWN, "n" + UNKNOWN, "n"), ("n",))
