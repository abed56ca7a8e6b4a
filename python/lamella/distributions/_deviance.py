"""Terms that densities of counts, of gamma and of beta distributions are made of, without their large logarithms.

The logarithm of a Poisson probability, ``x log m - m - log x!``, is a difference of numbers as large as ``x log x``, of
which no digit is left for large x. Loader ("Fast and accurate computation of binomial probabilities", 2000) writes it
as ``-D(x, m) - S(x)`` with two terms that are as small as the result::

    D(x, m) = x log(x / m) + m - x        the deviance, 0 where x is m
    S(x) = log x! - x log x + x           by Stirling's series log(2 pi x) / 2 + 1 / (12 x) - ...

Binomial, gamma and beta densities are sums of such terms, as all of them are products of ``m ** x exp(-m) / x!``.

D depends on ``d = m - x`` far more than on x and m: near the mode of a density d is some thousand million times
smaller than either. Callers pass d beside them, of an exact product where m is one (:func:`exact_difference`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import lamella as lm

from .._C import Tensor
from ._support import HALF_LOG_2PI

#: From here on S and the digamma function are series that are exact to rounding.
LARGE = 10.0
# B_2k / (2k (2k - 1)) of the Bernoulli numbers, the coefficients of Stirling's series (DLMF 5.11.1).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# B_2k / 2k, the coefficients of the series of the digamma function (DLMF 5.11.2).
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
# 2 ** 27 + 1, by which a float64 is split into two halves of its digits.
_SPLITTER = 134217729.0
# Number of elements of a block, for each thread.
_BLOCK = 8192


def _polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    *lower, c, highest = coefficients
    result = x * highest + c
    for c in reversed(lower):
        result = lm.addcmul(c, result, x)
    return result


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    high = x * _SPLITTER
    high -= high - x
    return high, x - high


def _one_kind(mask: Tensor) -> bool | None:
    """Returns the value that all elements of a mask have, None where they differ or cannot be read.

    Most calls need one of two formulas, and elements on the CPU cost less to read than the other formula to compute.
    """
    if mask.device != "cpu":
        return None
    try:
        if lm.all(mask):
            return True
        return None if lm.any(mask) else False
    except RuntimeError:  # within vmap, or while a program is recorded
        return None


def exact_difference(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Returns ``a b - c`` of float64, where the product is not rounded (Dekker, "A floating-point technique", 1971)."""
    product = a * b
    with lm.no_grad():
        (a1, a2), (b1, b2) = _halves(a.detach()), _halves(b.detach())
        error = lm.addcmul(product.detach(), a1, b1, value=-1)
        for x, y in (a1, b2), (a2, b1), (a2, b2):
            error = lm.addcmul(error, x, y, value=-1)
        # Halves of numbers above 1e300 overflow.
        error = lm.where(lm.isfinite(error), error, 0.0)
    return (product - c) - error


def _series(x: Tensor) -> Tensor:
    """Returns S of large numbers."""
    inverse = 1 / x
    return lm.addcmul(HALF_LOG_2PI, _polynomial(_STIRLING, inverse * inverse), inverse) + 0.5 * lm.log(x)


def stirling(x: Tensor) -> Tensor:
    """Returns ``S(x) = lgamma(x + 1) - x log x + x`` of x >= 0, of which 0 has 0."""
    large = x >= LARGE
    kind = _one_kind(large)
    if kind:
        return _series(x)
    few = x if kind is False else lm.where(large, 1.0, x)
    direct = (lm.lgamma(few + 1) - lm.xlogy(few, few)) + few
    return direct if kind is False else lm.where(large, _series(lm.where(large, x, LARGE)), direct)


def digamma_rest(x: Tensor, up: int = 0) -> Tensor:
    """Returns ``digamma(x + up) - log x`` of x > 0, for up = 0 or 1."""
    large = x >= LARGE
    few = lm.where(large, 1.0, x)
    inverse = 1 / lm.where(large, x, LARGE)
    w = inverse * inverse
    series = (up - 0.5) * inverse - w * _polynomial(_DIGAMMA, w)
    return lm.where(large, series, lm.digamma(few + up if up else few) - lm.log(few))


