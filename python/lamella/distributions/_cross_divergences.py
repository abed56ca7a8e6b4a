"""Divergences of distributions of different classes: minus the entropy of p, less the mean of log q under p.

The logarithm of q's density is a sum of a few functions of x, such as x, log x or exp(-x); with their means under p,
each q has one formula for all p.
"""

from __future__ import annotations

import functools
import math

import lamella as lm

from .._C import Tensor
from ._deviance import digamma_rest, log_beta
from ._support import EULER, HALF_LOG_2PI
from .bernoulli import Bernoulli, ContinuousBernoulli
from .beta import Beta
from .counts import Binomial, Poisson
from .distribution import Distribution
from .gamma import Exponential, Gamma
from .heavy_tails import Pareto, Weibull
from .kl import both_in_double, infinite, register_kl
from .location_scale import Gumbel, Laplace, Uniform
from .normal import HalfNormal, LogNormal, Normal


@functools.singledispatch
def _mean_log(p: Distribution) -> Tensor:
    """Returns the mean of log x."""
    raise NotImplementedError(f"[kl_divergence] the mean of a logarithm under {type(p).__name__} has no closed form")


@_mean_log.register
def _(p: Beta) -> Tensor:
    a, total = p.concentration1, p.concentration1 + p.concentration0
    return digamma_rest(a) - digamma_rest(total) - lm.log1p(p.concentration0 / a)


@_mean_log.register
def _(p: Exponential) -> Tensor:
    return -EULER - lm.log(p.rate)


@_mean_log.register
def _(p: HalfNormal) -> Tensor:
    return lm.log(p.scale) - 0.5 * (EULER + math.log(2))


@_mean_log.register
def _(p: LogNormal) -> Tensor:
    return p.loc


@_mean_log.register
def _(p: Pareto) -> Tensor:
    return lm.log(p.scale) + 1 / p.alpha


@_mean_log.register
def _(p: Uniform) -> Tensor:
    return _uniform_mean_log(p.low, p.high)


@_mean_log.register
def _(p: Weibull) -> Tensor:
    return lm.log(p.scale) - EULER / p.concentration


def _uniform_mean_log(low: Tensor, high: Tensor) -> Tensor:
    return (lm.xlogy(high, high) - lm.xlogy(low, low)) / (high - low) - 1


@functools.singledispatch
def _mean_decay(p: Distribution, rate: Tensor) -> Tensor:
    """Returns the mean of exp(-rate x)."""
    raise NotImplementedError(f"[kl_divergence] the mean of exp(-x) under {type(p).__name__} has no closed form")


@_mean_decay.register
def _(p: Exponential, rate: Tensor) -> Tensor:
    return p.rate / (p.rate + rate)


@_mean_decay.register
def _(p: Gamma, rate: Tensor) -> Tensor:
    return lm.exp(-p.concentration * lm.log1p(rate / p.rate))


@_mean_decay.register
def _(p: Normal, rate: Tensor) -> Tensor:
    return lm.exp(0.5 * lm.square(p.scale * rate) - p.loc * rate)


@_mean_decay.register
def _(p: Uniform, rate: Tensor) -> Tensor:
    width = rate * (p.high - p.low)
    return lm.exp(-p.low * rate) * -lm.expm1(-width) / width


def _within(p: Distribution, low: Tensor | float, high: Tensor | float, result: Tensor) -> Tensor:
    """Returns infinity where a uniform distribution p reaches beyond the support of q, else the result."""
    if not isinstance(p, Uniform):
        return result
    return lm.where((p.low < low) | (p.high > high), math.inf, result)


_UNIT: tuple[type[Distribution], ...] = (Beta, ContinuousBernoulli)
_POSITIVE: tuple[type[Distribution], ...] = (Exponential, Gamma, HalfNormal, LogNormal, Weibull)
_REAL: tuple[type[Distribution], ...] = (Gumbel, Laplace, Normal)


@both_in_double
def _to_normal(p: Distribution, q: Normal) -> Tensor:
    square = p.variance + lm.square(p.mean - q.loc)
    return lm.log(q.scale) + HALF_LOG_2PI + 0.5 * square / lm.square(q.scale) - p.entropy()


@both_in_double
def _to_exponential(p: Distribution, q: Exponential) -> Tensor:
    return _within(p, 0.0, math.inf, q.rate * p.mean - lm.log(q.rate) - p.entropy())


