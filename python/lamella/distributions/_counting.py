"""Draws of binomial distributions."""

from __future__ import annotations

import lamella as lm

from .._C import Generator, Tensor
from ._support import drawn

# Trials that are left to be tossed one by one.
_TOSSED = 16


def binomial(total_count: Tensor, probs: Tensor, generator: Generator | None) -> Tensor:
    """Returns how many of `total_count` trials succeed, each with a probability of `probs`.

    The i-th smallest of n uniform numbers has the distribution Beta(i, n + 1 - i). If it is at most p, then i numbers
    are, and the n - i above it remain to be counted; otherwise the i - 1 below it do (Relles, "A simple algorithm for
    generating binomial random variables when N is large", 1972). With i in the middle, each draw halves the trials of
    all elements.

    Args:
        total_count: Numbers of trials, integers in a floating dtype.
        probs: Probabilities, of total_count's shape and dtype.
        generator: What to draw from.
    """
    remaining, p = total_count.astype("float64"), probs.astype("float64")
    count = lm.zeros_like(remaining)
    most = int(lm.max(remaining).item()) if remaining.size else 0
    while most > _TOSSED:
        middle = lm.floor((remaining + 1) / 2)
        split = remaining > _TOSSED
        first = lm.gamma(None, lm.where(split, middle, 1.0), generator=generator)
        second = lm.gamma(None, lm.where(split, remaining + 1 - middle, 1.0), generator=generator)
        cut = first / (first + second)
        below = cut <= p
        success = split & below
        count = lm.where(success, count + middle, count)
        p = lm.where(split, lm.where(below, (p - cut) / (1 - cut), p / cut), p)
        p = lm.clip(p, 0.0, 1.0)
        remaining = lm.where(split, lm.where(below, remaining - middle, middle - 1), remaining)
        most = max(most // 2, _TOSSED)
    for trial in range(most):
        tossed = drawn(lm.rand, p, p.shape, generator) < p
        count = count + (tossed & (remaining > trial))
    return count.astype(total_count.dtype)