def _deviance(x: Tensor, d: Tensor, total: Tensor, log_ratio: Tensor) -> Tensor:
    """Returns the deviance, given ``total = x + m`` and ``log(m / x)``.

    With t = log(m / x) / 2, d is total times tanh(t), and D = d tanh(t) - 2 x (t - tanh(t)). Near t = 0 the second term
    is as small as t ** 3, and rounding errors of t as small as t ** 2 in it, so that nothing cancels. Far from it the
    formula by which D is defined does as well, and its derivatives cancel less.
    """
    share = d / total
    near = lm.addcmul(d * share, x, lm.tanhshrink(0.5 * log_ratio), value=-2)
    return lm.where(lm.abs(share) < 0.5, near, lm.addcmul(d, x, log_ratio, value=-1))


def deviance(x: Tensor, m: Tensor, d: Tensor) -> Tensor:
    """Returns ``D(x, m) = x log(x / m) + m - x`` of x, m >= 0, given ``d = m - x``."""
    some = x > 0
    ratio = lm.where(some, m, 1.0) / lm.where(some, x, 1.0)
    limits = lm.finfo(ratio.dtype)
    return _deviance(x, d, (x + m) + limits.smallest_normal, lm.log(lm.clip(ratio, max=limits.max)))


def deviance_of_logits(x: Tensor, y: Tensor, d: Tensor) -> Tensor:
    """Returns the deviance of the sigmoids of x and of y, given d, the difference of the latter and the former."""
    chance = lm.sigmoid(x)
    total = chance + lm.sigmoid(y) + lm.finfo(d.dtype).smallest_normal
    return _deviance(chance, d, total, lm.log_sigmoid(y) - lm.log_sigmoid(x))


def log_many(x: Tensor, m: Tensor, d: Tensor) -> Tensor:
    """Returns ``x log m - m - lgamma(x + 1)`` of x from LARGE on and m >= 0, given ``d = m - x``."""
    return -(_deviance(x, d, x + m, lm.log(m / x)) + _series(x))


def log_many_powers(a: Tensor, m: Tensor, excess: Callable[[Tensor], Tensor]) -> Tensor:
    """Returns ``(a - 1) log m - m - lgamma(a)`` of a from LARGE + 1 on; see :func:`log_power`."""
    x = a - 1
    d = excess(x)
    # Rounding of a - 1, up to 1 from 2 ** 53 on, times the slope log(m / x). Near x that is 2 d / (x + m); farther
    # away the deviance is so much larger that the slope does not count.
    lost = 1 - (a - x)
    return log_many(x, m, d) - 2 * lost * (d / (x + m))


def log_power(a: Tensor, m: Tensor, excess: Callable[[Tensor], Tensor]) -> Tensor:
    """Returns ``(a - 1) log m - m - lgamma(a)``, but for a factor the logarithm of a gamma density of m.

    Args:
        a: Above 0.
        m: At least 0.
        excess: Takes the rounded number ``x = a - 1`` and returns ``m - x``, which small x do not need.
    """
    small = a < LARGE + 1
    kind = _one_kind(small)
    if kind is False:
        return log_many_powers(a, m, excess)
    few = a if kind else lm.where(small, a, 1.0)
    direct = lm.xlogy(few - 1, m) - m - lm.lgamma(few)
    if kind:
        return direct
    many, mean = lm.where(small, LARGE + 1, a), lm.where(small, LARGE, m)
    return lm.where(small, direct, log_many_powers(many, mean, lambda _: excess(a - 1)))


def log_poisson(x: Tensor, m: Tensor, excess: Callable[[], Tensor]) -> Tensor:
    """Returns ``x log m - m - lgamma(x + 1)`` of x, m >= 0, the logarithm of the probability of a count.

    Args:
        x: At least 0.
        m: At least 0.
        excess: Returns ``m - x``, which small x do not need.
    """
    small = x < LARGE
    kind = _one_kind(small)
    if kind is False:
        return log_many(x, m, excess())
    few = x if kind else lm.where(small, x, 0.0)
    direct = lm.xlogy(few, m) - m - lm.lgamma(few + 1)
    if kind:
        return direct
    return lm.where(small, direct, log_many(lm.where(small, LARGE, x), lm.where(small, LARGE, m), excess()))


