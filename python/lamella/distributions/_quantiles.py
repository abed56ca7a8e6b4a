"""The incomplete beta function, and quantiles where the distribution function has no inverse in closed form.

All computes in float64, and has gradients by every argument.
"""

from __future__ import annotations

from collections.abc import Callable

import lamella as lm

from .._C import Tensor
from ._implicit import lower_gamma

_TERMS = 400
_STEPS = 100
# Below this, in the logarithm or the log-odds of a quantile, numbers are 0 in float64.
_LOWEST = -745.0


def lower_beta(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """Returns the regularized incomplete beta function of a, b > 0 and x from 0 to 1."""
    a, b, x = lm.broadcast_arrays(a, b, x)
    inside = (x > 0) & (x < 1)
    at = lm.where(inside, x, 0.5)
    return lm.where(inside, _shares(a, b, at, 1 - at)[0], lm.where(x > 0, 1.0, 0.0))


def _shares(a: Tensor, b: Tensor, x: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the incomplete beta function of x within (0, 1), and 1 minus it; ``rest`` is 1 - x.

    By its continued fraction (DLMF 8.17.22), which converges fast up to ``x = (a + 1) / (a + b + 2)``; beyond it, by
    ``I(x; a, b) = 1 - I(1 - x; b, a)``. The smaller of the two results keeps its digits.
    """
    turned = x > (a + 1) / (a + b + 2)
    p, q, z, w = (lm.where(turned, *pair) for pair in ((b, a), (a, b), (rest, x), (x, rest)))
    log_front = p * lm.log(z) + q * lm.log(w) + lm.lgamma(p + q) - lm.lgamma(p) - lm.lgamma(q) - lm.log(p)
    near = lm.exp(log_front) * _fraction(p, q, z)
    return lm.where(turned, 1 - near, near), lm.where(turned, near, 1 - near)


def _fraction(p: Tensor, q: Tensor, z: Tensor) -> Tensor:
    """Returns the continued fraction by Lentz's algorithm, as Thompson and Barnett (1986) changed it."""

    def away(value: Tensor) -> Tensor:
        return lm.where(lm.abs(value) < 1e-300, 1e-300, value)

    below = 1 / away(1 - (p + q) * z / (p + 1))
    above, value = lm.ones_like(z), below
    for m in range(1, _TERMS):
        for term in (
            m * (q - m) * z / ((p + 2 * m - 1) * (p + 2 * m)),
            -(p + m) * (p + q + m) * z / ((p + 2 * m) * (p + 2 * m + 1)),
        ):
            below = 1 / away(1 + term * below)
            above = away(1 + term / above)
            change = above * below
            value = value * change
        if m % 4 == 0 and bool(lm.all(lm.abs(change.detach() - 1) < 1e-15)):
            break
    return value


def gamma_quantile(a: Tensor, chance: Tensor, above: Tensor | None = None) -> Tensor:
    """Returns the quantiles of the gamma distribution with concentration a and rate 1; ``above`` is 1 - chance."""
    a, chance, above = lm.broadcast_arrays(a, chance, 1 - chance if above is None else above)

    def log_slope(y: Tensor) -> Tensor:
        return a * y - lm.exp(y) - lm.lgamma(a)

    def excess(y: Tensor) -> Tensor:
        x = lm.exp(y)
        return lm.where(chance > 0.5, above - lm.gammaincc(a, x), lm.gammainc(a, x) - chance)

    with lm.no_grad():
        y = _solved(excess, log_slope, lm.log(a), 709.0)
        x, slope = lm.exp(y), lm.exp(log_slope(y) - y)
    x = _led(x, lower_gamma(a, x), chance, slope)
    return lm.where(chance <= 0, 0.0, lm.where(above <= 0, float("inf"), x))


def beta_quantile(a: Tensor, b: Tensor, chance: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the quantiles x of the beta distribution, and 1 - x, which keeps its digits where x is near 1."""
    a, b, chance = lm.broadcast_arrays(a, b, chance)

    def shares(y: Tensor) -> tuple[Tensor, Tensor]:
        return _shares(a, b, lm.sigmoid(y), lm.sigmoid(-y))

    def excess(y: Tensor) -> Tensor:
        below, above = shares(y)
        return lm.where(chance > 0.5, (1 - chance) - above, below - chance)

    def log_slope(y: Tensor) -> Tensor:
        norm = lm.lgamma(a) + lm.lgamma(b) - lm.lgamma(a + b)
        return a * lm.log_sigmoid(y) + b * lm.log_sigmoid(-y) - norm

    with lm.no_grad():
        y = _solved(excess, log_slope, lm.log(a) - lm.log(b), -_LOWEST)
        slope = lm.exp(log_slope(y))
    y = _led(y, shares(y)[0], chance, slope)
    inside = (chance > 0) & (chance < 1)
    one = lm.where(chance > 0, 1.0, 0.0)
    return lm.where(inside, lm.sigmoid(y), one), lm.where(inside, lm.sigmoid(-y), 1 - one)


def _solved(
    excess: Callable[[Tensor], Tensor], log_slope: Callable[[Tensor], Tensor], start: Tensor, highest: float
) -> Tensor:
    """Returns y with ``excess(y) = 0``: Newton's steps, and halves where one would leave the bracket."""
    low, high = lm.full_like(start, _LOWEST), lm.full_like(start, highest)
    y = lm.clip(start, _LOWEST, highest)
    for _ in range(_STEPS):
        above = excess(y)
        low, high = lm.where(above < 0, y, low), lm.where(above < 0, high, y)
        step = y - above / lm.exp(log_slope(y))
        step = lm.where((step > low) & (step < high), step, (low + high) / 2)
        moved = lm.abs(step - y)
        y = step
        if bool(lm.all(moved <= 1e-15 * lm.maximum(lm.abs(y), 1.0))):
            break
    return y


def _led(x: Tensor, below: Tensor, chance: Tensor, slope: Tensor) -> Tensor:
    """Returns a quantile with the gradients of ``below(x) = chance``, which is computed of an x without them."""
    rest = (chance - chance.detach()) - (below - below.detach())
    return x + rest / lm.where(slope > 0, slope, 1.0)
