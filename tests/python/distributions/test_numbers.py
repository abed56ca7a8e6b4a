"""Distributions of single numbers: densities, moments, quantiles and draws against scipy."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from distribution_cases import CASES
from scipy import stats

import lamella as lm
from lamella import distributions as D
from support.numeric import differences

TOLERANCE = {"float64": 1e-10, "float32": 3e-5}
by_case = pytest.mark.parametrize("name", CASES)


def has(distribution, method, *arguments):
    """Returns the method's result, or None where there is no closed form."""
    try:
        found = getattr(distribution, method)
        return found(*arguments) if callable(found) else found
    except NotImplementedError:
        return None


@by_case
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_log_prob(name, dtype):
    case = CASES[name]
    x = case.points().astype(dtype)
    reference = case.reference()
    wanted = reference.logpmf(x.astype("float64")) if case.discrete else reference.logpdf(x.astype("float64"))
    got = case.build(dtype).log_prob(lm.asarray(x))
    assert got.dtype.name == dtype
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(got.numpy(), wanted, rtol=tolerance * (20 if dtype == "float32" else 1), atol=tolerance)


@by_case
def test_moments_and_entropy(name):
    case = CASES[name]
    got, reference = case.build(), case.reference()
    skipped = {"RelaxedBernoulli": ("mean", "var", "entropy"), "VonMises": ("mean", "var"), "Kumaraswamy": ("entropy",)}
    for mine, theirs in ("mean", "mean"), ("variance", "var"), ("entropy", "entropy"):
        value = has(got, mine)
        if value is None or theirs in skipped.get(name, ()):
            continue
        np.testing.assert_allclose(value.numpy(), getattr(reference, theirs)(), rtol=1e-7, atol=1e-9, err_msg=mine)
    if has(got, "variance") is not None:
        np.testing.assert_allclose(got.stddev.numpy() ** 2, got.variance.numpy(), rtol=1e-12)
    if (entropy := has(got, "entropy")) is not None:
        np.testing.assert_allclose(got.perplexity().numpy(), np.exp(entropy.numpy()), rtol=1e-12)


@by_case
def test_the_mode_has_the_greatest_density(name):
    case = CASES[name]
    distribution = case.build()
    mode = has(distribution, "mode")
    if mode is None:
        return
    x = case.points(np.linspace(0.01, 0.99, 197))
    others = distribution.log_prob(lm.asarray(x)).numpy().max(0)
    known = ~np.isnan(mode.numpy())
    inside = distribution.support.check(mode).numpy() & known
    at = distribution.log_prob(lm.where(lm.asarray(inside), mode, lm.asarray(x[0]))).numpy()
    assert (at >= others - 1e-12)[inside & known].all()


@by_case
def test_cdf_and_its_inverse(name):
    case = CASES[name]
    distribution, reference = case.build(), case.reference()
    x = case.points()
    if (chances := has(distribution, "cdf", lm.asarray(x))) is None:
        return
    np.testing.assert_allclose(chances.numpy(), reference.cdf(x), rtol=1e-9, atol=1e-12)
    if (quantiles := has(distribution, "icdf", chances)) is not None:
        np.testing.assert_allclose(quantiles.numpy(), x, rtol=1e-8)
        # The density is the slope of the distribution function, and the gradient says so.
        leaf = lm.tensor(x, stop_gradient=False)
        distribution.cdf(leaf).sum().backward()
        np.testing.assert_allclose(leaf.grad.numpy(), np.exp(reference.logpdf(x)), rtol=1e-8)


