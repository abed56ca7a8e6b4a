"""Draws of gamma distributions with gradients, and the incomplete gamma function with both of its derivatives.

A draw x of the gamma distribution F(x; a) moves with its concentration a so that F(x; a) stays where it is
(Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018)::

    dx/da = -(dF/da) / p(x),    p(x) = x ** (a - 1) * exp(-x) / gamma(a)

As dF/da is the integral of ``p(t) (log t - digamma(a))`` from 0 to x, and 0 from 0 to infinity, it is an integral to
the left of x or, negated, to the right of it. The integrand changes its sign at ``t = exp(digamma(a))`` only, so that
on one of the two sides nothing cancels. With ``t = x exp(r)`` that is::

    dx/da = x * integral of exp(a r - x expm1(r)) * (|r| + |log x - digamma(a)|) over r < 0, or over r > 0

of an entire function without a peak away from r = 0, for which a rule of Gauss and Legendre converges quickly. Below
a = 1 the left side decays slowly; F(x; a) = F(x; a + 1) + x ** a * exp(-x) / gamma(a + 1) (DLMF 8.8.5) leads to a + 1
there.
"""

from __future__ import annotations

import functools
from typing import Any

import lamella as lm

from .._C import Generator, Tensor
from ._support import Shape, drawn, expanded

# The number of nodes is also the depth: the integrand is cut off where its exponential is below exp(-depth). These many
# nodes and depths make the error a few units of float64 and of float32.
_NODES = 40
_NODES_OF_FLOAT32 = 20
# Up to this number of elements all nodes are evaluated at once.
_AT_ONCE = 1 << 12


@functools.cache
def _rule(count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Returns nodes and weights for integrals over [0, 1]."""
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(count)
    return tuple((nodes + 1) / 2), tuple(weights / 2)


def gamma_slope(concentration: Tensor, x: Tensor) -> Tensor:
    """Returns dx/da for a quantile x > 0 of the gamma distribution with concentration a and rate 1.

    It is computed in float64, to 12 digits, or to 7 where the concentration is shorter, and has derivatives itself.
    """
    count = _NODES if concentration.dtype == lm.float64 else _NODES_OF_FLOAT32
    a, x = concentration.astype("float64"), x.astype("float64")
    small = a < 1
    raised = lm.where(small, a + 1, a)
    log_x = lm.log(x)
    left = log_x < lm.digamma(raised)
    shape = lm.where(left, raised, a)
    center = lm.digamma(shape)
    with lm.no_grad():
        reach = lm.where(left, -_reach_left(shape, x, count), _reach_right(shape, x, count))
    mean = lm.abs(reach) * _integral(shape, x, reach, lm.abs(log_x - center), count)
    # Where the concentration was raised, what the recurrence adds has the sign of the integral.
    mean = lm.where(left & small, (mean * x + center - log_x) / a, mean)
    return (x * mean).astype(concentration.dtype)


def _reach_left(a: Tensor, x: Tensor, depth: int) -> Tensor:
    """Returns an r with (a - x) r + x (r + expm1(-r)) >= depth, by r + expm1(-r) >= r ** 2 / (2 + r)."""
    slope = 2 * (a - x) - depth
    return 4 * depth / (slope + lm.sqrt(slope * slope + 8 * depth * a))


def _reach_right(a: Tensor, x: Tensor, depth: int) -> Tensor:
    """Returns an r with (x - a) r + x (expm1(r) - r) >= depth, by expm1(r) - r >= r ** 2 / 2."""
    slope = x - a
    reach = 2 * depth / (slope + lm.sqrt(slope * slope + 2 * depth * x))
    # Newton's steps from above towards the root of a convex function stay above it.
    for _ in range(3):
        excess = x * lm.expm1(reach) - a * reach - depth
        reach = reach - excess / (x * lm.exp(reach) - a)
    return reach


def _integral(a: Tensor, x: Tensor, reach: Tensor, offset: Tensor, count: int) -> Tensor:
    """Returns the mean of the integrand between 0 and `reach`."""
    nodes, weights = _rule(count)

    def at(node: Tensor | float) -> Tensor:
        r = reach * node
        return lm.exp(a * r - x * lm.expm1(r)) * (lm.abs(r) + offset)

    if reach.size <= _AT_ONCE:
        column = [len(nodes)] + [1] * reach.ndim
        device = str(reach.device)
        values = at(lm.asarray(nodes, dtype="float64", device=device).reshape(column))
        return lm.sum(values * lm.asarray(weights, dtype="float64", device=device).reshape(column), axis=0)
    total = at(nodes[0]) * weights[0]
    for node, weight in zip(nodes[1:], weights[1:], strict=True):
        total = total + at(node) * weight
    return total


class _StandardGamma(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, concentration: Tensor, generator: Generator | None) -> Tensor:
        drawn = lm.gamma(None, concentration, generator=generator)
        # Small concentrations give numbers below the dtype's smallest, where log_prob is infinite.
        drawn = lm.maximum(drawn, lm.finfo(drawn.dtype).smallest_normal)
        ctx.save_for_backward(concentration, drawn)
        return drawn

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        concentration, drawn = ctx.saved_tensor()
        return gradient * gamma_slope(concentration, drawn), None


def standard_gamma(concentration: Tensor, shape: Shape, generator: Generator | None) -> Tensor:
    """Returns draws of the gamma distribution with rate 1, with a gradient by the concentration.

    Args:
        concentration: Above 0, of a shape that broadcasts to `shape`.
        shape: The shape of the result.
        generator: What to draw from.
    """
    result: Tensor = _StandardGamma.apply(expanded(concentration, shape), generator)
    return result


def log_standard_gamma(concentration: Tensor, shape: Shape, generator: Generator | None) -> Tensor:
    """Returns logarithms of draws of :func:`standard_gamma`, finite for the smallest concentrations as well.

    A draw with concentration a is one with a + 1 times ``u ** (1 / a)`` for a uniform u (Stuart, "Gamma-distributed
    products of independent random variables", 1962).
    """
    small = concentration < 1
    logs = lm.log(standard_gamma(lm.where(small, concentration + 1, concentration), shape, generator))
    waits = drawn(lm.exponential, concentration, shape, generator)
    return lm.where(small, logs - waits / concentration, logs)


class _LowerGamma(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, a: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(a, x)
        return lm.gammainc(a, x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor]:
        a, x = ctx.saved_tensor()
        by_x = gradient * lm.exp(lm.xlogy(a - 1, x) - x - lm.lgamma(a))
        if not ctx.needs_input_grad[0]:
            return None, by_x
        inside = x > 0
        slope = gamma_slope(a, lm.where(inside, x, 1.0))
        return lm.where(inside, -by_x * slope, 0.0), by_x


def lower_gamma(a: Tensor, x: Tensor) -> Tensor:
    """Returns the regularized lower incomplete gamma function of a > 0 and x >= 0, with gradients by both."""
    a, x = lm.broadcast_arrays(a, x)
    result: Tensor = _LowerGamma.apply(a, x)
    return result
