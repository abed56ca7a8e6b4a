"""Losses of static programs that compare a class with a few drawn ones."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm
from lamella.nn import init

from ._layers import _Made


def _drawn(like: Any, classes: int, sampler: str, shares: Any) -> Any:
    """Returns classes drawn apart from each other, in the shape of ``like``."""
    numbers = lm.rand_like(like)
    if sampler == "custom_dist":
        ends = lm.cumsum(lm.tensor(shares, dtype=lm.float32), axis=0)
        places = lm.searchsorted(ends / ends[-1], numbers, side="right")
    elif sampler == "log_uniform":
        places = lm.floor(lm.exp(numbers * math.log(classes))).astype(lm.int64) - 1
    else:
        places = lm.floor(numbers * classes).astype(lm.int64)
    return lm.clip(places.astype(lm.int64), 0, classes - 1)


def _probability(drawn: Any, classes: int, sampler: str, shares: Any) -> Any:
    """Returns how probable a sampler's classes are."""
    if sampler == "custom_dist":
        return lm.take(lm.tensor(shares, dtype=lm.float32), drawn, axis=0)
    if sampler == "log_uniform":
        first = (drawn + 1).astype(lm.float32)
        return lm.log((first + 1) / first) / math.log(classes)
    return lm.full_like(drawn, 1.0 / classes, dtype=lm.float32)


def nce(
    input: Any,
    label: Any,
    num_total_classes: int,
    sample_weight: Any = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    num_neg_samples: int | None = None,
    name: str | None = None,
    sampler: str = "uniform",
    custom_dist: Any = None,
    seed: int = 0,
    is_sparse: bool = False,
) -> Any:
    """Noise-contrastive estimation: tells the classes of examples from drawn ones, by a new weight for each class.

    Gutmann and Hyvärinen 2010, "Noise-contrastive estimation: a new estimation principle for unnormalized statistical
    models". The classes of an example are drawn anew in each run.

    Args:
        input: ``(n, size)``.
        label: the classes of each example, ``(n, classes of an example)``.
        num_total_classes: how many classes there are.
        sample_weight: ``(n, 1)``, a factor of each example's loss.
        param_attr: attributes of the weights.
        bias_attr: attributes of the biases, which are not there where it is False.
        num_neg_samples: how many classes are drawn for each example; 10 by default.
        name: what the names of the parameters begin with.
        sampler: "uniform", "log_uniform" (small numbers more often), or "custom_dist".
        custom_dist: the probability of each class, for "custom_dist".
        seed: not used: :func:`paddle.seed` is.
        is_sparse: not used.

    Returns:
        The loss of each example, ``(n, 1)``, divided by one more than the number of drawn classes.

    Raises:
        ValueError: the sampler is none of these, or probabilities lack.
    """
    if sampler not in ("uniform", "log_uniform", "custom_dist"):
        raise ValueError(f"[nce] sampler is 'uniform', 'log_uniform' or 'custom_dist', not {sampler!r}")
    if sampler == "custom_dist" and (custom_dist is None or len(custom_dist) != num_total_classes):
        raise ValueError(f"[nce] custom_dist is {num_total_classes} probabilities, one for each class")
    count = 10 if num_neg_samples is None else int(num_neg_samples)
    made, size = _Made("nce", name), input.shape[1]
    weight = made("w_0", (num_total_classes, size), input.dtype, param_attr, init.xavier_uniform_)
    bias = made("b_0", (num_total_classes, 1), input.dtype, bias_attr, init.zeros_)
    shares = None if custom_dist is None else [float(each) for each in custom_dist]
    noise = _drawn(input[:, :1] * lm.zeros((1, count), dtype=input.dtype), num_total_classes, sampler, shares)
    places = lm.concat([label.astype(lm.int64), noise], axis=1)
    scores = lm.sum(lm.take(weight, places, axis=0) * lm.expand_dims(input, 1), axis=2)
    if bias is not None:
        scores = scores + lm.squeeze(lm.take(bias, places, axis=0), 2)
    chance = count * _probability(places, num_total_classes, sampler, shares).astype(input.dtype)
    said, true = lm.sigmoid(scores), label.shape[1]
    total = said + chance
    losses = lm.concat([-lm.log(said / total)[:, :true], -lm.log(chance / total)[:, true:]], axis=1)
    loss = lm.sum(losses, axis=1, keepdims=True) / (count + 1)
    return loss if sample_weight is None else loss * sample_weight