@by_case
def test_draws_follow_the_distribution(name):
    case = CASES[name]
    reference = case.reference()
    count = 4000
    for dtype in ("float32", "float64"):
        draws = case.build(dtype).sample((count,))
        assert draws.shape == (count, 3) and draws.dtype.name == dtype and draws.stop_gradient
        assert lm.all(case.build(dtype).support.check(draws))
        draws = draws.numpy().astype("float64")
        for i in range(3):
            if case.discrete:
                values, counts = np.unique(draws[:, i], return_counts=True)
                expected = count * reference.pmf(values[:, None])[:, i]
                kept = expected > 5
                observed = np.append(counts[kept], count - counts[kept].sum())
                wanted = np.append(expected[kept], count - expected[kept].sum())
                statistic = ((observed - wanted) ** 2 / np.maximum(wanted, 1)).sum()
                assert stats.chi2(max(len(observed) - 1, 1)).sf(statistic) > 1e-5
            else:
                chances = reference.cdf(np.broadcast_to(draws[:, i, None], (count, 3)))[:, i]
                chances = chances - chances.min() if name == "VonMises" else chances
                assert stats.kstest(np.clip(chances, 0, 1), "uniform").pvalue > 1e-5


@by_case
def test_gradients_of_draws_keep_the_quantile(name):
    """dx/dp of a draw x is that of scipy's quantile function, at x's probability."""
    case = CASES[name]
    if not case.make.has_rsample or not case.quantile:
        return
    distribution = case.build(gradient=True)
    draws = distribution.rsample((20,))
    x = draws.detach().numpy()
    for parameter in case.parameters:
        value = case.arrays()[parameter]
        (got,) = lm.grad([draws.sum()], [getattr(distribution, parameter)], retain_graph=True)
        step = 1e-5 * np.maximum(np.abs(value), 0.1)

        def moved(sign, parameter=parameter, value=value, step=step):
            chance = case.reference().cdf(x)
            upper = chance > 0.5
            other = case.reference(**{parameter: value + sign * step})
            # The upper tail has digits of its own, where scipy offers them.
            if upper.any() and hasattr(other, "isf"):
                return np.where(upper, other.isf(case.reference().sf(x)), other.ppf(chance))
            return other.ppf(chance)

        wanted = (moved(1) - moved(-1)).sum(0) / (2 * step)
        scale = np.abs((moved(1) - moved(-1)) / (2 * step)).sum(0)
        np.testing.assert_allclose(got.numpy(), wanted, atol=1e-5 * scale.max() + 1e-7, err_msg=parameter)


@by_case
def test_gradients_of_draws_are_those_of_the_mean(name):
    """The mean of the gradients of draws is the gradient of the mean, within five standard errors."""
    case = CASES[name]
    if not case.make.has_rsample or case.quantile:
        return
    count = 4000
    parameters = {
        p: lm.tensor(np.broadcast_to(v, (count, 3)).copy(), stop_gradient=False) for p, v in case.arrays().items()
    }
    draws = case.make(**parameters).rsample()
    function = lm.tanh(draws)
    for parameter, leaf in parameters.items():
        (got,) = lm.grad([function.sum()], [leaf], retain_graph=True)
        value = case.arrays()[parameter]
        chances = (np.arange(20000) + 0.5) / 20000

        def mean(values, parameter=parameter, chances=chances):
            return np.tanh(case.reference(**{parameter: values}).ppf(chances[:, None])).mean(0)

        step = 1e-4 * np.abs(value)
        wanted = (mean(value + step) - mean(value - step)) / (2 * step)
        error = got.numpy().std(0) / np.sqrt(count)
        assert (np.abs(got.numpy().mean(0) - wanted) < 5 * error + 1e-4).all(), parameter


