"""Divergences: against means over draws, infinities, gradients, and how a formula is chosen."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from distribution_cases import CASES, SPD, tensor

import lamella as lm
from lamella import distributions as D
from lamella.distributions.kl import _REGISTERED


def two(make, **values):
    """Returns two distributions, with the first and the second value of each parameter."""
    return tuple(make(**{name: tensor(pair[i]) for name, pair in values.items()}) for i in range(2))


#: Two distributions of each class for which a divergence is registered.
PAIRS = {
    D.Bernoulli: two(D.Bernoulli, probs=[0.3, 0.6]),
    D.Beta: two(D.Beta, concentration1=[2.0, 3.0], concentration0=[1.5, 0.8]),
    D.Binomial: two(D.Binomial, total_count=[7.0, 7.0], probs=[0.3, 0.6]),
    D.Categorical: two(D.Categorical, probs=[[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]]),
    D.Cauchy: two(D.Cauchy, loc=[0.0, 1.0], scale=[1.0, 2.0]),
    D.ContinuousBernoulli: two(D.ContinuousBernoulli, probs=[0.3, 0.9]),
    D.Dirichlet: two(D.Dirichlet, concentration=[[1.0, 2.0, 3.0], [2.0, 2.0, 0.7]]),
    D.Exponential: two(D.Exponential, rate=[1.0, 2.5]),
    D.Gamma: two(D.Gamma, concentration=[2.0, 3.0], rate=[1.0, 2.0]),
    D.Geometric: two(D.Geometric, probs=[0.3, 0.6]),
    D.Gumbel: two(D.Gumbel, loc=[0.0, 1.0], scale=[1.0, 2.0]),
    D.HalfCauchy: two(D.HalfCauchy, scale=[1.0, 2.0]),
    D.HalfNormal: two(D.HalfNormal, scale=[1.0, 2.0]),
    D.Independent: tuple(D.Independent(D.Normal(tensor(loc), 1.0), 1) for loc in ([0.0, 1.0], [1.0, -0.5])),
    D.InverseGamma: two(D.InverseGamma, concentration=[3.0, 4.0], rate=[1.0, 2.0]),
    D.Kumaraswamy: two(D.Kumaraswamy, concentration1=[2.0, 2.0], concentration0=[3.0, 0.7]),
    D.Laplace: two(D.Laplace, loc=[0.0, 1.0], scale=[1.0, 2.0]),
    D.LogNormal: two(D.LogNormal, loc=[0.0, 0.5], scale=[0.5, 1.0]),
    D.LowRankMultivariateNormal: two(
        D.LowRankMultivariateNormal,
        loc=[[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]],
        cov_factor=[[[1.0], [0.5], [-0.3]], [[0.2], [0.5], [0.7]]],
        cov_diag=[[1.0, 1.5, 2.0], [0.9, 1.0, 1.1]],
    ),
    D.MultivariateNormal: two(
        D.MultivariateNormal, loc=[[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]], covariance_matrix=[SPD, np.eye(3)]
    ),
    D.NegativeBinomial: two(D.NegativeBinomial, total_count=[2.5, 2.5], probs=[0.3, 0.6]),
    D.Normal: two(D.Normal, loc=[0.0, 1.0], scale=[1.0, 2.0]),
    D.OneHotCategorical: two(D.OneHotCategorical, probs=[[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]]),
    D.Pareto: two(D.Pareto, scale=[1.0, 0.5], alpha=[5.0, 3.0]),
    D.Poisson: two(D.Poisson, rate=[4.0, 2.5]),
    D.TransformedDistribution: tuple(
        D.TransformedDistribution(D.Normal(tensor(loc), 1.0), D.TanhTransform()) for loc in (0.0, 0.5)
    ),
    D.Uniform: two(D.Uniform, low=[0.2, 0.1], high=[0.9, 1.5]),
    D.VonMises: two(D.VonMises, loc=[0.0, 1.0], concentration=[1.0, 3.0]),
    D.Weibull: two(D.Weibull, scale=[1.0, 2.0], concentration=[1.5, 0.8]),
    D.Wishart: two(D.Wishart, df=[5.0, 4.0], covariance_matrix=[SPD, np.eye(3)]),
}
REGISTERED = [pair for pair in _REGISTERED if D.ExponentialFamily not in pair]


@pytest.mark.parametrize("pair", REGISTERED, ids=[f"{p.__name__}-{q.__name__}" for p, q in REGISTERED])
def test_divergence_is_the_mean_over_draws(pair):
    """Within five standard errors of the mean of log p - log q; infinite where draws lie outside of q's support."""
    p, q = PAIRS[pair[0]][0], PAIRS[pair[1]][1]
    if pair == (D.Uniform, D.Pareto):
        p = D.Uniform(tensor(0.6), tensor(2.0))
    if pair in ((D.Beta, D.Uniform), (D.ContinuousBernoulli, D.Uniform)):
        q = D.Uniform(tensor(-0.5), tensor(1.5))
    got = D.kl_divergence(p, q).item()
    draws = p.sample((20000,))
    inside = q.support.check(draws)
    if not lm.all(inside):
        assert got == np.inf
        return
    terms = (p.log_prob(draws) - q.log_prob(draws)).numpy()
    assert abs(terms.mean() - got) <= 5 * terms.std() / np.sqrt(len(terms)) + 1e-12