def in_blocks(function: Callable[..., Tensor], *operands: Tensor) -> Tensor:
    """Returns an elementwise function of operands, of blocks that stay in the cache where there are many elements.

    A hundred operators, each of which writes a new tensor, take several times as long where none of these fits.
    """
    block = _BLOCK * lm.get_num_threads()
    try:
        shape = lm.broadcast_shapes(*(x.shape for x in operands))
        size = math.prod(shape)
        few = size <= 2 * block
    except (RuntimeError, ValueError):  # of a program that decides on sizes when it runs
        few = True
    if few or operands[0].device != "cpu":
        return function(*operands)
    sizes = [min(block, size - begin) for begin in range(0, size, block)]
    parts = [lm.split(lm.reshape(lm.broadcast_to(x, shape), (size,)), sizes) for x in operands]
    return lm.reshape(lm.concat([function(*part) for part in zip(*parts, strict=True)], axis=0), shape)


def by_size(
    small: Tensor,
    direct: Callable[..., Tensor],
    by_terms: Callable[..., Tensor],
    *operands: tuple[Tensor, float],
    axes: int = 0,
) -> Tensor:
    """Returns `direct` of the operands where they are small, `by_terms` of the others.

    Args:
        small: Says which of two formulas serves.
        direct: A formula in closed form, whose logarithms are small for small operands. It also serves where the result
            is infinite, as slopes are then those of its logarithms.
        by_terms: That of large operands.
        operands: Each with a number that either formula is fine with, which stands in where the other one serves.
        axes: Number of axes of an event, which operands have behind those of the result.
    """
    kind = _one_kind(small)
    if kind is not None:
        tensors = [x for x, _ in operands]
        return direct(*tensors) if kind else by_terms(*tensors) if axes else in_blocks(by_terms, *tensors)
    if not axes:
        numbers = [number for _, number in operands]

        def either(small: Tensor, *tensors: Tensor) -> Tensor:
            few = direct(*map(lm.where, [small] * len(tensors), tensors, numbers))
            return lm.where(small, few, by_terms(*map(lm.where, [small] * len(tensors), numbers, tensors)))

        return in_blocks(either, small, *(x for x, _ in operands))
    mask = lm.reshape(small, (*small.shape, *[1] * axes))
    few = direct(*(lm.where(mask, x, number) for x, number in operands))
    return lm.where(small, few, by_terms(*(lm.where(mask, number, x) for x, number in operands)))


def sum_of(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Returns ``M = a + b`` rounded, and ``S(M) + D(a + b, M)``, which an exact sum would make ``S(a + b)``.

    Densities scale by M; near the sum the deviance is half the square of what rounding took off, over M.
    """
    total = a + b
    with lm.no_grad():
        # The error of a sum (Knuth).
        given = total - a
        lost = (a - (total - given)) + (b - given)
    lost = lost.detach()
    return total, stirling(total) + 0.5 * lost * (lost / total)


def log_beta(a: Tensor, b: Tensor) -> Tensor:
    """Returns the logarithm of the beta function of a, b > 0."""
    powers = a * lm.log1p(b / a) + b * lm.log1p(a / b)
    return (stirling(a) + stirling(b) - stirling(a + b)) - powers + lm.log(1 / a + 1 / b)


def log_beta_of_vectors(a: Tensor) -> Tensor:
    """Returns the logarithm of the beta function of vectors a > 0 along the last axis."""
    total = lm.sum(a, axis=-1, keepdims=True)
    share = a / total
    terms = lm.sum(stirling(a) + lm.xlogy(a, share) - lm.log(a), axis=-1)
    total = lm.squeeze(total, axis=-1)
    return terms - stirling(total) + lm.log(total)


def shape_divergence(a: Tensor, b: Tensor) -> Tensor:
    """Returns ``S(b) - S(a) + log(a / b) + (a - b) (digamma(a) - log a)``.

    Together with a deviance it is the divergence of two gamma distributions; sums of it, that of Dirichlet ones.
    """
    return stirling(b) - stirling(a) + lm.log(a / b) + (a - b) * digamma_rest(a)
