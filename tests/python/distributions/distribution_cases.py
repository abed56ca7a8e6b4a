"""Distributions of numbers beside their equals in scipy, which every test of this folder goes over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

import lamella as lm
from lamella import distributions as D


@dataclass(frozen=True)
class Case:
    """A class of distributions of single numbers.

    Attributes:
        make: The class.
        parameters: Three values of each parameter.
        scipy: Takes these values and returns scipy's distribution.
        discrete: True for distributions of integers.
        quantile: True where draws are the quantiles of something that depends on no parameter.
        settings: Arguments that are no parameters to differentiate by.
    """

    make: type[D.Distribution]
    parameters: dict[str, list[float]]
    scipy: Callable[..., Any]
    discrete: bool = False
    quantile: bool = True
    settings: dict[str, list[float]] = field(default_factory=dict)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.array(values) for name, values in {**self.parameters, **self.settings}.items()}

    def build(self, dtype: str = "float64", *, gradient: bool = False, **replaced: Any) -> Any:
        values = {**self.arrays(), **replaced}
        tensors = {name: lm.tensor(np.asarray(value), dtype=dtype) for name, value in values.items()}
        for name in self.parameters if gradient else ():
            tensors[name].stop_gradient = False
        return self.make(**tensors)

    def reference(self, **replaced: Any) -> Any:
        return self.scipy(**{**self.arrays(), **replaced})

    def points(self, chances: Any = (0.03, 0.2, 0.45, 0.7, 0.97)) -> np.ndarray:
        """Values of shape [chances, 3] in the support."""
        return self.reference().ppf(np.asarray(chances)[:, None])


def odds(logits: Any) -> Any:
    return 1 / (1 + np.exp(-logits))


def inverse_scale(rate: Any) -> Any:
    return 1 / rate


class _Relaxed:
    """The logistic distribution behind a relaxed Bernoulli distribution, by scipy."""

    def __init__(self, logits: Any, temperature: float) -> None:
        self.base = stats.logistic(logits / temperature, 1 / temperature)

    def ppf(self, p: Any) -> Any:
        return odds(self.base.ppf(p))

    def cdf(self, x: Any) -> Any:
        return self.base.cdf(np.log(x) - np.log1p(-x))

    def logpdf(self, x: Any) -> Any:
        return self.base.logpdf(np.log(x) - np.log1p(-x)) - np.log(x) - np.log1p(-x)


class _Kumaraswamy:
    """The power of a beta distribution that Kumaraswamy's is."""

    def __init__(self, concentration1: Any, concentration0: Any) -> None:
        self.a = concentration1
        self.base = stats.beta(1.0, concentration0)

    def ppf(self, p: Any) -> Any:
        return self.base.ppf(p) ** (1 / self.a)

    def cdf(self, x: Any) -> Any:
        return self.base.cdf(x**self.a)

    def logpdf(self, x: Any) -> Any:
        return self.base.logpdf(x**self.a) + np.log(self.a) + (self.a - 1) * np.log(x)

    def _moment(self, order: int) -> Any:
        from scipy.special import beta

        b = self.base.args[1]
        return b * beta(1 + order / self.a, b)

    def mean(self) -> Any:
        return self._moment(1)

    def var(self) -> Any:
        return self._moment(2) - self._moment(1) ** 2


class _ContinuousBernoulli:
    """An exponential distribution that is cut off at 1, turned around where it grows."""

    def __init__(self, logits: Any) -> None:
        self.x = np.asarray(logits)
        self.base = stats.truncexpon(b=np.abs(self.x), scale=1 / np.abs(self.x))

    def _turned(self, value: Any) -> Any:
        return np.where(self.x > 0, 1 - value, value)

    def ppf(self, p: Any) -> Any:
        return self._turned(self.base.ppf(self._turned(p)))

    def cdf(self, value: Any) -> Any:
        return self._turned(self.base.cdf(self._turned(value)))

    def logpdf(self, value: Any) -> Any:
        return self.base.logpdf(self._turned(value))

    def mean(self) -> Any:
        return self._turned(self.base.mean())

    def var(self) -> Any:
        return self.base.var()

    def entropy(self) -> Any:
        return self.base.entropy()


LOC_SCALE = {"loc": [0.3, -1.0, 2.0], "scale": [1.0, 0.5, 3.0]}
CHANCES = [0.2, 0.5, 0.85]
LOGITS = [-1.5, 0.3, 2.0]