@by_case
def test_gradients_of_log_prob(name):
    """By each parameter, first and second derivatives, against differences of scipy and of the first."""
    case = CASES[name]
    x = case.points()
    density = "logpmf" if case.discrete else "logpdf"
    for parameter in case.parameters:
        value = case.arrays()[parameter]
        distribution = case.build(gradient=True)
        leaf = getattr(distribution, parameter)
        (got,) = lm.grad([distribution.log_prob(lm.asarray(x)).sum()], [leaf], create_graph=True)
        wanted = differences(
            lambda v, parameter=parameter: getattr(case.reference(**{parameter: v}), density)(x).sum(), value
        )
        np.testing.assert_allclose(got.detach().numpy(), wanted, rtol=2e-5, atol=2e-5, err_msg=parameter)
        if got.stop_gradient:
            continue  # linear
        (second,) = lm.grad([got.sum()], [leaf])

        def first(v, parameter=parameter):
            moved = case.build(gradient=True, **{parameter: v})
            (slope,) = lm.grad([moved.log_prob(lm.asarray(x)).sum()], [getattr(moved, parameter)])
            return slope.numpy().sum()

        np.testing.assert_allclose(second.numpy(), differences(first, value), rtol=2e-5, atol=2e-5, err_msg=parameter)


LARGE = {
    "Beta": (lm.distributions.Beta, stats.beta, [3e5, 2e6]),
    "Binomial": (lm.distributions.Binomial, stats.binom, [2e6, 0.25]),
    "Gamma": (lm.distributions.Gamma, lambda a, rate: stats.gamma(a, scale=1 / rate), [3e6, 2.0]),
    "InverseGamma": (lm.distributions.InverseGamma, lambda a, rate: stats.invgamma(a, scale=rate), [3e6, 2.0]),
    "NegativeBinomial": (lm.distributions.NegativeBinomial, lambda n, p: stats.nbinom(n, 1 - p), [1e6, 0.25]),
    "Poisson": (lm.distributions.Poisson, stats.poisson, [3e6]),
    "StudentT": (lm.distributions.StudentT, stats.t, [1e7]),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_parameters_keep_the_digits_of_float32(name):
    make, reference, parameters = LARGE[name]
    values = [float(np.float32(value)) for value in parameters]
    exact = reference(*values)
    x = exact.ppf(np.array([0.01, 0.3, 0.5, 0.9])).astype("float32")
    density = exact.logpmf if hasattr(exact.dist, "pmf") else exact.logpdf
    got = make(*(lm.tensor(value, dtype="float32") for value in values)).log_prob(lm.asarray(x))
    assert got.dtype == lm.float32
    np.testing.assert_allclose(got.numpy(), density(x.astype("float64")), rtol=2e-6, atol=2e-6)
    if name in ("Beta", "Gamma"):
        p = make(*(lm.tensor(value, dtype="float32") for value in values))
        q = make(*(lm.tensor(value * 1.001, dtype="float32") for value in values))
        doubled = [make(*(x.astype("float64") for x in vars(d).values() if isinstance(x, lm.Tensor))) for d in (p, q)]
        wanted = lm.distributions.kl_divergence(*doubled).item()
        np.testing.assert_allclose(lm.distributions.kl_divergence(p, q).item(), wanted, rtol=1e-5)


LOGITS = {
    # By the distribution of logits x: the derivative of its log_prob(k) by x, given the probability p of a success.
    "bernoulli": (lambda x: D.Bernoulli(logits=x), lambda k, p: k - p),
    "binomial": (lambda x: D.Binomial(1, logits=x), lambda k, p: k - p),
    "negative binomial": (lambda x: D.NegativeBinomial(2.0, logits=x), lambda k, p: k * (1 - p) - 2 * p),
    "geometric": (lambda x: D.Geometric(logits=x), lambda k, p: (1 - p) - k * p),
}


@pytest.mark.parametrize("name", LOGITS)
def test_gradients_by_logits(name):
    make, slope = LOGITS[name]
    for k in (0.0, 1.0):
        x = lm.tensor([0.0, 1e-8, 1.5, -2.0, 40.0, -40.0], stop_gradient=False)
        lm.sum(make(x).log_prob(lm.full([6], k))).backward()
        p = 1 / (1 + np.exp(-x.detach().numpy().astype(np.float64)))
        np.testing.assert_allclose(x.grad.numpy(), slope(k, p), rtol=1e-5, atol=1e-6)


def test_no_failure_to_wait_for():
    d = D.NegativeBinomial(lm.tensor([0.0, 2.0]), probs=0.3)
    np.testing.assert_allclose(d.log_prob(lm.zeros([2])).numpy(), [0.0, 2 * np.log(0.7)], rtol=1e-6)
    assert d.log_prob(lm.ones([2])).numpy()[0] == -np.inf
    assert not lm.any(d.sample((50,))[:, 0] != 0) and d.mean.tolist()[0] == 0


@pytest.mark.parametrize("make", [D.OneHotCategorical, lambda **weights: D.Multinomial(2, **weights)])
def test_gradients_by_counts(make):
    """Logits are the slopes of the density also where a count is 0, unless they are infinite."""
    logits = lm.log_softmax(lm.tensor([0.2, -1.0, 0.5], dtype="float64"), axis=-1)
    for given in (logits, lm.tensor([0.0, -np.inf, 0.0], dtype="float64")):
        distribution = make(logits=given)
        count = 1 if isinstance(distribution, D.OneHotCategorical) else 2
        value = lm.tensor([float(count), 0.0, 0.0], dtype="float64")
        value.stop_gradient = False
        (got,) = lm.grad([distribution.log_prob(value)], [value])
        wanted = np.where(np.isinf(distribution.logits.numpy()), 0.0, distribution.logits.numpy())
        if count == 2:
            wanted = wanted + (lm.digamma(lm.tensor(3.0, dtype="float64")) - lm.digamma(value.detach() + 1)).numpy()
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12)


