"""Losses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import lamella as lm

from .._builder import (
    Value,
    axis_of,
    cast,
    constant,
    op,
    range_value,
    reduce,
    reshape,
    size,
    squeeze,
    unsqueeze,
    where,
)
from .._registry import builtin
from ._pointwise import is_float, isinf, log1p
from .activations import log_loss, log_sigmoid_of, smooth_l1
from .norms import cosine, pair_distance
from .reductions import any_of, count, mean_of


def reduced(x: Value, reduction: str) -> Value:
    """Returns losses reduced in the way that is asked for."""
    if reduction == "none":
        return x
    if reduction == "batchmean":
        return reduce("ReduceSum", x, None) / count(x, [0], x.dtype)
    return reduce("ReduceSum", x, None) if reduction == "sum" else mean_of(x, None)


def _all(meta: Any, *values: Any) -> list[Any]:
    return [cast(x, meta.dtype) if isinstance(x, Value) else x for x in values]


@builtin("mse_loss")
def mse_loss(input: Value, target: Value, reduction: str = "mean", meta_outputs: Any = None) -> Value:
    """Squared differences."""
    a, b = _all(meta_outputs, input, target)
    difference = a - b
    return reduced(difference * difference, reduction)


@builtin("l1_loss")
def l1_loss(input: Value, target: Value, reduction: str = "mean", meta_outputs: Any = None) -> Value:
    """Absolute differences."""
    a, b = _all(meta_outputs, input, target)
    return reduced(abs(a - b), reduction)


@builtin("smooth_l1_loss")
def smooth_l1_loss(
    input: Value, target: Value, reduction: str = "mean", beta: float = 1.0, meta_outputs: Any = None
) -> Value:
    """Squares of small differences, absolute values of large ones."""
    a, b = _all(meta_outputs, input, target)
    return reduced(abs(a - b) if beta == 0 else smooth_l1(a, b, float(beta)), reduction)


@builtin("huber_loss")
def huber_loss(
    input: Value, target: Value, reduction: str = "mean", delta: float = 1.0, meta_outputs: Any = None
) -> Value:
    """``delta`` times smooth_l1_loss."""
    a, b = _all(meta_outputs, input, target)
    return reduced(smooth_l1(a, b, float(delta)) * float(delta), reduction)


@builtin("binary_cross_entropy")
def binary_cross_entropy(
    input: Value, target: Value, weight: Value | None = None, reduction: str = "mean", meta_outputs: Any = None
) -> Value:
    """The binary cross entropy of probabilities."""
    p, t, w = _all(meta_outputs, input, target, weight)
    loss = log_loss(p, t)
    return reduced(loss if w is None else loss * w, reduction)


def _logit_loss(x: Value, t: Value, pos_weight: Value | None = None) -> Value:
    positive = log_sigmoid_of(x) * t
    if pos_weight is not None:
        positive = positive * pos_weight
    return -(positive + log_sigmoid_of(-x) * (1.0 - t))


@builtin("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Value,
    target: Value,
    weight: Value | None = None,
    reduction: str = "mean",
    pos_weight: Value | None = None,
    meta_outputs: Any = None,
) -> Value:
    """The binary cross entropy of logits."""
    x, t, w, p = _all(meta_outputs, input, target, weight, pos_weight)
    loss = _logit_loss(x, t, p)
    return reduced(loss if w is None else loss * w, reduction)


@builtin("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(
    input: Value, target: Value, weight: Value | None = None, reduction: str = "mean", meta_outputs: Any = None
) -> Value:
    """The mean over classes of the binary cross entropy of logits."""
    x, t, w = _all(meta_outputs, input, target, weight)
    loss = _logit_loss(x, t)
    loss = loss if w is None else loss * w
    return reduced(mean_of(loss, [loss.ndim - 1]), reduction)


@builtin("kl_div")
def kl_div(
    input: Value, target: Value, reduction: str = "mean", log_target: bool = False, meta_outputs: Any = None
) -> Value:
    """``target (log(target) - input)``."""
    x, t = _all(meta_outputs, input, target)
    if log_target:
        return reduced(op("Exp", t) * (t - x), reduction)
    inside = where(t > 0.0, t, 1.0)
    return reduced(where(t.eq(0.0), 0.0, t * (op("Log", inside) - x)), reduction)


@builtin("poisson_nll_loss")
def poisson_nll_loss(
    input: Value,
    target: Value,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
    meta_outputs: Any = None,
) -> Value:
    """The loss of a Poisson distribution."""
    x, t = _all(meta_outputs, input, target)
    loss = op("Exp", x) - t * x if log_input else x - t * op("Log", x + eps)
    if full:
        large = t > 1.0
        safe = where(large, t, 1.0)
        stirling = safe * op("Log", safe) - safe + op("Log", safe * (2.0 * math.pi)) * 0.5
        loss = loss + where(large, stirling, 0.0)
    return reduced(loss, reduction)


@builtin("gaussian_nll_loss")
def gaussian_nll_loss(
    input: Value,
    target: Value,
    var: Value,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
    meta_outputs: Any = None,
) -> Value:
    """The loss of a normal distribution."""
    x, t, v = _all(meta_outputs, input, target, var)
    if v.ndim == x.ndim - 1:
        v = unsqueeze(v, v.ndim)
    v = op("Max", v, eps)
    difference = x - t
    loss = (op("Log", v) + difference * difference / v) * 0.5
    return reduced(loss + 0.5 * math.log(2.0 * math.pi) if full else loss, reduction)


@builtin("soft_margin_loss")
def soft_margin_loss(input: Value, target: Value, reduction: str = "mean", meta_outputs: Any = None) -> Value:
    """``log(1 + exp(-target input))``."""
    x, t = _all(meta_outputs, input, target)
    return reduced(-log_sigmoid_of(x * t), reduction)


@builtin("hinge_embedding_loss")
def hinge_embedding_loss(
    input: Value, target: Value, margin: float = 1.0, reduction: str = "mean", meta_outputs: Any = None
) -> Value:
    """The input, or what it lacks of a margin."""
    x, t = _all(meta_outputs, input, target)
    return reduced(op("Where", t.eq(1.0), x, op("Relu", float(margin) - x)), reduction)


@builtin("margin_ranking_loss")
def margin_ranking_loss(
    input1: Value,
    input2: Value,
    target: Value,
    margin: float = 0.0,
    reduction: str = "mean",
    meta_outputs: Any = None,
) -> Value:
    """The part of a margin that a difference lacks."""
    a, b, t = _all(meta_outputs, input1, input2, target)
    return reduced(op("Relu", -t * (a - b) + float(margin)), reduction)


@builtin("cosine_embedding_loss")
def cosine_embedding_loss(
    input1: Value,
    input2: Value,
    target: Value,
    margin: float = 0.0,
    reduction: str = "mean",
    meta_outputs: Any = None,
) -> Value:
    """By the cosine of an angle."""
    a, b, t = _all(meta_outputs, input1, input2, target)
    c = cosine(a, b, -1, 1e-8)
    return reduced(op("Where", t.eq(1.0), 1.0 - c, op("Relu", c - float(margin))), reduction)


@builtin("triplet_margin_loss")
def triplet_margin_loss(
    anchor: Value,
    positive: Value,
    negative: Value,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
    meta_outputs: Any = None,
) -> Value:
    """By the distances from an anchor."""
    a, near, far = _all(meta_outputs, anchor, positive, negative)
    away = pair_distance(a, far, p, eps)
    if swap:
        away = op("Min", away, pair_distance(near, far, p, eps))
    return reduced(op("Relu", pair_distance(a, near, p, eps) - away + float(margin)), reduction)


def _picked(x: Value, numbers: Value, axis: int) -> Value:
    """Returns the element of each class number along an axis, which is removed."""
    return squeeze(op("GatherElements", x, unsqueeze(numbers, axis), axis=axis), axis)


def _nll(
    logp: Value,
    target: Value,
    weight: Value | None,
    ignore_index: int,
    reduction: str,
    axis: int,
    smoothing: float = 0.0,
) -> Value:
    """Returns the loss of log-probabilities and class numbers."""
    target = cast(target, lm.int64)
    counts = ~target.eq(ignore_index)
    safe = where(counts, target, 0)
    share = cast(counts, logp.dtype)
    if weight is not None:
        share = share * op("Gather", weight, safe, axis=0)
    loss = -_picked(logp, safe, axis) * share
    if smoothing:
        along = logp
        if weight is not None:
            along = logp * reshape(weight, [-1 if i == axis else 1 for i in range(logp.ndim)])
        spread = -reduce("ReduceSum", along, [axis]) * cast(counts, logp.dtype)
        loss = loss * (1.0 - smoothing) + spread * (smoothing / count(logp, [axis], logp.dtype))
    if reduction == "mean":
        return reduce("ReduceSum", loss, None) / reduce("ReduceSum", share, None)
    return reduced(loss, reduction)


def _class_axis(x: Value, axis: int | None) -> int:
    return axis_of(axis, x.ndim) if axis is not None else min(1, x.ndim - 1)


@builtin("nll_loss")
def nll_loss(
    input: Value,
    target: Value,
    weight: Value | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    axis: int | None = None,
    meta_outputs: Any = None,
) -> Value:
    """The loss of log-probabilities and class numbers."""
    x, w = _all(meta_outputs, input, weight)
    return _nll(x, target, w, ignore_index, reduction, _class_axis(x, axis))


@builtin("cross_entropy")
def cross_entropy(
    input: Value,
    target: Value,
    weight: Value | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    axis: int | None = None,
    meta_outputs: Any = None,
) -> Value:
    """The loss of logits, and class numbers or probabilities."""
    x, w = _all(meta_outputs, input, weight)
    axis = _class_axis(x, axis)
    logp = op("LogSoftmax", x, axis=axis)
    if not is_float(target):
        return _nll(logp, target, w, ignore_index, reduction, axis, label_smoothing)
    t = cast(target, x.dtype)
    if label_smoothing:
        t = t * (1.0 - label_smoothing) + label_smoothing / count(x, [axis], x.dtype)
    terms = logp * t
    if w is not None:
        terms = terms * reshape(w, [-1 if i == axis else 1 for i in range(x.ndim)])
    loss = -reduce("ReduceSum", terms, [axis])
    return reduced(loss, reduction)


@builtin("multi_margin_loss")
def multi_margin_loss(
    input: Value,
    target: Value,
    p: int = 1,
    margin: float = 1.0,
    weight: Value | None = None,
    reduction: str = "mean",
    meta_outputs: Any = None,
) -> Value:
    """The part of a margin that the target's element lacks above the others."""
    x, w = _all(meta_outputs, input, weight)
    numbers = cast(target, lm.int64)
    alone = x.ndim == 1
    if alone:
        x, numbers = unsqueeze(x, 0), reshape(numbers, [1])
    column = unsqueeze(numbers, 1)
    lacking = op("Relu", x - op("GatherElements", x, column, axis=1) + float(margin))
    lacking = lacking if p == 1 else lacking * lacking
    if w is not None:
        lacking = lacking * op("Gather", w, column, axis=0)
    others = ~column.eq(range_value(size(x, 1)))
    loss = reduce("ReduceSum", where(others, lacking, 0.0), [1]) / count(x, [1], x.dtype)
    return reduced(squeeze(loss, 0) if alone and reduction == "none" else loss, reduction)