@pytest.mark.parametrize("kind", PAIRS, ids=[kind.__name__ for kind in PAIRS])
def test_divergence_of_a_distribution_from_itself_is_zero(kind):
    p, q = PAIRS[kind]
    np.testing.assert_allclose(D.kl_divergence(p, p).numpy(), 0, atol=1e-12)
    assert D.kl_divergence(p, q).shape == p.batch_shape and (D.kl_divergence(p, q) > 0).all()


@pytest.mark.parametrize("name", CASES)
def test_exponential_families_agree_with_bregman(name):
    """Entropies and divergences in closed form are those of the log normalizer."""
    case = CASES[name]
    p = case.build()
    if not isinstance(p, D.ExponentialFamily) or case.make is D.Poisson:
        return
    np.testing.assert_allclose(
        D.ExponentialFamily.entropy(p).detach().numpy(), p.entropy().numpy(), rtol=1e-9, atol=1e-12
    )
    q = case.build(**{name: np.roll(values, 1) for name, values in case.arrays().items()})
    bregman = _REGISTERED[D.ExponentialFamily, D.ExponentialFamily](p, q)
    np.testing.assert_allclose(bregman.detach().numpy(), D.kl_divergence(p, q).numpy(), rtol=1e-8, atol=1e-10)


def test_entropies_of_families_have_gradients():
    """Whether the parameters are leaves or views, and of the second order too."""
    scale = lm.tensor([0.5, 2.0], stop_gradient=False)
    entropy = D.ExponentialFamily.entropy(D.Normal(lm.zeros([2]), scale))
    (first,) = lm.grad([entropy.sum()], [scale], create_graph=True)
    (second,) = lm.grad([first.sum()], [scale])
    np.testing.assert_allclose(first.detach().numpy(), [2.0, 0.5], rtol=1e-5)
    np.testing.assert_allclose(second.numpy(), [-4.0, -0.25], rtol=1e-5)
    concentration = lm.tensor([1.5, 2.0], dtype="float64", stop_gradient=False)
    dirichlet = D.Dirichlet(concentration)
    generic = D.ExponentialFamily.entropy(dirichlet)
    np.testing.assert_allclose(generic.detach().numpy(), dirichlet.entropy().detach().numpy(), rtol=1e-12)
    wanted = lm.grad([dirichlet.entropy()], [concentration])[0]
    np.testing.assert_allclose(lm.grad([generic], [concentration])[0].numpy(), wanted.numpy(), rtol=1e-9)


def test_divergences_broadcast_and_have_gradients():
    loc = lm.tensor(np.array([[0.0], [1.0]]), stop_gradient=False)
    p, q = D.Normal(loc, 1.0), D.Normal(tensor([0.0, 1.0, 2.0]), 2.0)
    divergence = D.kl_divergence(p, q)
    assert divergence.shape == (2, 3)
    divergence.sum().backward()
    np.testing.assert_allclose(loc.grad.numpy(), [[-0.75], [0.0]], atol=1e-12)
    covariance = D.MultivariateNormal(lm.zeros([4, 1, 2]), scale_tril=lm.eye(2))
    assert D.kl_divergence(covariance, D.MultivariateNormal(lm.zeros([3, 2]), lm.eye(2))).shape == (4, 3)


