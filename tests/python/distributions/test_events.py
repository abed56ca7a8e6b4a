"""Distributions of classes, vectors and matrices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from distribution_cases import EVENTS, SPD, tensor
from scipy import stats

import lamella as lm
from lamella import distributions as D

PROBS = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log_prob_against_scipy(dtype, rng):
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    x = rng.dirichlet([1.0, 2.0, 3.0], size=(4, 2)).astype(dtype)
    spd = rng.normal(size=(5, 2, 3, 3))
    spd = (spd @ spd.swapaxes(-1, -2) + np.eye(3)).astype(dtype)
    counts = rng.multinomial(7, [0.3, 0.3, 0.4], size=(4, 2)).astype(dtype)
    concentration = [[0.5, 2.0, 3.0], [1.0, 1.0, 1.0]]
    means = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    factor = np.array([[1.0], [0.5], [-0.3]])
    low_rank = factor @ factor.T + np.diag([0.5, 1.0, 2.0])
    precisions = [np.linalg.inv(SPD), np.eye(3)]
    expected = {
        "Dirichlet": (x, lambda v, i: stats.dirichlet(concentration[i]).logpdf(v / v.astype("float64").sum())),
        "Multinomial": (counts, lambda v, i: stats.multinomial(7, PROBS[i]).logpmf(v)),
        "MultivariateNormal": (x, lambda v, i: stats.multivariate_normal(means[i], SPD).logpdf(v)),
        "MultivariateNormal precision": (
            x,
            lambda v, i: stats.multivariate_normal(means[0], precisions[i]).logpdf(v),
        ),
        "LowRankMultivariateNormal": (x, lambda v, i: stats.multivariate_normal(means[i], low_rank).logpdf(v)),
        "Wishart": (spd, lambda v, i: stats.wishart([4.0, 6.5][i], SPD).logpdf(v)),
    }
    for name, (values, reference) in expected.items():
        got = EVENTS[name](dtype).log_prob(lm.asarray(values)).numpy()
        wanted = [[reference(v, i) for i, v in enumerate(row)] for row in values]
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=name)


def test_entropies_against_scipy():
    expected = {
        "Categorical": stats.entropy(PROBS, axis=1),
        "OneHotCategorical": stats.entropy(PROBS, axis=1),
        "Dirichlet": [stats.dirichlet([0.5, 2.0, 3.0]).entropy(), stats.dirichlet([1.0, 1.0, 1.0]).entropy()],
        "Multinomial": [stats.multinomial(7, p).entropy() for p in PROBS],
        "MultivariateNormal": [stats.multivariate_normal(np.zeros(3), SPD).entropy()] * 2,
        "Wishart": [stats.wishart(df, SPD).entropy() for df in (4.0, 6.5)],
    }
    for name, wanted in expected.items():
        np.testing.assert_allclose(EVENTS[name]("float64").entropy().numpy(), wanted, rtol=1e-9, err_msg=name)
    low_rank = EVENTS["LowRankMultivariateNormal"]("float64")
    full = D.MultivariateNormal(low_rank.loc, low_rank.covariance_matrix)
    np.testing.assert_allclose(low_rank.entropy().numpy(), full.entropy().numpy(), rtol=1e-12)
    np.testing.assert_allclose(low_rank.precision_matrix.numpy(), full.precision_matrix.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", EVENTS)
def test_moments_are_those_of_draws(name):
    """Means and variances, within five standard errors; entropy and density agree in the same way."""
    distribution = EVENTS[name]("float64")
    count = 20000
    draws = distribution.sample((count,))
    assert draws.shape == (count, *distribution.batch_shape, *distribution.event_shape)
    if distribution.support.event_dim:
        assert lm.all(distribution.support.check(draws[:200]))
    values = draws.numpy().astype("float64")
    for moment, given in ("mean", lambda v: v), ("variance", lambda v: (v - v.mean(0)) ** 2):
        try:
            wanted = getattr(distribution, moment).numpy()
        except NotImplementedError:
            continue
        if np.isnan(wanted).all():
            continue
        sample = given(values)
        error = 5 * sample.std(0) / np.sqrt(count) + 1e-12
        np.testing.assert_array_less(np.abs(sample.mean(0) - wanted), error, err_msg=moment)
    logs = distribution.log_prob(draws).numpy()
    assert logs.shape == (count, *distribution.batch_shape)
    try:
        entropy = distribution.entropy().numpy()
    except NotImplementedError:
        return
    np.testing.assert_array_less(np.abs(-logs.mean(0) - entropy), 5 * logs.std(0) / np.sqrt(count) + 1e-12)


@pytest.mark.parametrize("name", [name for name in EVENTS if EVENTS[name]("float32").has_enumerate_support])
@pytest.mark.parametrize("expand", [True, False])
def test_enumerated_events_have_probabilities_that_sum_to_one(name, expand):
    distribution = EVENTS[name]("float64")
    events = distribution.enumerate_support(expand)
    batch = distribution.batch_shape if expand else (1,) * len(distribution.batch_shape)
    assert events.shape[1:] == batch + distribution.event_shape
    np.testing.assert_allclose(lm.exp(distribution.log_prob(events)).sum(axis=0).numpy(), 1, rtol=1e-12)


def test_numbers_of_two_outcomes_are_enumerated():
    for distribution in D.Bernoulli(tensor([0.2, 0.5])), D.Binomial(5, tensor([0.2, 0.5])):
        events = distribution.enumerate_support()
        np.testing.assert_allclose(lm.exp(distribution.log_prob(events)).sum(axis=0).numpy(), 1, rtol=1e-12)
    with pytest.raises(NotImplementedError, match="numbers of trials differ"):
        D.Binomial(tensor([3.0, 4.0]), 0.5).enumerate_support()


def test_independent_distributions_are_enumerated_without_further_axes():
    bernoulli = D.Bernoulli(tensor([0.2, 0.5]))
    assert D.Independent(bernoulli, 0).has_enumerate_support
    np.testing.assert_array_equal(
        D.Independent(bernoulli, 0).enumerate_support().numpy(), bernoulli.enumerate_support().numpy()
    )
    with pytest.raises(NotImplementedError, match=r"\[Independent\] enumerate_support"):
        D.Independent(bernoulli, 1).enumerate_support()


def test_parameters_of_mapped_distributions():
    logistic = EVENTS["LogisticNormal"]("float64")
    np.testing.assert_array_equal(logistic.loc.numpy(), [[0.0, 1.0], [0.5, -1.0]])
    assert logistic.scale.shape == (2, 2)
    low_rank = EVENTS["LowRankMultivariateNormal"]("float64")
    np.testing.assert_allclose(
        (low_rank.scale_tril @ low_rank.scale_tril.mT).numpy(), low_rank.covariance_matrix.numpy(), rtol=1e-12
    )
    mixture = EVENTS["MixtureSameFamily"]("float64")
    assert mixture.mixture_distribution.batch_shape == (2,) and mixture.component_distribution.batch_shape == (2, 2)


def test_classes_without_probability():
    for distribution in D.Categorical(tensor([0.0, 0.4, 0.6])), D.Categorical(logits=tensor([-np.inf, 0.0, 1.0])):
        assert not lm.any(distribution.sample((1000,)) == 0)
        assert np.isfinite(distribution.entropy().item())
    leaf = tensor([0.0, 0.4, 0.6])
    leaf.stop_gradient = False
    D.Categorical(leaf).log_prob(lm.asarray([1, 2])).sum().backward()
    assert np.isfinite(leaf.grad.numpy()).all()
    one_hot = D.OneHotCategorical(logits=tensor([-np.inf, 0.0, 0.0]))
    np.testing.assert_allclose(one_hot.log_prob(tensor([0.0, 1.0, 0.0])).item(), np.log(0.5))


def test_multinomial_sums_to_the_number_of_draws():
    draws = EVENTS["Multinomial"]("float32").sample((50,))
    assert lm.all(lm.sum(draws, axis=-1) == 7)
    total = sum(
        np.exp(D.Multinomial(3, tensor([0.2, 0.3, 0.5])).log_prob(tensor(counts)).item())
        for counts in itertools.product(range(4), repeat=3)
        if sum(counts) == 3
    )
    np.testing.assert_allclose(total, 1, rtol=1e-12)


@pytest.mark.parametrize("count", [50, 1000, 10**9])
def test_multinomial_draws_of_many(count):
    """On both sides of where classes are counted one after the other."""
    probs = np.array([[0.2, 0.0, 0.5, 0.3], [1e-4, 0.3, 0.6999, 0.0]])
    draws = D.Multinomial(count, tensor(probs)).sample((3000,)).numpy()
    assert (draws.sum(-1) == count).all() and (draws >= 0).all() and (draws[:, 0, 1] == 0).all()
    error = 5 * np.sqrt(count * probs * (1 - probs) / 3000) + 1e-9
    assert (np.abs(draws.mean(0) - count * probs) <= error).all()
    covariance = np.cov(draws[:, 0, 2], draws[:, 0, 3])[0, 1]
    assert abs(covariance + count * 0.15) < 0.15 * count * 0.25


@pytest.mark.parametrize("count", [0, 1, 16, 21, 1000, 10**6, 10**12])
def test_binomial_draws(count):
    """Means on both sides of where draws are rejected."""
    probs = np.array([0.0, 1e-3, 0.3, 0.5, 0.98, 1.0])
    draws = D.Binomial(count, tensor(probs)).sample((3000,)).numpy()
    assert ((draws >= 0) & (draws <= count)).all() and (draws[:, 0] == 0).all() and (draws[:, -1] == count).all()
    for i in range(1, 5):
        exact = stats.binom(count, probs[i])
        error = 5 * exact.std() / np.sqrt(3000)
        assert abs(draws[:, i].mean() - exact.mean()) <= error
        spread = (draws[:, i] - exact.mean()) ** 2
        assert abs(spread.mean() - exact.var()) <= 5 * spread.std() / np.sqrt(3000) + 1e-9


def test_trials_of_a_batch_may_differ():
    counts = np.array([0.0, 3.0, 40.0, 5000.0])
    draws = D.Binomial(tensor(counts), 0.25).sample((4000,)).numpy()
    np.testing.assert_array_less(np.abs(draws.mean(0) - counts / 4), 5 * draws.std(0) / np.sqrt(4000) + 1e-9)


def test_lkj_of_two_variables_has_a_known_density():
    """The correlation r of two variables has a density proportional to (1 - r * r) ** (concentration - 1)."""
    for concentration in (0.5, 1.0, 3.0):
        exact = stats.beta(concentration, concentration, loc=-1, scale=2)
        distribution = D.LKJCholesky(2, tensor(concentration))
        draws = distribution.sample((3000,))
        assert stats.kstest(draws[:, 1, 0].numpy(), exact.cdf).pvalue > 1e-5
        # The factor's entry is the correlation itself, so that both have one density.
        logs = distribution.log_prob(draws[:20]).numpy()
        np.testing.assert_allclose(logs, exact.logpdf(draws[:20, 1, 0].numpy()), rtol=1e-7, atol=1e-9)


def test_lkj_of_three_variables_integrates_to_one(rng):
    """Over rows of the factor in a cube around the disk, by numbers drawn there."""
    first = rng.uniform(-1, 1, 40000)
    second = rng.uniform(-1, 1, (40000, 2))
    inside = (second**2).sum(1) < 1
    first, second = first[inside], second[inside]
    factors = np.zeros((len(first), 3, 3))
    factors[:, 0, 0] = 1
    factors[:, 1, 0], factors[:, 1, 1] = first, np.sqrt(1 - first**2)
    factors[:, 2, :2], factors[:, 2, 2] = second, np.sqrt(1 - (second**2).sum(1))
    density = np.exp(D.LKJCholesky(3, tensor(2.0)).log_prob(lm.asarray(factors)).numpy())
    total = 8 * density.sum() / 40000
    assert abs(total - 1) < 5 * 8 * density.std() / np.sqrt(40000)


def test_mixture_against_its_formula():
    mixture = EVENTS["MixtureSameFamily"]("float64")
    x = np.linspace(-3, 4, 7)
    weights = np.exp([0.1, 0.5]) / np.exp([0.1, 0.5]).sum()
    parts = stats.norm([[0.0, 3.0], [1.0, -2.0]], [1.0, 0.5])
    at = x[:, None, None]
    np.testing.assert_allclose(
        mixture.log_prob(lm.asarray(x[:, None])).numpy(), np.log((parts.pdf(at) * weights).sum(-1)), rtol=1e-10
    )
    np.testing.assert_allclose(
        mixture.cdf(lm.asarray(x[:, None])).numpy(), (parts.cdf(at) * weights).sum(-1), rtol=1e-10
    )


def test_values_of_every_shape_beside_factors_of_every_shape(rng):
    """Whether vectors share a factor, and are solved for at once, or not."""
    factors = np.tril(rng.normal(size=(2, 3, 4, 4))) + 4 * np.eye(4)
    for batch in ((), (3,), (1,), (2, 3), (2, 1)):
        factor = factors[tuple(slice(size) for size in batch)] if len(batch) == 2 else factors[0]
        factor = factor[0] if batch == () else factor[: batch[0]] if len(batch) == 1 else factor
        distribution = D.MultivariateNormal(lm.zeros([4], dtype="float64"), scale_tril=lm.asarray(factor))
        for shape in ((), (3,), (2, 3), (5, 2, 3), (0, 2, 3)):
            value = rng.normal(size=(*shape, 4))
            got = distribution.log_prob(lm.asarray(value)).numpy()
            solved = np.linalg.solve(
                np.broadcast_to(factor, (*got.shape, 4, 4)), np.broadcast_to(value, (*got.shape, 4))[..., None]
            )
            wanted = -0.5 * (solved**2).sum((-2, -1)) - np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
            np.testing.assert_allclose(got, wanted - 2 * np.log(2 * np.pi), rtol=1e-10)


def test_forms_of_the_matrix_agree():
    covariance = tensor(SPD)
    loc = tensor([0.0, 1.0, 2.0])
    first = D.MultivariateNormal(loc, covariance)
    forms = [
        D.MultivariateNormal(loc, precision_matrix=first.precision_matrix),
        D.MultivariateNormal(loc, scale_tril=first.scale_tril),
    ]
    x = tensor([[0.5, 0.2, 0.1], [3.0, -1.0, 0.0]])
    for other in forms:
        np.testing.assert_allclose(other.log_prob(x).numpy(), first.log_prob(x).numpy(), rtol=1e-10)
        np.testing.assert_allclose(other.covariance_matrix.numpy(), SPD, rtol=1e-10, atol=1e-12)


def test_gradients_of_draws_by_matrices():
    """The mean of x^T x under a normal distribution, and of the trace under Wishart's, have known gradients."""
    covariance = tensor(SPD)
    covariance.stop_gradient = False
    count = 4000
    draws = D.MultivariateNormal(lm.zeros([3], dtype="float64"), covariance).rsample((count,))
    (got,) = lm.grad([(draws * draws).sum() / count], [covariance])
    # The gradient is that of the trace: the identity, taken symmetrically.
    np.testing.assert_allclose(got.numpy(), np.eye(3), atol=0.2)
    df = lm.tensor(np.full(count, 5.0), stop_gradient=False)
    D.Wishart(df, covariance.detach()).rsample().sum().backward()
    slopes = df.grad.numpy()
    assert abs(slopes.mean() - np.sum(SPD)) < 5 * slopes.std() / np.sqrt(count)