def test_generalized_pareto_beyond_its_ends():
    """Also without checks nothing lies below loc, and all below an upper end, the mode of a concentration below -1."""
    concentration = lm.tensor([0.5, 0.0, -0.5, -2.0])
    distribution = D.GeneralizedPareto(1.0, 2.0, concentration, validate_args=False)
    assert distribution.cdf(lm.tensor(0.5)).tolist() == [0.0] * 4
    assert distribution.cdf(lm.tensor(5.5))[2:].tolist() == [1.0, 1.0]
    assert distribution.mode.tolist() == [1.0, 1.0, 1.0, 2.0] and lm.isnan(D.GeneralizedPareto(0.0, 1.0, -1.0).mode)


def wide(values) -> lm.Tensor:
    return lm.tensor(values, dtype="float64")


BEYOND: dict[str, tuple[D.Distribution, float, float]] = {
    **{
        f"Binomial of {n:g} at {p:g}": (D.Binomial(wide(n), wide(p)), n * p, n * p * (1 - p))
        for n, p in ((1e9, 0.3), (1e15, 1e-9), (1e16, 0.001), (1e17, 0.9), (1e18, 0.5), (1e18, 1e-9))
    },
    **{f"Poisson at {rate:g}": (D.Poisson(wide(rate)), rate, rate) for rate in (0.9e8, 1.1e8, 1e16, 1e18)},
    **{f"VonMises at {k:g}": (D.VonMises(wide(0), wide(k)), 0.0, 1 / k) for k in (1e6, 0.9e8, 1.1e8, 1e18, 1e38)},
}


@pytest.mark.parametrize("name", BEYOND)
def test_draws_of_large_parameters(name):
    """Logarithms of chances that are as large as 1e19 are not told apart by their difference."""
    distribution, mean, variance = BEYOND[name]
    count = 20_000
    draws = distribution.sample((count,), generator=lm.Generator().manual_seed(4)).numpy()
    assert abs(draws.mean() - mean) < 5 * np.sqrt(variance / count)
    assert 0.92 < draws.var() / variance < 1.08