def test_kumaraswamy_distributions_of_other_powers():
    with pytest.raises(NotImplementedError, match="concentration1 differ"):
        D.kl_divergence(D.Kumaraswamy(2.0, 3.0), D.Kumaraswamy(1.0, 3.0))


def test_impossible_classes():
    certain, open_ = D.Categorical(tensor([1.0, 0.0])), D.Categorical(tensor([0.5, 0.5]))
    assert D.kl_divergence(open_, certain).item() == np.inf
    np.testing.assert_allclose(D.kl_divergence(certain, open_).item(), np.log(2), rtol=1e-12)
    for p, q, wanted in (0.0, 0.5, np.log(2)), (0.5, 1.0, np.inf), (1.0, 1.0, 0.0):
        np.testing.assert_allclose(D.kl_divergence(D.Bernoulli(tensor(p)), D.Bernoulli(tensor(q))).item(), wanted)
    with pytest.raises(NotImplementedError, match="fewer trials"):
        D.kl_divergence(D.Binomial(3, tensor(0.5)), D.Binomial(4, tensor(0.5)))
    with pytest.raises(NotImplementedError, match="different total_count"):
        D.kl_divergence(D.NegativeBinomial(3, tensor(0.5)), D.NegativeBinomial(4, tensor(0.5)))
    assert D.kl_divergence(D.Binomial(4, tensor(0.5)), D.Binomial(3, tensor(0.5))).item() == np.inf


def test_uniform_distributions_that_reach_beyond_the_support():
    for q in D.Exponential(1.0), D.Gamma(2.0, 1.0), D.Beta(2.0, 2.0), D.Pareto(1.0, 1.0), D.Uniform(0.0, 0.5):
        assert D.kl_divergence(D.Uniform(-1.0, 2.0), q).item() == np.inf


def test_subclasses_are_served_and_the_most_specific_wins():
    class Base(D.Distribution):
        pass

    class Middle(Base):
        pass

    class Leaf(Middle):
        pass

    answers = {}
    for p, q in itertools.product((Base, Middle), (Base, Middle)):
        if (p, q) != (Middle, Middle):
            answers[p, q] = D.register_kl(p, q)(lambda *_, name=(p, q): name)
    with pytest.warns(RuntimeWarning, match=r"\(Leaf, Leaf\) is ambiguous: \(Middle, Base\) and \(Base, Middle\)"):
        assert D.kl_divergence(Leaf(), Leaf()) == (Middle, Base)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert D.kl_divergence(Leaf(), Base()) == (Middle, Base)
        assert D.kl_divergence(Base(), Base()) == (Base, Base)
        D.register_kl(Middle, Middle)(lambda *_: "both")
        assert D.kl_divergence(Leaf(), Leaf()) == "both"
    for pair in itertools.product((Base, Middle), (Base, Middle)):
        del _REGISTERED[pair]
    with pytest.raises(NotImplementedError, match=r"no formula is registered for \(Base, Normal\)"):
        D.kl_divergence(Base(), D.Normal(0.0, 1.0))
    with pytest.raises(TypeError, match=r"\[register_kl\] expected a class of distributions"):
        D.register_kl(D.Normal, int)


def test_subclasses_of_one_family():
    p, q = D.Chi2(tensor(3.0)), D.Gamma(tensor(1.5), tensor(0.5))
    np.testing.assert_allclose(D.kl_divergence(p, q).item(), 0, atol=1e-12)
    with pytest.raises(NotImplementedError, match="different transforms"):
        D.kl_divergence(D.LogNormal(0.0, 1.0), D.TransformedDistribution(D.Normal(0.0, 1.0), D.SigmoidTransform()))
    with pytest.raises(ValueError, match="different lengths"):
        D.kl_divergence(D.MultivariateNormal(lm.zeros([2]), lm.eye(2)), D.MultivariateNormal(lm.zeros([3]), lm.eye(3)))
    with pytest.raises(NotImplementedError, match=r"\(Poisson, Exponential\)"):
        D.kl_divergence(D.Poisson(1.0), D.Exponential(1.0))
