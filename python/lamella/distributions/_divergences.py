"""Divergences of two distributions of one class, in closed form."""

from __future__ import annotations

import math

import lamella as lm

from .._C import Tensor
from ._deviance import deviance, deviance_of_logits, exact_difference, shape_divergence
from ._support import EULER, ProbsOrLogits, on_diagonal
from .bernoulli import Bernoulli, ContinuousBernoulli
from .beta import Beta, Dirichlet, Kumaraswamy
from .categorical import Categorical, OneHotCategorical, _Classes
from .counts import Binomial, Geometric, NegativeBinomial, Poisson
from .gamma import Exponential, Gamma, InverseGamma
from .heavy_tails import Pareto, Weibull
from .kl import both_in_double, register_kl
from .location_scale import Cauchy, Gumbel, HalfCauchy, Laplace, Uniform
from .matrices import Wishart
from .multivariate_normal import LowRankMultivariateNormal, MultivariateNormal, half_log_det
from .normal import HalfNormal, Normal
from .von_mises import VonMises


def _of_outcomes(p: ProbsOrLogits, q: ProbsOrLogits) -> Tensor:
    """Returns the divergence of two outcomes."""
    if p._given == q._given == "logits":
        x, y = p.logits, q.logits
        # Differences of logits, of the sign that has a finite exponential.
        more = y > x
        low, high = lm.where(more, x, y), lm.where(more, y, x)
        size = lm.sigmoid(high) * lm.sigmoid(-low) * -lm.expm1(low - high)
        excess = lm.where(more, size, -size)
        return deviance_of_logits(x, y, excess) + deviance_of_logits(-x, -y, -excess)
    x, y = p.probs, q.probs
    return deviance(x, y, y - x) + deviance(1 - x, 1 - y, x - y)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    return _of_outcomes(p, q)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if lm.any(p.total_count < q.total_count):
        raise NotImplementedError("[kl_divergence] a Binomial of fewer trials than the other one's has no closed form")
    result = p.total_count * _of_outcomes(p, q)
    return lm.where(p.total_count > q.total_count, math.inf, result)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return _of_outcomes(p, q) / p.probs


@register_kl(NegativeBinomial, NegativeBinomial)
def _negative_binomial(p: NegativeBinomial, q: NegativeBinomial) -> Tensor:
    if lm.any(p.total_count != q.total_count):
        raise NotImplementedError("[kl_divergence] two NegativeBinomial of different total_count have no closed form")
    return p.total_count * _of_outcomes(p, q) * (1 + p._odds)


@register_kl(Categorical, Categorical)
@register_kl(OneHotCategorical, OneHotCategorical)
def _classes(p: _Classes, q: _Classes) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = lm.where(q.probs == 0, math.inf, terms)
    return lm.sum(lm.where(p.probs == 0, 0.0, terms), axis=-1)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return deviance(p.rate, q.rate, q.rate - p.rate)