def test_von_mises_at_its_ends():
    k = np.array([1e-8, 0.5, 20.0, 999.0, 1001.0, 1e5, 1e16])
    got = D.VonMises(wide(np.zeros(7)), wide(k)).variance.numpy()
    for value, at in zip(got, k, strict=True):
        with mpmath.workdps(50):
            far = 1 / (2 * mpmath.mpf(at)) + 1 / (8 * mpmath.mpf(at) ** 2)
            want = far if at > 1e10 else 1 - mpmath.besseli(1, at) / mpmath.besseli(0, at)
        np.testing.assert_allclose(value, float(want), rtol=1e-12)
    draws = D.VonMises(wide(np.zeros(4)), wide([0.0, -1.0, np.inf, np.nan]), validate_args=False).sample((500,)).numpy()
    assert abs(np.cos(draws[:, 0]).mean()) < 0.2 and 0.4 < np.square(np.cos(draws[:, 0])).mean() < 0.6
    assert np.isnan(draws[:, [1, 3]]).all() and (draws[:, 2] == 0).all()


@pytest.mark.parametrize("df", [0.5, 29.0, 61.0, 1e3, 1e9, 1e15, 1e300])
def test_student_with_many_degrees_of_freedom(df):
    """The distribution becomes the normal one, and the difference of two large logarithms a small one."""
    distribution = D.StudentT(wide(df))
    with mpmath.workdps(700):
        v = mpmath.mpf(df)
        ratio = mpmath.loggamma((v + 1) / 2) - mpmath.loggamma(v / 2)
        slope = mpmath.digamma((v + 1) / 2) - mpmath.digamma(v / 2)
        at = [ratio - mpmath.log(v * mpmath.pi) / 2 - (v + 1) / 2 * mpmath.log(1 + x * x / v) for x in (0, 1.5, 4)]
        entropy = (v + 1) / 2 * slope + mpmath.log(v * mpmath.pi) / 2 - ratio
    np.testing.assert_allclose(distribution.log_prob(wide([0.0, 1.5, 4.0])).numpy(), [float(x) for x in at], rtol=4e-14)
    np.testing.assert_allclose(distribution.entropy().item(), float(entropy), rtol=4e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_by_a_concentration_of_0(dtype: str) -> None:
    """The functions are smooth there: values and two derivatives are those of the formulas' power series."""
    z, p = np.array([0.5, 2.5, 40.0]), np.array([0.3, 0.8, 0.999])
    for concentration in (0.0, 1e-12, -1e-12, 1e-20):
        c = lm.tensor(concentration, dtype=dtype, stop_gradient=False)
        one, zero = lm.ones([], dtype=dtype), lm.zeros([], dtype=dtype)
        distribution = D.GeneralizedPareto(zero, one, c, validate_args=False)
        wait = -np.log1p(-p)
        cases = [
            (distribution.log_prob(lm.asarray(z.astype(dtype))), -z, z**2 / 2 - z, z**2 - 2 * z**3 / 3),
            (distribution.icdf(lm.asarray(p.astype(dtype))), wait, wait**2 / 2, wait**3 / 3),
        ]
        for values, *wanted in cases:
            np.testing.assert_allclose(values.detach().numpy(), wanted[0], 1e-5)
            for i, (first, second) in enumerate(zip(*wanted[1:], strict=True)):
                [slope] = lm.grad(values[i], [c], create_graph=True)
                np.testing.assert_allclose(slope.item(), first, 1e-5)
                np.testing.assert_allclose(lm.grad(slope, [c], retain_graph=True)[0].item(), second, 1e-5)


@pytest.mark.parametrize("concentration", [0.0, 1e-12, 0.5, -0.5])
def test_ends_of_generalized_pareto(concentration: float) -> None:
    distribution = D.GeneralizedPareto(1.0, 2.0, concentration, validate_args=False)
    end = 5.0 if concentration < 0 else np.inf
    assert distribution.icdf(lm.asarray([0.0, 1.0])).tolist() == [1.0, end]
    assert distribution.cdf(lm.asarray([1.0, np.inf])).tolist() == [0.0, 1.0]
    assert concentration < 0 or distribution.log_prob(lm.asarray(np.inf)).item() == -np.inf