CASES = {
    "Bernoulli": Case(D.Bernoulli, {"probs": [0.2, 0.45, 0.85]}, lambda probs: stats.bernoulli(probs), discrete=True),
    "Bernoulli logits": Case(
        D.Bernoulli, {"logits": LOGITS}, lambda logits: stats.bernoulli(odds(logits)), discrete=True
    ),
    "Beta": Case(
        D.Beta,
        {"concentration1": [0.5, 2.0, 5.0], "concentration0": [0.7, 3.0, 1.0]},
        lambda concentration1, concentration0: stats.beta(concentration1, concentration0),
        quantile=False,
    ),
    "Binomial": Case(
        D.Binomial,
        {"probs": CHANCES},
        lambda total_count, probs: stats.binom(total_count, probs),
        discrete=True,
        settings={"total_count": [9.0, 9.0, 9.0]},
    ),
    "Binomial logits": Case(
        D.Binomial,
        {"logits": LOGITS},
        lambda total_count, logits: stats.binom(total_count, odds(logits)),
        discrete=True,
        settings={"total_count": [40.0, 40.0, 40.0]},
    ),
    "Cauchy": Case(D.Cauchy, LOC_SCALE, lambda loc, scale: stats.cauchy(loc, scale)),
    "Chi2": Case(D.Chi2, {"df": [0.8, 3.0, 10.0]}, lambda df: stats.chi2(df)),
    "ContinuousBernoulli": Case(
        D.ContinuousBernoulli,
        {"probs": [0.1, 0.45, 0.9]},
        lambda probs: _ContinuousBernoulli(np.log(probs / (1 - probs))),
    ),
    "ContinuousBernoulli logits": Case(
        D.ContinuousBernoulli, {"logits": [-20.0, 0.01, 3.0]}, lambda logits: _ContinuousBernoulli(logits)
    ),
    "Exponential": Case(D.Exponential, {"rate": [0.5, 1.0, 4.0]}, lambda rate: stats.expon(scale=1 / rate)),
    "FisherSnedecor": Case(
        D.FisherSnedecor,
        {"df1": [1.5, 4.0, 10.0], "df2": [9.0, 12.0, 20.0]},
        lambda df1, df2: stats.f(df1, df2),
        quantile=False,
    ),
    "Gamma": Case(
        D.Gamma,
        {"concentration": [0.3, 2.0, 30.0], "rate": [1.0, 0.5, 3.0]},
        lambda concentration, rate: stats.gamma(concentration, scale=1 / rate),
    ),
    "GeneralizedPareto": Case(
        D.GeneralizedPareto,
        {**LOC_SCALE, "concentration": [0.2, -0.3, 0.01]},
        lambda loc, scale, concentration: stats.genpareto(concentration, loc, scale),
    ),
    "Geometric": Case(D.Geometric, {"probs": CHANCES}, lambda probs: stats.geom(probs, loc=-1), discrete=True),
    "Geometric logits": Case(
        D.Geometric, {"logits": LOGITS}, lambda logits: stats.geom(odds(logits), loc=-1), discrete=True
    ),
    "Gumbel": Case(D.Gumbel, LOC_SCALE, lambda loc, scale: stats.gumbel_r(loc, scale)),
    "HalfCauchy": Case(D.HalfCauchy, {"scale": [0.5, 1.0, 3.0]}, lambda scale: stats.halfcauchy(scale=scale)),
    "HalfNormal": Case(D.HalfNormal, {"scale": [0.5, 1.0, 3.0]}, lambda scale: stats.halfnorm(scale=scale)),
    "InverseGamma": Case(
        D.InverseGamma,
        {"concentration": [2.5, 4.0, 9.0], "rate": [1.0, 0.5, 3.0]},
        lambda concentration, rate: stats.invgamma(concentration, scale=rate),
    ),
    "Kumaraswamy": Case(
        D.Kumaraswamy, {"concentration1": [0.5, 2.0, 5.0], "concentration0": [0.7, 3.0, 1.0]}, _Kumaraswamy
    ),
    "Laplace": Case(D.Laplace, LOC_SCALE, lambda loc, scale: stats.laplace(loc, scale)),
    "LogNormal": Case(
        D.LogNormal,
        {"loc": [0.3, -1.0, 0.5], "scale": [1.0, 0.5, 0.2]},
        lambda loc, scale: stats.lognorm(scale, scale=np.exp(loc)),
    ),
    "NegativeBinomial": Case(
        D.NegativeBinomial,
        {"total_count": [0.7, 3.0, 12.0], "probs": CHANCES},
        lambda total_count, probs: stats.nbinom(total_count, 1 - probs),
        discrete=True,
    ),
    "NegativeBinomial logits": Case(
        D.NegativeBinomial,
        {"total_count": [0.7, 3.0, 12.0], "logits": LOGITS},
        lambda total_count, logits: stats.nbinom(total_count, 1 - odds(logits)),
        discrete=True,
    ),
    "Normal": Case(D.Normal, LOC_SCALE, lambda loc, scale: stats.norm(loc, scale)),
    "Pareto": Case(
        D.Pareto,
        {"scale": [0.5, 1.0, 3.0], "alpha": [2.5, 3.0, 6.0]},
        lambda scale, alpha: stats.pareto(alpha, scale=scale),
    ),
    "Poisson": Case(D.Poisson, {"rate": [0.4, 3.0, 40.0]}, lambda rate: stats.poisson(rate), discrete=True),
    "RelaxedBernoulli": Case(
        D.RelaxedBernoulli,
        {"logits": LOGITS},
        lambda temperature, logits: _Relaxed(logits, temperature),
        settings={"temperature": 0.7},  # type: ignore[dict-item]
    ),
    "StudentT": Case(
        D.StudentT,
        {"df": [3.0, 5.0, 20.0], **LOC_SCALE},
        lambda df, loc, scale: stats.t(df, loc, scale),
        quantile=False,
    ),
    "Uniform": Case(
        D.Uniform, {"low": [0.0, -2.0, 5.0], "high": [1.0, 3.0, 5.5]}, lambda low, high: stats.uniform(low, high - low)
    ),
    "VonMises": Case(
        D.VonMises,
        {"loc": [0.3, -1.0, 2.0], "concentration": [0.4, 2.0, 50.0]},
        lambda loc, concentration: stats.vonmises(concentration, loc),
    ),
    "Weibull": Case(
        D.Weibull,
        {"scale": [0.5, 1.0, 3.0], "concentration": [0.8, 2.0, 5.0]},
        lambda scale, concentration: stats.weibull_min(concentration, scale=scale),
    ),
}