def _difference_of_products(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    """Returns ``a b - c d`` of exact products."""
    product = c * d
    return exact_difference(a, b, product) - exact_difference(c, d, product).detach()


@register_kl(Beta, Beta)
@both_in_double
def _beta(p: Beta, q: Beta) -> Tensor:
    a1, a0, b1, b0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    total, other = a1 + a0, b1 + b0
    excess = _difference_of_products(a1, b0, b1, a0) / total
    means = deviance(b1, a1 / total * other, excess) + deviance(b0, a0 / total * other, -excess)
    return means + shape_divergence(a1, b1) + shape_divergence(a0, b0) - shape_divergence(total, other)


@register_kl(Dirichlet, Dirichlet)
@both_in_double
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total, other = lm.sum(a, axis=-1, keepdims=True), lm.sum(b, axis=-1, keepdims=True)
    means = deviance(b, a / total * other, _difference_of_products(a, other, b, total) / total)
    shapes = lm.sum(means + shape_divergence(a, b), axis=-1)
    return shapes - lm.squeeze(shape_divergence(total, other), axis=-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    return (p.logits - q.logits) * (p.mean - 0.5) - p._log_spread() + q._log_spread()


@register_kl(Exponential, Exponential)
@both_in_double
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - lm.log(ratio) - 1


@register_kl(Gamma, Gamma)
@register_kl(InverseGamma, InverseGamma)
@both_in_double
def _gamma(p: Gamma | InverseGamma, q: Gamma | InverseGamma) -> Tensor:
    a, b = p.concentration, q.concentration
    excess = _difference_of_products(a, q.rate, b, p.rate) / p.rate
    return deviance(b, a * (q.rate / p.rate), excess) + shape_divergence(a, b)


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * lm.log(p.scale / q.scale) - lm.log(ratio) + ratio - 1
    return lm.where(p.scale < q.scale, math.inf, result)


@register_kl(Weibull, Weibull)
@both_in_double
def _weibull(p: Weibull, q: Weibull) -> Tensor:
    """See Bauckhage, "Computing the Kullback-Leibler divergence between two Weibull distributions", 2013."""
    a, b = p.concentration, q.concentration
    ratio = p.scale / q.scale
    powers = lm.log(a / b) - b * lm.log(ratio) - EULER * (a - b) / a
    return powers + lm.exp(b * lm.log(ratio) + lm.lgamma(1 + b / a)) - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """See Chyzak and Nielsen, "A closed-form formula for the KL divergence between Cauchy distributions", 2019."""
    distance = lm.square(p.scale + q.scale) + lm.square(p.loc - q.loc)
    return lm.log(distance / (4 * p.scale * q.scale))


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio = p.scale / q.scale
    shift = (p.loc - q.loc) / q.scale
    return shift - lm.log(ratio) + EULER * (ratio - 1) + lm.exp(lm.lgamma(1 + ratio) - shift) - 1


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio = p.scale / q.scale
    distance = lm.abs(p.loc - q.loc)
    return distance / q.scale + ratio * lm.exp(-distance / p.scale) - lm.log(ratio) - 1


@register_kl(Kumaraswamy, Kumaraswamy)
@both_in_double
def _kumaraswamy(p: Kumaraswamy, q: Kumaraswamy) -> Tensor:
    if not lm.all(p.concentration1 == q.concentration1):
        raise NotImplementedError(
            "[kl_divergence] of two Kumaraswamy distributions has no closed form where their concentration1 differ"
        )
    # Powers of draws by the exponent that both share are beta distributed, Beta(1, concentration0).
    ratio = q.concentration0 / p.concentration0
    return ratio - 1 - lm.log(ratio)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = lm.log((q.high - q.low) / (p.high - p.low))
    return lm.where((q.low > p.low) | (q.high < p.high), math.inf, result)


def _of_scales(p_scale: Tensor, q_scale: Tensor) -> Tensor:
    ratio = lm.square(p_scale / q_scale)
    return 0.5 * (ratio - 1 - lm.log(ratio))


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    return _of_scales(p.scale, q.scale) + 0.5 * lm.square((p.loc - q.loc) / q.scale)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _of_scales(p.scale, q.scale)


@register_kl(VonMises, VonMises)
def _von_mises(p: VonMises, q: VonMises) -> Tensor:
    k, other = p.concentration, q.concentration
    scaled = lm.i0e(k)
    resultant = lm.i1e(k) / scaled
    logs = lm.log(lm.i0e(other) / scaled) + (other - k)
    return logs + resultant * (k - other * lm.cos(p.loc - q.loc))


_Vectors = MultivariateNormal | LowRankMultivariateNormal


def _columns(p: _Vectors) -> Tensor:
    """Returns a matrix A for which ``A A^T`` is the covariance matrix."""
    if isinstance(p, MultivariateNormal):
        return p._unbroadcasted_scale_tril
    diagonal = lm.diag_embed(lm.sqrt(p.cov_diag))
    return lm.concat([p.cov_factor, diagonal], axis=-1)


def _trace(q: _Vectors, columns: Tensor) -> Tensor:
    """Returns the trace of ``C^-1 A A^T`` for q's covariance matrix C."""
    if isinstance(q, MultivariateNormal):
        return lm.sum(
            lm.square(lm.linalg.solve_triangular(q._unbroadcasted_scale_tril, columns, upper=False)), axis=(-2, -1)
        )
    scaled = columns / lm.expand_dims(q._diagonal, axis=-1)
    solved = lm.linalg.solve_triangular(q._capacitance, q._unbroadcasted_scale_tril.mT @ scaled, upper=False)
    return lm.sum(columns * scaled, axis=(-2, -1)) - lm.sum(lm.square(solved), axis=(-2, -1))


def _half_log_det(p: _Vectors) -> Tensor:
    return half_log_det(p._unbroadcasted_scale_tril) if isinstance(p, MultivariateNormal) else 0.5 * p._log_det()


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _vectors(p: _Vectors, q: _Vectors) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"[kl_divergence] vectors of different lengths: the event shapes are {list(p.event_shape)} and "
            f"{list(q.event_shape)}"
        )
    distance = _trace(q, lm.expand_dims(q.loc - p.loc, axis=-1))
    spread = _trace(q, _columns(p)) - p.event_shape[0]
    return _half_log_det(q) - _half_log_det(p) + 0.5 * (spread + distance)


@register_kl(Wishart, Wishart)
@both_in_double
def _wishart(p: Wishart, q: Wishart) -> Tensor:
    n = p.event_shape[0]
    trace = lm.sum(on_diagonal(lm.linalg.cholesky_solve(p.covariance_matrix, q.scale_tril)), axis=-1)
    a, b = p._halves(), q._halves()
    shapes = lm.sum(deviance(b, a, a - b) + shape_divergence(a, b), axis=-1)
    scales = q.df * (half_log_det(q._unbroadcasted_scale_tril) - half_log_det(p._unbroadcasted_scale_tril))
    return scales + 0.5 * p.df * (trace - n) + shapes


@register_kl(HalfCauchy, HalfCauchy)
def _half_cauchy(p: HalfCauchy, q: HalfCauchy) -> Tensor:
    """That of the Cauchy distributions, as both are symmetric."""
    return lm.log(lm.square(p.scale + q.scale) / (4 * p.scale * q.scale))
