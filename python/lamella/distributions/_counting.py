"""Draws of binomial and multinomial distributions."""

from __future__ import annotations

import lamella as lm

from .._C import Generator, Tensor
from ._support import drawn, expanded, open_uniform

# The smallest mean for which draws by rejection are accepted often enough.
_REJECTED_FROM = 10.0


def binomial(total_count: Tensor, probs: Tensor, generator: Generator | None) -> Tensor:
    """Returns how many of `total_count` trials succeed, each with a probability of `probs`.

    Where less than 10 are expected the distribution function is inverted, above that draws are rejected (Hörmann, "The
    generation of binomial random variates", 1993); the cost does not grow with the number of trials.

    Args:
        total_count: Numbers of trials, integers in a floating dtype.
        probs: Probabilities, of total_count's shape and dtype.
        generator: What to draw from.
    """
    n, p = total_count.astype("float64"), probs.astype("float64")
    # Both methods count the rarer outcome.
    turned = p > 0.5
    rarer = lm.where(turned, 1 - p, p)
    wide = n * rarer >= _REJECTED_FROM
    count = lm.zeros_like(n)
    if lm.any(~wide):
        count = _inverted(n, lm.where(wide, 0.0, rarer), generator)
    if lm.any(wide):
        # Where the other method serves, numbers that suit this one stand in.
        accepted = _accepted(lm.where(wide, n, 40.0), lm.where(wide, rarer, 0.5), wide, generator)
        count = lm.where(wide, accepted, count)
    return lm.where(turned, n - count, count).astype(total_count.dtype)


def _inverted(n: Tensor, p: Tensor, generator: Generator | None) -> Tensor:
    """Returns the counts at which the sums of the probabilities exceed uniform numbers, for means that are small."""
    uniform = drawn(lm.rand, n, n.shape, generator)
    odds = p / (1 - p)
    count = lm.zeros_like(n)
    term = lm.exp(n * lm.log1p(-p))
    total = term
    # By rounding, the sum may never reach the number: negligible terms end the search.
    while lm.any(beyond := (uniform >= total) & (term > 2.0**-60)):
        term = lm.where(beyond, term * odds * (n - count) / (count + 1), term)
        total = lm.where(beyond, total + term, total)
        count = count + beyond
    return count


def _log_ratio(m: Tensor, more: Tensor) -> Tensor:
    """Returns the logarithm of ``m! / (m + more)!``, for large numbers as Stirling's series of both has it.

    The difference of their logarithms would be off by the rounding of these: by 4 at 1e15, where that of two likely
    counts is 1e9.
    """
    k = m + more
    stirling = more - more * lm.log(m + 1) - (k + 0.5) * lm.log1p(more / (m + 1)) + (1 / (m + 1) - 1 / (k + 1)) / 12
    return lm.where(lm.minimum(m, k) > 1e4, stirling, lm.lgamma(m + 1) - lm.lgamma(k + 1))


def _accepted(n: Tensor, p: Tensor, pending: Tensor, generator: Generator | None) -> Tensor:
    """Returns counts by algorithm BTRS of the source, transformed rejection with a squeeze, where `pending` is True."""
    deviation = lm.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    middle = n * p + 0.5
    inner = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation
    log_odds = lm.log(p) - lm.log1p(-p)
    mode = lm.floor((n + 1) * p)
    result = lm.zeros_like(n)
    while lm.any(pending):
        u = drawn(lm.rand, n, n.shape, generator) - 0.5
        v = open_uniform(n, n.shape, generator)
        side = lm.clip(0.5 - lm.abs(u), lm.finfo(n.dtype).smallest_normal)
        k = lm.floor((2 * a / side + b) * u + middle)
        inside = (k >= 0) & (k <= n)
        squeezed = (side >= 0.07) & (v <= inner)
        k = lm.clip(k, 0.0, n)
        height = lm.log(v * alpha / (a / (side * side) + b))
        density = _log_ratio(mode, k - mode) + _log_ratio(n - mode, mode - k) + (k - mode) * log_odds
        taken = pending & inside & (squeezed | (height <= density))
        result = lm.where(taken, k, result)
        pending = pending & ~taken
    return result


def multinomial(total_count: int, probs: Tensor, shape: tuple[int, ...], generator: Generator | None) -> Tensor:
    """Returns how often each class comes in `total_count` draws: class by class, of the draws that are left.

    Args:
        total_count: The number of draws.
        probs: Probabilities along the last axis, which sum to 1.
        shape: The shape of the result.
        generator: What to draw from.
    """
    p = probs.astype("float64")
    # What is left to each class and those behind it, summed from the end, where it is small.
    tails = lm.flip(lm.cumulative_sum(lm.flip(p, axis=-1), axis=-1), axis=-1)
    shares = lm.clip(lm.where(tails > 0, p / lm.where(tails > 0, tails, 1.0), 0.0), 0.0, 1.0)
    left = lm.full(shape[:-1], total_count, dtype="float64", device=str(p.device))
    counts = []
    for share in lm.unstack(shares, axis=-1)[:-1]:
        counts.append(binomial(left, expanded(share, shape[:-1]), generator))
        left = left - counts[-1]
    return lm.stack([*counts, left], axis=-1).astype(probs.dtype)
