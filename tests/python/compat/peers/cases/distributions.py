"""Distributions: densities, entropies, moments, quantiles, divergences and transforms."""

import torch
import torch.distributions as d
from recording import add, gradients, tensor


def some(fn):
    """Returns a result, or the name of the error where the distribution has none."""
    try:
        return fn()
    except NotImplementedError:
        return "NotImplementedError"


P = torch.tensor([0.2, 0.5, 0.3])
POSITIVE = torch.tensor([0.3, 1.0, 2.5])
UNIT = torch.tensor([0.1, 0.4, 0.8])
ANY = torch.tensor([-1.5, 0.3, 2.0])
COUNT = torch.tensor([0.0, 1.0, 3.0])
BIT = torch.tensor([0.0, 1.0, 1.0])
L = torch.tensor([[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-0.3, 0.1, 0.7]])

CASES = {
    "Normal": (lambda a: d.Normal(a, a.exp()), ANY),
    "LogNormal": (lambda a: d.LogNormal(a, a.exp()), POSITIVE),
    "HalfNormal": (lambda a: d.HalfNormal(a.exp()), POSITIVE),
    "Cauchy": (lambda a: d.Cauchy(a, a.exp()), ANY),
    "HalfCauchy": (lambda a: d.HalfCauchy(a.exp()), POSITIVE),
    "Laplace": (lambda a: d.Laplace(a, a.exp()), ANY),
    "Gumbel": (lambda a: d.Gumbel(a, a.exp()), ANY),
    "Uniform": (lambda a: d.Uniform(a - 4, a + a.exp() + 3), ANY),
    "Exponential": (lambda a: d.Exponential(a.exp()), POSITIVE),
    "Gamma": (lambda a: d.Gamma(a.exp(), a.exp() + 1), POSITIVE),
    "InverseGamma": (lambda a: d.InverseGamma(a.exp() + 2, a.exp()), POSITIVE),
    "Chi2": (lambda a: d.Chi2(a.exp() + 1), POSITIVE),
    "Beta": (lambda a: d.Beta(a.exp(), a.exp() + 0.5), UNIT),
    "Kumaraswamy": (lambda a: d.Kumaraswamy(a.exp(), a.exp() + 0.5), UNIT),
    "StudentT": (lambda a: d.StudentT(a.exp() + 2.5, a, a.exp()), ANY),
    "FisherSnedecor": (lambda a: d.FisherSnedecor(a.exp() + 4, a.exp() + 5), POSITIVE),
    "Pareto": (lambda a: d.Pareto(a.exp() * 0 + 0.2, a.exp() + 2), POSITIVE),
    "Weibull": (lambda a: d.Weibull(a.exp(), a.exp() + 0.5), POSITIVE),
    "VonMises": (lambda a: d.VonMises(a, a.exp()), ANY),
    "GeneralizedPareto": (lambda a: d.GeneralizedPareto(a * 0, a.exp(), a * 0.1), POSITIVE),
    "ContinuousBernoulli": (lambda a: d.ContinuousBernoulli(logits=a), UNIT),
    "Bernoulli": (lambda a: d.Bernoulli(logits=a), BIT),
    "Bernoulli/probs": (lambda a: d.Bernoulli(a.sigmoid()), BIT),
    "Geometric": (lambda a: d.Geometric(a.sigmoid()), COUNT),
    "Poisson": (lambda a: d.Poisson(a.exp()), COUNT),
    "Binomial": (lambda a: d.Binomial(4, a.sigmoid()), COUNT),
    "NegativeBinomial": (lambda a: d.NegativeBinomial(4, logits=a), COUNT),
    "Categorical": (lambda a: d.Categorical(logits=a), torch.tensor([0, 2, 1])),
    "Categorical/probs": (lambda a: d.Categorical(a.exp()), torch.tensor([0, 2, 1])),
    "OneHotCategorical": (lambda a: d.OneHotCategorical(logits=a), torch.tensor([0.0, 1.0, 0.0])),
    "Multinomial": (lambda a: d.Multinomial(5, logits=a), torch.tensor([1.0, 1.0, 3.0])),
    "Dirichlet": (lambda a: d.Dirichlet(a.exp()), P),
    "MultivariateNormal": (lambda a: d.MultivariateNormal(a, scale_tril=L), ANY),
    "MultivariateNormal/covariance": (lambda a: d.MultivariateNormal(a, L @ L.T), ANY),
    "MultivariateNormal/precision": (lambda a: d.MultivariateNormal(a, precision_matrix=L @ L.T), ANY),
    "LowRankMultivariateNormal": (lambda a: d.LowRankMultivariateNormal(a, L[:, :2], a.exp()), ANY),
    "RelaxedBernoulli": (lambda a: d.RelaxedBernoulli(torch.tensor(0.7), logits=a), UNIT),
    "RelaxedOneHotCategorical": (lambda a: d.RelaxedOneHotCategorical(torch.tensor(0.7), logits=a), P),
    "LogisticNormal": (lambda a: d.LogisticNormal(a[:2], a[:2].exp()), P),
    "LKJCholesky": (lambda a: d.LKJCholesky(3, 1.5), torch.tensor([[1.0, 0, 0], [0.6, 0.8, 0], [0.0, 0.6, 0.8]])),
    "Wishart": (lambda a: d.Wishart(torch.tensor(4.0), scale_tril=L), torch.eye(3) * 2.0),
    "Independent": (lambda a: d.Independent(d.Normal(a, a.exp()), 1), ANY),
    "Transformed": (
        lambda a: d.TransformedDistribution(d.Normal(a, 1.0), [d.AffineTransform(1.0, 2.0), d.SigmoidTransform()]),
        UNIT,
    ),
    "Mixture": (
        lambda a: d.MixtureSameFamily(
            d.Categorical(torch.tensor([0.3, 0.7]).expand(3, 2)),
            d.Normal(torch.stack([a, a + 1], -1), torch.tensor([1.0, 2.0])),
        ),
        ANY,
    ),
}