@builtin("multilabel_margin_loss")
def multilabel_margin_loss(input: Value, target: Value, reduction: str = "mean", meta_outputs: Any = None) -> Value:
    """The part of a margin that the labels' elements lack above the others."""
    [x] = _all(meta_outputs, input)
    labels = cast(target, lm.int64)
    alone = x.ndim == 1
    if alone:
        x, labels = unsqueeze(x, 0), unsqueeze(labels, 0)
    # Labels count up to the first -1.
    valid = op("CumSum", cast(labels < 0, lm.int64), constant(1, lm.int64)).eq(0)
    safe = where(valid, labels, 0)
    hits = op("And", unsqueeze(safe, 2).eq(range_value(size(x, 1))), unsqueeze(valid, 2))
    is_label = any_of(hits, [1])
    own = unsqueeze(op("GatherElements", x, safe, axis=1), 2)
    lacking = op("Relu", unsqueeze(x, 1) - own + 1.0)
    counted = op("And", unsqueeze(valid, 2), ~unsqueeze(is_label, 1))
    loss = reduce("ReduceSum", where(counted, lacking, 0.0), [1, 2]) / count(x, [1], x.dtype)
    return reduced(squeeze(loss, 0) if alone and reduction == "none" else loss, reduction)


@builtin("ctc_loss")
def ctc_loss(
    log_probs: Value,
    targets: Value,
    input_lengths: Value,
    target_lengths: Value,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
    meta_outputs: Any = None,
) -> Value:
    """Over all alignments, step by step: the number of steps must be known."""
    [logits] = _all(meta_outputs, log_probs)
    alone = logits.ndim == 2
    logits = unsqueeze(logits, 1) if alone else logits
    logp = op("LogSoftmax", logits, axis=2)
    steps = logp.shape[0]
    labels = cast(targets, lm.int64)
    lengths_in, lengths = (reshape(cast(x, lm.int64), [-1]) for x in (input_lengths, target_lengths))
    labels = unsqueeze(labels, 0) if alone and labels.ndim == 1 else labels
    if labels.ndim != 2 or steps < 0 or labels.shape[1] < 0:
        raise NotImplementedError(
            "[ctc_loss] an exported model needs targets of shape [sequences, longest] and the steps"
        )
    longest = labels.shape[1]
    # The labels with blanks in front, between and behind.
    states = 2 * longest + 1
    position = np.arange(states)
    spread = op("Gather", labels, constant((position // 2).clip(max=max(longest - 1, 0))), axis=1) if longest else None
    odd = constant(position % 2 == 1)
    if spread is None:
        raise NotImplementedError("[ctc_loss] a target without labels")
    extended = op("Where", odd, spread, constant(blank, lm.int64))
    skip = op("And", odd, ~extended.eq(op("Pad", extended, [0, 2, 0, -2], constant(-1, lm.int64))))
    low = constant(-math.inf, logp.dtype)
    alpha = None
    final = None
    for t in range(steps):
        emitted = op("GatherElements", op("Gather", logp, constant(t, lm.int64), axis=0), extended, axis=1)
        if alpha is None:
            alpha = op("Where", constant(position < 2), emitted, low)
        else:
            before = op("Pad", alpha, [0, 1, 0, -1], low)
            skipped = op("Where", skip, op("Pad", alpha, [0, 2, 0, -2], low), low)
            alpha = _log_sum(_log_sum(alpha, before), skipped) + emitted
        done = unsqueeze(lengths_in.eq(t + 1), 1)
        final = alpha if final is None else op("Where", done, alpha, final)
    last = unsqueeze(lengths * 2, 1)
    end = op("GatherElements", final, last, axis=1)
    before_end = op("GatherElements", final, op("Max", last - 1, 0), axis=1)
    total = _log_sum(end, op("Where", last.eq(0), low, before_end))
    loss = -squeeze(total, 1)
    if zero_infinity:
        loss = where(isinf(loss), 0.0, loss)
    if reduction == "mean":
        return mean_of(loss / cast(op("Max", lengths, 1), loss.dtype), None)
    return reduced(squeeze(loss, 0) if alone and reduction == "none" else loss, reduction)


def _log_sum(a: Value, b: Value) -> Value:
    """Returns ``log(exp(a) + exp(b))``, also where both are minus infinity."""
    high = op("Max", a, b)
    none = high.eq(-math.inf)
    gap = where(none, 0.0, -abs(a - b))
    return op("Where", none, high, high + log1p(op("Exp", gap)))