#: Distributions of vectors and matrices, for what holds of all distributions.
SPD = [[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 0.7]]


def tensor(values: Any, dtype: str = "float64") -> lm.Tensor:
    return lm.tensor(np.asarray(values), dtype=dtype)


EVENTS: dict[str, Callable[[str], Any]] = {
    "Categorical": lambda t: D.Categorical(probs=tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], t)),
    "Categorical logits": lambda t: D.Categorical(logits=tensor([[0.2, 0.3, 0.5], [0.6, -3.0, 0.1]], t)),
    "Dirichlet": lambda t: D.Dirichlet(tensor([[0.5, 2.0, 3.0], [1.0, 1.0, 1.0]], t)),
    "Independent": lambda t: D.Independent(D.Normal(tensor([[0.0, 1.0], [2.0, 3.0]], t), 0.5), 1),
    "LKJCholesky": lambda t: D.LKJCholesky(3, tensor([0.7, 2.0], t)),
    "LogisticNormal": lambda t: D.LogisticNormal(tensor([[0.0, 1.0], [0.5, -1.0]], t), 0.5),
    "LowRankMultivariateNormal": lambda t: D.LowRankMultivariateNormal(
        tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], t), tensor([[1.0], [0.5], [-0.3]], t), tensor([0.5, 1.0, 2.0], t)
    ),
    "MixtureSameFamily": lambda t: D.MixtureSameFamily(
        D.Categorical(logits=tensor([0.1, 0.5], t)),
        D.Normal(tensor([[0.0, 3.0], [1.0, -2.0]], t), tensor([1.0, 0.5], t)),
    ),
    "Multinomial": lambda t: D.Multinomial(7, probs=tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], t)),
    "MultivariateNormal": lambda t: D.MultivariateNormal(
        tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], t), covariance_matrix=tensor(SPD, t)
    ),
    "MultivariateNormal precision": lambda t: D.MultivariateNormal(
        tensor([0.0, 1.0, 2.0], t), precision_matrix=tensor([SPD, np.eye(3)], t)
    ),
    "OneHotCategorical": lambda t: D.OneHotCategorical(probs=tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], t)),
    "OneHotCategoricalStraightThrough": lambda t: D.OneHotCategoricalStraightThrough(
        logits=tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], t)
    ),
    "RelaxedOneHotCategorical": lambda t: D.RelaxedOneHotCategorical(
        0.7, logits=tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], t)
    ),
    "TransformedDistribution": lambda t: D.TransformedDistribution(
        D.Normal(tensor([0.0, 1.0], t), 1.0), [D.TanhTransform(), D.AffineTransform(1.0, 3.0)]
    ),
    "Wishart": lambda t: D.Wishart(tensor([4.0, 6.5], t), covariance_matrix=tensor(SPD, t)),
}

#: All distributions of both tables, in a dtype.
EVERY: dict[str, Callable[[str], Any]] = {**{name: case.build for name, case in CASES.items()}, **EVENTS}