#: What PyTorch gives as NaN, imprecisely, or not at all where there is a value.
LEFT_OUT = {
    "Beta": "cdf icdf",
    "StudentT": "cdf icdf",
    "Gamma": "icdf",
    "Chi2": "icdf",
    "InverseGamma": "icdf",
    "Cauchy": "variance stddev",
    "Kumaraswamy": "mode",
    "FisherSnedecor": "entropy cdf icdf",
    "VonMises": "entropy",
    "ContinuousBernoulli": "variance stddev",
    "Geometric": "cdf icdf",
    "Poisson": "cdf icdf",
    "Dirichlet": "mode",
    "Wishart": "mode",
    "GeneralizedPareto": "mode",
}


def facts(name, make, value):
    """Returns a case: all that a distribution says without drawing."""

    def run(rng):
        a = (tensor(rng, 3) * 0.5).requires_grad_()
        found = make(a)
        log_prob = found.log_prob(value)
        result = {
            "log_prob": log_prob,
            "gradient": gradients(log_prob, [a], rng),
            "entropy": some(found.entropy),
            "mean": some(lambda: found.mean),
            "mode": some(lambda: found.mode),
            "variance": some(lambda: found.variance),
            "stddev": some(lambda: found.stddev),
            "shapes": f"{list(found.batch_shape)} {list(found.event_shape)}",
            "sample": f"{list(found.sample((2,)).shape)} {found.has_rsample}",
            "cdf": some(lambda: found.cdf(value)),
            "expanded": f"{list(some(lambda: found.expand((2, *found.batch_shape)).batch_shape))}",
        }
        if found.event_shape == () and not isinstance(result["cdf"], str):
            result["icdf"] = some(lambda: found.icdf(UNIT))
        if found.has_enumerate_support:
            result["enumerated"] = some(found.enumerate_support)
        return {key: each for key, each in result.items() if key not in LEFT_OUT.get(name, "").split()}

    return run


for name, (make, value) in CASES.items():
    add(f"distribution.{name}", facts(name, make, value))