def test_straight_through_passes_the_gradient_of_the_probabilities():
    probs = tensor([0.2, 0.3, 0.5])
    probs.stop_gradient = False
    weights = tensor([1.0, 2.0, 4.0])
    distribution = D.OneHotCategoricalStraightThrough(probs)
    draw = distribution.rsample()
    assert sorted(np.round(draw.detach().numpy(), 12)) == [0, 0, 1]
    (draw * weights).sum().backward()
    (wanted,) = lm.grad([((probs / probs.sum()) * weights).sum()], [probs])
    np.testing.assert_allclose(probs.grad.numpy(), wanted.numpy(), rtol=1e-12)


def test_dirichlet_gradient_is_that_of_the_mean():
    count = 4000
    values = np.array([0.3, 1.0, 4.0])
    leaf = lm.tensor(np.broadcast_to(values, (count, 3)).copy(), stop_gradient=False)
    D.Dirichlet(leaf).rsample()[:, 0].sum().backward()
    slopes = leaf.grad.numpy()
    total = values.sum()
    wanted = (np.array([total, 0, 0]) - values[0]) / total**2
    assert (np.abs(slopes.mean(0) - wanted) < 5 * slopes.std(0) / np.sqrt(count)).all()


def test_small_concentrations_give_no_nan():
    for dtype in ("float32", "float64"):
        for distribution in (
            D.Dirichlet(tensor([1e-3, 1e-3, 1e-2], dtype)),
            D.Beta(tensor(1e-3, dtype), 1e-3),
            D.Gamma(tensor(1e-3, dtype), 1.0),
        ):
            draws = distribution.sample((500,))
            assert lm.all(lm.isfinite(distribution.log_prob(draws)))


