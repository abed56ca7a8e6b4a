"""Cross entropy of classes, which may be probabilities, smoothed and weighted."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor

from .._second_names import checked_axes


def cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Returns the cross entropy of scores, or without ``use_softmax`` of probabilities, and classes.

    Classes are integers in the shape of ``input`` without ``axis``, or with 1 for its size; where ``soft_label``, they
    are probabilities in the shape of ``input``, and so may those be that are smoothed. Those and smoothed ones weigh as
    the mean of their classes' weights.
    Examples whose class is ``ignore_index`` count nothing: where it is negative, the mean without a ``weight`` is over
    all examples, though. Of smoothed classes those of an ``ignore_index`` of 0 or more cost what others do, and each
    probability that is not ``ignore_index`` counts for the mean, as Paddle has it.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"[cross_entropy] reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    (axis,) = checked_axes("cross_entropy", [axis], input.ndim)
    soft_label = soft_label or (label_smoothing > 0 and label.shape == input.shape and label.shape[axis] != 1)
    if soft_label or label_smoothing:
        return _soft(input, label, weight, ignore_index, reduction, soft_label, axis, use_softmax, label_smoothing)
    keeps_axis = label.ndim == input.ndim
    if keeps_axis:
        label = lm.squeeze(label, axis)
    over_all = reduction == "mean" and ignore_index < 0 and weight is None
    each = "none" if over_all else reduction
    if use_softmax:
        loss = lm.cross_entropy(input, label, weight, ignore_index, each, 0.0, axis)
    else:
        loss = lm.nll_loss(lm.log(input), label, weight, ignore_index, each, axis)
    if over_all:
        return lm.mean(loss)
    return lm.expand_dims(loss, axis) if keeps_axis and reduction == "none" else loss


def _soft(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    soft_label: bool,
    axis: int,
    use_softmax: bool,
    label_smoothing: float,
) -> Tensor:
    """Returns the cross entropy of probabilities of classes, or of classes to be smoothed."""
    classes = tuple(input.shape)[axis]
    counts: Any = None
    if not soft_label:
        numbers = lm.squeeze(label, axis) if label.ndim == input.ndim else label
        if ignore_index < 0 and bool(lm.any(numbers == ignore_index)):
            counts = lm.expand_dims((numbers != ignore_index).astype(input.dtype), axis)
            numbers = lm.where(numbers == ignore_index, lm.zeros_like(numbers), numbers)
        label = lm.moveaxis(lm.one_hot(numbers, classes), -1, axis)
    label = label.astype(input.dtype)
    if label_smoothing:
        label = label * (1 - label_smoothing) + label_smoothing / classes
    logarithm = lm.log_softmax(input, axis=axis) if use_softmax else lm.log(input)
    loss = -lm.sum(label * logarithm, axis=axis, keepdims=True)
    shares, counted = counts, label != ignore_index
    if weight is not None:
        shape = tuple(classes if each == axis else 1 for each in range(input.ndim))
        each = lm.sum(label * lm.reshape(weight, shape), axis=axis, keepdims=True)
        shares = each if counts is None else each * counts
    if shares is not None:
        loss = loss * shares
    if reduction == "none":
        return loss
    if reduction == "sum":
        return lm.sum(loss)
    if ignore_index >= 0:
        shares = counted.astype(input.dtype) if shares is None else counted * shares
    if shares is None:
        return lm.mean(loss)
    total = lm.sum(shares)
    return lm.sum(loss) / lm.where(total == 0, lm.ones_like(total), total)


def softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """Returns the cross entropy of each example, with 1 for the size of ``axis``."""
    loss = cross_entropy(logits, label, ignore_index=ignore_index, reduction="none", soft_label=soft_label, axis=axis)
    if loss.ndim < logits.ndim:
        loss = lm.expand_dims(loss, axis)
    return (loss, lm.softmax(logits, axis=axis)) if return_softmax else loss