@both_in_double
def _to_gamma(p: Distribution, q: Gamma) -> Tensor:
    a = q.concentration
    # A uniform distribution that reaches below 0 has no mean logarithm, and an infinite divergence.
    known = Uniform(lm.clip(p.low, 0.0), lm.clip(p.high, 1e-30), validate_args=False) if isinstance(p, Uniform) else p
    powers = a * lm.log(q.rate) - lm.lgamma(a) + (a - 1) * _mean_log(known)
    return _within(p, 0.0, math.inf, q.rate * p.mean - powers - p.entropy())


@both_in_double
def _to_gumbel(p: Distribution, q: Gumbel) -> Tensor:
    rate = 1 / q.scale
    decay = lm.exp(q.loc * rate) * _mean_decay(p, rate)
    return lm.log(q.scale) + (p.mean - q.loc) * rate + decay - p.entropy()


@both_in_double
def _to_continuous_bernoulli(p: Distribution, q: ContinuousBernoulli) -> Tensor:
    return _within(p, 0.0, 1.0, q._log_spread() - q.logits * (p.mean - 0.5) - p.entropy())


@both_in_double
def _to_uniform(p: Distribution, q: Uniform) -> Tensor:
    result = lm.log(q.high - q.low) - p.entropy()
    return lm.where((q.low > 0) | (q.high < 1), math.inf, result)


_p: type[Distribution]
_q: type[Distribution]
for _p in (*_UNIT, *_POSITIVE, Pareto, Uniform, Gumbel, Laplace):
    register_kl(_p, Normal)(_to_normal)
for _p in (*_UNIT, Gamma, HalfNormal, LogNormal, Weibull, Pareto, Uniform):
    register_kl(_p, Exponential)(_to_exponential)
for _p in (Beta, Exponential, HalfNormal, LogNormal, Weibull, Pareto, Uniform):
    register_kl(_p, Gamma)(_to_gamma)
for _p in (Exponential, Gamma, Normal, Uniform):
    register_kl(_p, Gumbel)(_to_gumbel)
for _p in (Beta, Uniform):
    register_kl(_p, ContinuousBernoulli)(_to_continuous_bernoulli)
for _p in _UNIT:
    register_kl(_p, Uniform)(_to_uniform)
    register_kl(_p, Pareto)(infinite)
for _p in (*_POSITIVE, Pareto, *_REAL):
    for _q in (*_UNIT, Uniform):
        register_kl(_p, _q)(infinite)
for _p in (*_POSITIVE, *_REAL):
    register_kl(_p, Pareto)(infinite)
for _p in _REAL:
    register_kl(_p, Exponential)(infinite)
    register_kl(_p, Gamma)(infinite)
for _q in (Bernoulli, Binomial):
    register_kl(Poisson, _q)(infinite)


@register_kl(Bernoulli, Poisson)
@both_in_double
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return q.rate - lm.xlogy(p.probs, q.rate) - p.entropy()


@register_kl(Normal, Laplace)
@both_in_double
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    """With the mean of a folded normal distribution (Leone, Nelson and Nottingham, 1961)."""
    shift = p.loc - q.loc
    z = shift / p.scale
    distance = p.scale * math.sqrt(2 / math.pi) * lm.exp(-0.5 * lm.square(z)) + shift * lm.erf(z / math.sqrt(2))
    return lm.log(2 * q.scale) + distance / q.scale - p.entropy()


@register_kl(Uniform, Beta)
@both_in_double
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    low, high = lm.clip(p.low, 0.0, 1.0), lm.clip(p.high, 0.0, 1.0)
    powers = (q.concentration1 - 1) * _uniform_mean_log(low, high)
    powers = powers + (q.concentration0 - 1) * _uniform_mean_log(1 - high, 1 - low)
    return _within(p, 0.0, 1.0, log_beta(q.concentration1, q.concentration0) - powers - p.entropy())


@register_kl(Uniform, Pareto)
@both_in_double
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    low = lm.maximum(p.low, 0.0)
    powers = lm.log(q.alpha) + q.alpha * lm.log(q.scale) - (q.alpha + 1) * _uniform_mean_log(low, p.high)
    return _within(p, q.scale, math.inf, -powers - p.entropy())