def leaves_of(distribution):
    """Returns the parameters as leaves, and what makes a distribution of such."""
    given = distribution._given_parameters()
    if "covariance_matrix" in given or "precision_matrix" in given:
        # A matrix that is meant to be symmetric has no differences by single elements.
        given = {name: value for name, value in given.items() if not name.endswith("_matrix")}
        given["scale_tril"] = distribution.scale_tril
    leaves = [lm.tensor(value.numpy(), stop_gradient=False) for value in given.values()]
    fixed = {}
    if isinstance(distribution, D.Multinomial):
        fixed["total_count"] = distribution.total_count
    if isinstance(distribution, D.LKJCholesky):
        fixed["dim"] = distribution.dim

    def build(*values):
        return type(distribution)(**dict(zip(given, values, strict=True)), **fixed, validate_args=False)

    return leaves, build


WITH_PARAMETERS = [name for name in EVENTS if EVENTS[name]("float64").arg_constraints]


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_first_and_second_derivatives_of_log_prob(name):
    leaves, build = leaves_of(EVENTS[name]("float64"))
    value = EVENTS[name]("float64").sample()

    def density(*values):
        return build(*values).log_prob(value)

    assert lm.autograd.gradcheck(density, tuple(leaves))
    assert lm.autograd.gradgradcheck(density, tuple(leaves))


@pytest.mark.parametrize(
    "name", ["LogisticNormal", "LowRankMultivariateNormal", "MultivariateNormal", "RelaxedOneHotCategorical"]
)
def test_gradients_of_draws_are_differences_with_the_same_numbers(name):
    leaves, build = leaves_of(EVENTS[name]("float64"))

    def draw(*values):
        return build(*values).rsample((3,), generator=lm.Generator(seed=4))

    assert lm.autograd.gradcheck(draw, tuple(leaves))
