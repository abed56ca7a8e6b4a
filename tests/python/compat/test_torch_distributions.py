"""Distributions through the front of PyTorch, where its numbers or its attributes are others than Lamella's own."""

import pytest

from support import extensions

HEAD = """
import math
import warnings
import torch
from torch import distributions as D
from torch.distributions import constraints, kl_divergence, transforms

EPS = torch.finfo(torch.float32).eps
LOGIT = math.log((1 - EPS) / EPS)


def close(got, wanted, tolerance=1e-5):
    got, wanted = torch.as_tensor(got).double(), torch.as_tensor(wanted).double()
    assert torch.allclose(got, wanted, rtol=tolerance, atol=tolerance, equal_nan=True), (got, wanted)


def refused(kind, call):
    try:
        call()
    except kind:
        return
    raise AssertionError(f"not refused by {kind.__name__}")
"""

PROGRAMS = {
    "probabilities of 0 and 1 are kept off them by eps": """
p = torch.tensor([0.0, 1.0], requires_grad=True)
ends = torch.tensor([0.0, 1.0])
entropy = torch.nn.functional.softplus(torch.tensor(-LOGIT, dtype=torch.float64))
for made, wanted in (
    (D.Bernoulli(p), -LOGIT), (D.Binomial(2, p), -2 * LOGIT),
    (D.RelaxedBernoulli(torch.tensor(1.0), p).base_dist, None),
):
    close(made.logits, [-LOGIT, LOGIT])
    if wanted is not None:
        value = (1 - ends) * -wanted / LOGIT  # none of the certain outcomes
        close(made.log_prob(value), [wanted, wanted])
        assert torch.autograd.grad(made.log_prob(value).sum(), p)[0].tolist() == [0.0, 0.0], made
        close(made.log_prob(value.double()), [wanted, wanted])
        close(made.expand([3, 2]).log_prob(value), [[wanted, wanted]] * 3)
for made, entropies, slopes in (
    (D.Bernoulli(p), [entropy, entropy], [LOGIT, -LOGIT]),
    (D.Geometric(probs=p[1:]), [entropy], [0.0, -LOGIT]),
):
    close(made.entropy(), entropies)
    close(torch.autograd.grad(made.entropy().sum(), p)[0], slopes, 1e-4)
weights = torch.tensor([0.0, 0.25, 0.75], requires_grad=True)
first = torch.tensor([1.0, 0.0, 0.0])
for made, value in (
    (D.Categorical(weights), torch.tensor(0)), (D.OneHotCategorical(weights), first),
    (D.Multinomial(1, weights), first),
    (D.OneHotCategoricalStraightThrough(weights), first),
):
    close(made.logits, [math.log(EPS), math.log(0.25), math.log(0.75)])
    close(made.log_prob(value), math.log(EPS))
    assert torch.autograd.grad(made.log_prob(value), weights)[0].tolist() == [0.0, 0.0, 0.0], made
close(D.Categorical(weights).entropy(), -0.25 * math.log(0.25) - 0.75 * math.log(0.75))
close(D.Bernoulli(1e-12).log_prob(torch.tensor(1.0)), -LOGIT)
close(D.NegativeBinomial(2.0, torch.tensor([0.0])).log_prob(torch.tensor([1.0])), math.log(2.0) - LOGIT)
close(D.Bernoulli(torch.tensor(0.0, dtype=torch.float64)).logits, math.log(torch.finfo(torch.float64).eps))
close(D.Bernoulli(logits=torch.tensor([80.0])).log_prob(torch.tensor([0.0])), [-80.0])
""",
    "values of vectors of classes": """
d = D.OneHotCategorical(logits=torch.tensor([0.1, 0.5, -1.0]), validate_args=False)
value = torch.tensor([0.1, 0.7, 0.2], requires_grad=True)
assert d.log_prob(value) == d.log_prob(torch.tensor([0.0, 1.0, 0.0])) and not d.log_prob(value).requires_grad
counts = torch.tensor([2.0, 0.0, 1.0], requires_grad=True)
m = D.Multinomial(3, logits=torch.tensor([0.1, 0.5, -1.0]))
m.log_prob(counts).backward()
close(counts.grad, m.logits + torch.digamma(torch.tensor(4.0)) - torch.digamma(counts.detach() + 1))
halves = D.Multinomial(3, torch.ones(2)).log_prob(torch.tensor([1.5, 1.5]))
close(halves, math.log(6) - 2 * math.lgamma(2.5) - 3 * math.log(2))
assert type(m._categorical) is D.Categorical and torch.equal(m._categorical.logits, m.logits)
""",
    "means, modes and bounds that are infinite or undefined": """
d = D.Cauchy(0.0, 1.0)
close([d.mean, d.variance, d.stddev], [math.nan, math.inf, math.inf])
close(D.Weibull(2.0, torch.tensor([0.7, 1.0, 2.0])).mode, [math.nan, 0.0, 2 * math.sqrt(0.5)])
close(D.FisherSnedecor(torch.tensor([1.0, 2.0, 4.0]), 2.0).mode, [math.nan, 0.0, 0.25])
close(D.Wishart(torch.tensor([2.5, 3.0, 5.0]), torch.eye(2)).mode[:, 0, 0], [math.nan, math.nan, 2.0])
close(D.Uniform(0.0, 2.0).log_prob(torch.tensor([0.0, 1.0, 2.0])), [-math.log(2), -math.log(2), -math.inf])
close(D.Normal(0.0, 1.0).icdf(torch.tensor([0.5, 1.5])), [0.0, math.nan])
""",
    "numbers for values": """
unchecked = [D.Normal(0.0, 1.0, validate_args=False), D.HalfCauchy(1.0, validate_args=False)]
for made in (D.Gamma(2.0, 3.0), D.Chi2(4.0), *unchecked):
    close(made.log_prob(0.5), made.log_prob(torch.tensor(0.5)))
for made in (D.Gumbel(0.0, 1.0), D.Weibull(1.0, 2.0)):
    close(made.cdf(0.5), made.cdf(torch.tensor(0.5)))
refused(ValueError, lambda: D.Normal(0.0, 1.0).log_prob(0.5))
assert D.Gamma(2.0, 3.0).log_prob(torch.tensor(0.5, dtype=torch.float64)).dtype is torch.float32
assert D.Gamma(2.0, 3.0).cdf(torch.tensor(0.5, dtype=torch.float64)).dtype is torch.float64
""",
    "base distributions and transforms": """
pair = torch.tensor([0.5, 2.0])
for d in (
    D.Gumbel(torch.tensor([0.5, 1.0]), 2.0), D.HalfCauchy(pair), D.HalfNormal(pair),
    D.InverseGamma(torch.tensor([3.0, 2.0]), 1.5), D.Kumaraswamy(pair, 1.5), D.Pareto(pair, 3.0), D.Weibull(pair, 1.5),
    D.LogNormal(pair, 1.5),
):
    assert isinstance(d.base_dist, D.Distribution) and d.base_dist.batch_shape == d.batch_shape, d
    again = D.TransformedDistribution(d.base_dist, d.transforms)
    value = d.sample()
    if all(each.bijective for each in d.transforms):
        close(again.log_prob(value), d.log_prob(value), 1e-4)
    drawn = d.base_dist.sample((4000,))
    for transform in d.transforms:
        drawn = transform(drawn)
    assert drawn.shape == (4000, 2) and bool(d.support.check(drawn).all()), d
    assert (drawn.median(0).values / d.sample((4000,)).median(0).values - 1).abs().max() < 0.2, d
""",
    "methods and messages of all": """
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    assert D.Normal(torch.zeros(2), 1.0).sample_n(3).shape == (3, 2)
assert seen[0].category is FutureWarning
assert repr(D.Normal(torch.zeros(2, 1), 1.0)) == "Normal(loc: torch.Size([2, 1]), scale: torch.Size([2, 1]))"
assert repr(D.Normal(0.5, 1.0)) == "Normal(loc: 0.5, scale: 1.0)"
for call in (lambda: D.Normal(torch.zeros(2), torch.ones(3)), lambda: D.Normal(torch.zeros(2), 1.0).expand([3])):
    refused(RuntimeError, call), refused(ValueError, call)
k = D.Kumaraswamy(torch.tensor([1.5, 2.0]), 3.0)
close(kl_divergence(k, k), [0.0, 0.0])
refused(NotImplementedError, lambda: kl_divergence(k, D.Kumaraswamy(1.0, 3.0)))
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_distributions(program, tmp_path):
    extensions.write(tmp_path, {"program.py": HEAD + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
