"""Distribution functions and quantiles against scipy's: in the tails, at the ends, with gradients."""

import numpy as np
import pytest

import lamella as lm
from lamella import distributions as D

stats = pytest.importorskip("scipy.stats")

CHANCES = np.array([1e-12, 1e-5, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-9])
#: The class, parameters, and scipy's distribution.
CASES = [
    *((D.Beta, (a, b), stats.beta(a, b)) for a, b in ((0.5, 0.5), (1, 1), (2, 5), (50, 3), (1e3, 2e3))),
    *((D.Gamma, (a, 2.0), stats.gamma(a, scale=0.5)) for a in (0.1, 0.5, 1, 5, 1e5)),
    *((D.InverseGamma, (a, 2.0), stats.invgamma(a, scale=2.0)) for a in (0.5, 3, 1e3)),
    *((D.Chi2, (a,), stats.chi2(a)) for a in (1, 7.5)),
    *((D.StudentT, (a, 1.0, 2.0), stats.t(a, 1.0, 2.0)) for a in (0.3, 1, 2.5, 300)),
    *((D.FisherSnedecor, (a, b), stats.f(a, b)) for a, b in ((0.5, 1), (2, 3), (10, 200))),
]
NAMES = [f"{kind.__name__}{parameters}" for kind, parameters, _ in CASES]
each_case = pytest.mark.parametrize(("kind", "parameters", "reference"), CASES, ids=NAMES)


def made(kind, parameters, **options):
    return kind(*(lm.tensor(float(each), dtype="float64") for each in parameters), **options)


@each_case
def test_quantiles_and_back(kind, parameters, reference):
    distribution = made(kind, parameters)
    found = distribution.icdf(lm.asarray(CHANCES))
    np.testing.assert_allclose(found.numpy(), reference.ppf(CHANCES), rtol=1e-10)
    np.testing.assert_allclose(distribution.cdf(found).numpy(), CHANCES, rtol=1e-8, atol=1e-13)


@each_case
def test_ends_and_probabilities_that_are_none(kind, parameters, reference):
    distribution = made(kind, parameters)
    ends = distribution.icdf(lm.asarray(np.array([0.0, 1.0]))).tolist()
    assert ends == [reference.ppf(0.0), reference.ppf(1.0)]
    with pytest.raises(ValueError, match="icdf: expected probabilities in"):
        distribution.icdf(lm.tensor(1.5))
    short = kind(*map(float, parameters)).icdf(lm.tensor([0.25, 0.75]))
    assert short.dtype == lm.float32
    np.testing.assert_allclose(short.numpy(), reference.ppf([0.25, 0.75]), rtol=1e-5)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (D.Beta, (2.0, 3.0)),
        (D.Gamma, (2.5, 1.5)),
        (D.InverseGamma, (2.5, 1.5)),
        (D.StudentT, (3.0, 0.5, 1.5)),
        (D.FisherSnedecor, (4.0, 5.0)),
    ],
)
@pytest.mark.parametrize("method", ["cdf", "icdf"])
def test_gradients_by_all_arguments(kind, parameters, method):
    leaves = [lm.tensor(each, dtype="float64", stop_gradient=False) for each in (*parameters, 0.3)]

    def of(*arguments):
        return getattr(kind(*arguments[:-1], validate_args=False), method)(arguments[-1])

    assert lm.autograd.gradcheck(of, tuple(leaves))