PAIRS = [
    ("Normal", "Normal"),
    ("Bernoulli", "Bernoulli"),
    ("Beta", "Beta"),
    ("Binomial", "Binomial"),
    ("Categorical", "Categorical"),
    ("Dirichlet", "Dirichlet"),
    ("Exponential", "Exponential"),
    ("Gamma", "Gamma"),
    ("Geometric", "Geometric"),
    ("Gumbel", "Gumbel"),
    ("HalfNormal", "HalfNormal"),
    ("Laplace", "Laplace"),
    ("LogNormal", "LogNormal"),
    ("MultivariateNormal", "MultivariateNormal"),
    ("OneHotCategorical", "OneHotCategorical"),
    ("Pareto", "Pareto"),
    ("Poisson", "Poisson"),
    ("Cauchy", "Cauchy"),
    ("Independent", "Independent"),
    ("Exponential", "Gamma"),
    ("Gamma", "Exponential"),
    ("Exponential", "Normal"),
    ("Exponential", "Gumbel"),
    ("Gumbel", "Normal"),
    ("Normal", "Gumbel"),
    ("Normal", "Laplace"),
    ("Laplace", "Normal"),
    ("Gamma", "Normal"),
    ("Gamma", "Gumbel"),
    ("Beta", "Exponential"),
    ("Beta", "Gamma"),
    ("Beta", "Normal"),
    ("Beta", "Uniform"),
    ("Uniform", "Normal"),
    ("Uniform", "Gumbel"),
    ("Uniform", "Beta"),
    ("Uniform", "Exponential"),
    ("Uniform", "Gamma"),
    ("Uniform", "Pareto"),
    ("Uniform", "Uniform"),
    ("Pareto", "Exponential"),
    ("Pareto", "Gamma"),
    ("Pareto", "Normal"),
    ("Poisson", "Binomial"),
    ("Bernoulli", "Poisson"),
    ("ContinuousBernoulli", "ContinuousBernoulli"),
    ("ContinuousBernoulli", "Normal"),
    ("ContinuousBernoulli", "Exponential"),
    ("Exponential", "Beta"),
    ("LowRankMultivariateNormal", "MultivariateNormal"),
    ("LowRankMultivariateNormal", "LowRankMultivariateNormal"),
    ("MultivariateNormal", "LowRankMultivariateNormal"),
    ("Normal", "Pareto"),
    ("Exponential", "Pareto"),
    ("Gamma", "Pareto"),
    ("Normal", "Beta"),
]
for one, two in PAIRS:

    def divergence(rng, one=one, two=two):
        """Returns the divergence of two distributions and its gradient."""
        a, b = (tensor(rng, 3).mul(0.5).requires_grad_() for _ in range(2))
        found = some(lambda: d.kl_divergence(CASES[one][0](a), CASES[two][0](b)))
        if isinstance(found, str) or one == "Uniform":  # whose gradients are NaN where the divergence is infinite
            return found
        return [found, gradients(found, [a, b], rng)]

    add(f"kl.{one}/{two}", divergence)

TRANSFORMS = {
    "exp": (lambda: d.ExpTransform(), ANY),
    "power": (lambda: d.PowerTransform(torch.tensor(1.7)), POSITIVE),
    "sigmoid": (lambda: d.SigmoidTransform(), ANY),
    "tanh": (lambda: d.TanhTransform(), ANY),
    "softplus": (lambda: d.SoftplusTransform(), ANY),
    "affine": (lambda: d.AffineTransform(torch.tensor(0.5), torch.tensor(-2.0)), ANY),
    "stick": (lambda: d.StickBreakingTransform(), ANY),
    "corr": (lambda: d.CorrCholeskyTransform(), ANY),
    "composed": (lambda: d.ComposeTransform([d.AffineTransform(0.1, 2.0), d.TanhTransform()]), ANY * 0.3),
    "reshape": (lambda: d.ReshapeTransform((3,), (1, 3)), ANY),
    "independent": (lambda: d.IndependentTransform(d.ExpTransform(), 1), ANY),
    "lower": (lambda: d.LowerCholeskyTransform(), L),
    "cumulative": (lambda: d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)), ANY),
}
for name, (make, value) in TRANSFORMS.items():

    def transform(rng, make=make, value=value):
        """Returns values, inverses and log-determinants of a transform."""
        each = make()
        y = each(value)
        return [
            y,
            each.inv(y),
            some(lambda: each.log_abs_det_jacobian(value, y)),
            list(each.forward_shape(value.shape)),
            each.bijective,
        ]

    add(f"transform.{name}", transform)
