"""The gradient of draws of gamma distributions, and of the incomplete gamma function, by the concentration."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import special, stats

import lamella as lm
from lamella.distributions import Gamma
from lamella.distributions._implicit import gamma_slope, log_standard_gamma, lower_gamma

CONCENTRATIONS = [1e-3, 0.02, 0.3, 0.9, 1.0, 1.1, 2.5, 10.0, 100.0, 3000.0]
CHANCES = [1e-10, 1e-3, 0.1, 0.4, 0.6, 0.9, 0.999, 1 - 1e-10]


def pairs():
    """Concentrations and quantiles on both sides of the median, as far as quantiles are above 0."""
    a, p = (grid.ravel() for grid in np.meshgrid(CONCENTRATIONS, CHANCES))
    x = stats.gamma.ppf(p, a)
    kept = x > 1e-290
    return a[kept], x[kept]


def exact(a, x):
    """Minus the derivative of the distribution function by a, divided by the density: by 40 digits."""
    with mpmath.workdps(40):
        a, x = mpmath.mpf(float(a)), mpmath.mpf(float(x))
        step = a * mpmath.mpf(10) ** -12

        def distribution(b):
            return mpmath.gammainc(b, 0, x, regularized=True)

        slope = (distribution(a + step) - distribution(a - step)) / (2 * step)
        return float(-slope / mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a)))


def test_slope_against_exact_numbers():
    a, x = pairs()
    wanted = [exact(*pair) for pair in zip(a, x, strict=True)]
    np.testing.assert_allclose(gamma_slope(lm.asarray(a), lm.asarray(x)).numpy(), wanted, rtol=2e-12)
    # With a float32 concentration fewer nodes serve; rounding it moves the exact number, here by its own rounding.
    a = a.astype("float32")
    wanted = [exact(*pair) for pair in zip(a, x, strict=True)]
    np.testing.assert_allclose(gamma_slope(lm.asarray(a), lm.asarray(x)).numpy(), wanted, rtol=1.5e-7, atol=1e-38)


def test_slope_against_differences_of_quantiles():
    a = np.array([0.3, 1.0, 4.0, 50.0])[:, None]
    p = np.linspace(0.05, 0.95, 19)
    x = stats.gamma.ppf(p, a)
    step = 1e-5 * a
    wanted = (stats.gamma.ppf(p, a + step) - stats.gamma.ppf(p, a - step)) / (2 * step)
    got = gamma_slope(lm.asarray(np.broadcast_to(a, x.shape).copy()), lm.asarray(x))
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6)


def test_slope_of_many_elements_is_that_of_few(rng):
    a = rng.uniform(0.1, 5, 5000)
    x = rng.gamma(a)
    whole = gamma_slope(lm.asarray(a), lm.asarray(x)).numpy()
    np.testing.assert_allclose(whole[:50], gamma_slope(lm.asarray(a[:50]), lm.asarray(x[:50])).numpy(), rtol=1e-13)


@pytest.mark.parametrize("large", [1e5, 1e8])
def test_slope_of_large_concentrations_is_that_of_the_normal_limit(large):
    """A draw is near a + z sqrt(a) + (z * z - 1) / 3 for a normal z, by Cornish and Fisher's expansion."""
    z = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    x = large + z * np.sqrt(large) + (z * z - 1) / 3
    got = gamma_slope(lm.full([5], large, dtype="float64"), lm.asarray(x)).numpy()
    np.testing.assert_allclose(got, 1 + z / (2 * np.sqrt(large)), rtol=0, atol=3 / large)


def test_derivatives_of_the_slope():
    """Backward is differentiable itself, by the concentration and by the draw."""
    assert lm.autograd.gradcheck(
        gamma_slope,
        (
            lm.tensor([0.4, 0.8, 2.0, 5.0, 5.0], dtype="float64", stop_gradient=False),
            lm.tensor([0.05, 2.0, 1.0, 9.0, 1.0], dtype="float64", stop_gradient=False),
        ),
    )
    concentration = lm.tensor([0.5, 3.0], stop_gradient=False)
    draws = Gamma(concentration, 1.0).rsample((4,))
    (first,) = lm.grad([draws.sum()], [concentration], create_graph=True)
    (second,) = lm.grad([first.sum()], [concentration])
    assert lm.all(lm.isfinite(second))


def test_second_derivative_of_a_quantile():
    """As a quantile is a function of a alone: d2x/da2 by differences of scipy's."""
    a, p, step = 3.0, 0.7, 1e-3
    x = stats.gamma.ppf(p, a)
    leaf, at = lm.tensor(a, dtype="float64", stop_gradient=False), lm.tensor(x, dtype="float64", stop_gradient=False)
    slope = gamma_slope(leaf, at)
    by_a, by_x = lm.grad([slope], [leaf, at])
    wanted = (stats.gamma.ppf(p, a + step) - 2 * x + stats.gamma.ppf(p, a - step)) / step**2
    np.testing.assert_allclose(by_a.item() + by_x.item() * slope.item(), wanted, rtol=1e-4)


def test_lower_gamma_and_its_derivatives():
    a, x = pairs()
    np.testing.assert_allclose(lower_gamma(lm.asarray(a), lm.asarray(x)).numpy(), special.gammainc(a, x), rtol=1e-11)
    a = lm.tensor([0.5, 2.0, 7.0], dtype="float64", stop_gradient=False)
    x = lm.tensor([0.2, 3.0, 4.0], dtype="float64", stop_gradient=False)
    assert lm.autograd.gradcheck(lower_gamma, (a, x))
    assert lm.autograd.gradgradcheck(lower_gamma, (a, x))
    (at_zero,) = lm.grad([lower_gamma(a, lm.zeros_like(x)).sum()], [a])
    assert lm.all(at_zero == 0)


def test_logarithms_of_draws():
    for a in (1e-3, 0.3, 4.0):
        logs = log_standard_gamma(lm.tensor(a, dtype="float64"), (3000,), None).numpy()
        assert np.isfinite(logs).all()
        # The logarithm of the distribution function, as x itself underflows for the smallest concentration.
        chances = np.where(logs > -600, special.gammainc(a, np.exp(logs)), np.exp(a * logs - special.gammaln(a + 1)))
        assert stats.kstest(chances, "uniform").pvalue > 1e-5


def test_half_precision_and_forward_mode():
    concentration = lm.tensor([0.5, 3.0], dtype="float16", stop_gradient=False)
    Gamma(concentration, 1.0).rsample((3,)).sum().backward()
    assert concentration.grad.dtype.name == "float16"

    def draw(a):
        return Gamma(a, 1.0).rsample(generator=lm.Generator(seed=3))

    a = lm.tensor([0.5, 3.0], dtype="float64")
    draws, tangent = lm.jvp(draw, a, lm.ones([2], dtype="float64"))
    np.testing.assert_allclose(tangent.numpy(), gamma_slope(a, draws).numpy(), rtol=1e-12)
