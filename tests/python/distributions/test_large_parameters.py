"""Densities, entropies and divergences over sixty decades of parameters, against 120-digit numbers.

Errors are in units of eps times the larger of 1 and the result.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from densities import DENSITIES
from entropies import DIVERGENCES, ENTROPIES, digamma, gammaln, log_beta
from scipy import stats

import lamella as lm
from lamella import distributions as D
from lamella import static

#: Tolerated errors. float64 has the rounding of its own logarithms: up to 80 units where two of numbers such as 1e-30
#: cancel, or of 1e-9 to a power of 10. float32 is computed in float64.
UNITS = {"float64": 100.0, "float32": 2.0}
#: Tolerated errors of derivatives of the first and the second order.
SLOPE_UNITS = 128.0
DIGITS = 120


class Unchecked:
    """A scope in which distributions check no numbers."""

    def __enter__(self):
        D.Distribution.set_default_validate_args(False)

    def __exit__(self, *_):
        D.Distribution.set_default_validate_args(True)


by_density = pytest.mark.parametrize("name", DENSITIES)


def columns(numbers, slopes=()):
    found = [lm.asarray(np.ascontiguousarray(column)) for column in numbers.T]
    for i in slopes:
        found[i].stop_gradient = False
    return found


def check(numbers, got, wanted, dtype, units, slack=None):
    """Fails with the worst of the results, where one is too far off."""
    limits = np.finfo(dtype)
    found = []
    for i, (value, exact) in enumerate(zip(got, wanted, strict=True)):
        if mpmath.isinf(exact) or abs(exact) > float(limits.max):
            found.append(0.0 if value == np.sign(float(mpmath.sign(exact))) * np.inf else np.inf)
        elif np.isfinite(value):
            size = max(1, abs(exact), 0 if slack is None else slack[i])
            found.append(float(abs(mpmath.mpf(float(value)) - exact) / size / float(limits.eps)))
        else:
            found.append(np.inf)
    at = int(np.argmax(found))
    told = f"{found[at]:.3g} units at {numbers[at].tolist()}: {got[at]!r}, wanted {mpmath.nstr(wanted[at], 20)}"
    assert found[at] <= units, told


@by_density
@pytest.mark.parametrize("dtype", UNITS)
def test_densities(name, dtype):
    case = DENSITIES[name]
    numbers = case.numbers(dtype)
    value, *parameters = columns(numbers)
    got = case.make(*parameters).log_prob(value)
    assert got.dtype.name == dtype
    with mpmath.workdps(DIGITS):
        rows = [[mpmath.mpf(float(x)) for x in row] for row in numbers]
        wanted = [case.exact(*row) for row in rows]
        slack = [case.slack(*row) for row in rows] if case.slack else None
        check(numbers, got.numpy(), wanted, dtype, UNITS[dtype], slack)


@by_density
def test_densities_one_by_one(name):
    """A density does not depend on those beside it, which may be of another formula."""
    case = DENSITIES[name]
    numbers = case.numbers("float64")[::7]
    value, *parameters = columns(numbers)
    together = case.make(*parameters).log_prob(value).numpy()
    for i, row in enumerate(numbers):
        value, *parameters = columns(row[None])
        np.testing.assert_array_equal(case.make(*parameters).log_prob(value).numpy(), together[i : i + 1])


@by_density
def test_densities_of_many_and_in_vmap(name):
    """Those of many elements are computed block by block, and those in vmap without a look at the numbers."""
    case = DENSITIES[name]
    numbers = case.numbers("float64")[::9]
    value, *parameters = columns(numbers)
    alone = case.make(*parameters).log_prob(value).numpy()
    copies = 2 * 8192 * lm.get_num_threads() // len(numbers) + 2
    operands = columns(np.tile(numbers, (copies, 1)), case.scales)
    together = case.make(*operands[1:]).log_prob(operands[0])
    np.testing.assert_array_equal(together.detach().numpy(), np.tile(alone, copies))
    few = columns(numbers, case.scales)
    grads = lm.grad([case.make(*few[1:]).log_prob(few[0]).sum()], [few[i] for i in case.scales])
    for whole, part in zip(lm.grad([together.sum()], [operands[i] for i in case.scales]), grads, strict=True):
        np.testing.assert_array_equal(whole.numpy(), np.tile(part.numpy(), copies))
    with Unchecked():
        mapped = lm.vmap(lambda x, *given: case.make(*given).log_prob(x))(value, *parameters)
    np.testing.assert_array_equal(mapped.numpy(), alone)


def test_where_the_support_ends():
    """Densities of large parameters are infinite there, or certain, with the slopes of their logarithms."""
    ends = {
        D.Gamma: ((20.0, 2.0), 0.0, -np.inf, (-np.inf, 10.0)),
        D.Poisson: ((0.0,), 20.0, -np.inf, (np.inf,)),
        D.Beta: ((20.0, 30.0), 0.0, -np.inf, (-np.inf, None)),
        D.Binomial: ((40.0, 0.0), 0.0, 0.0, (None, -40.0)),
        D.NegativeBinomial: ((40.0, 0.0), 0.0, 0.0, (0.0, -40.0)),
    }
    for kind, (parameters, value, wanted, slopes_wanted) in ends.items():
        leaves = [lm.tensor(x, dtype="float64", stop_gradient=False) for x in parameters]
        density = kind(*leaves).log_prob(lm.tensor(value, dtype="float64"))
        assert density.item() == wanted, kind
        for got, want in zip(lm.grad([density], leaves), slopes_wanted, strict=True):
            assert want is None or got.item() == want, kind
    # The density of Beta(1, b) at 0 is b.
    b = lm.tensor([3.0, 1e6, 1e20], dtype="float64")
    np.testing.assert_allclose(D.Beta(lm.ones_like(b), b).log_prob(0 * b).numpy(), np.log(b.numpy()), rtol=1e-14)


def test_densities_in_a_program():
    """A static program decides on sizes and numbers when it runs."""
    program = static.Program()
    with static.program_guard(program), Unchecked():
        a, x = (static.data(name, [None], "float64") for name in "ax")
        densities = [D.Gamma(a, a).log_prob(x), D.Poisson(a).log_prob(lm.floor(x)), D.Beta(a, a).log_prob(x / (x + 1))]
    feed = {"a": np.geomspace(1e-3, 1e9, 40), "x": np.geomspace(1e-3, 1e9, 40) * 1.01}
    found = static.Executor().run(program, feed=feed, fetch_list=densities)
    a, x = (lm.asarray(feed[name]) for name in "ax")
    wanted = [D.Gamma(a, a).log_prob(x), D.Poisson(a).log_prob(lm.floor(x)), D.Beta(a, a).log_prob(x / (x + 1))]
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want.numpy())


def slopes(case, numbers, i):
    """The first and the second derivative by a number, by differences of numbers of many digits."""
    for row in numbers:
        at = [mpmath.mpf(float(x)) for x in row]
        step = (abs(at[i]) or 1) * mpmath.mpf(10) ** -60
        low, middle, high = (case.exact(*at[:i], at[i] + move, *at[i + 1 :]) for move in (-step, 0, step))
        yield (high - low) / (2 * step), (high - 2 * middle + low) / step**2


@by_density
def test_slopes_of_densities(name):
    """In reverse mode, and the first ones in forward mode."""
    case = DENSITIES[name]
    numbers = case.numbers("float64")
    numbers = numbers[numbers[:, 0] > 0]
    numbers = numbers[:: len(numbers) // 100 + 1]
    for i, scale in case.scales.items():
        operands = columns(numbers, [i])

        def density(x, i=i, operands=operands):
            value, *parameters = [*operands[:i], x, *operands[i + 1 :]]
            return case.make(*parameters).log_prob(value)

        (first,) = lm.grad([density(operands[i]).sum()], [operands[i]], create_graph=True)
        second = lm.zeros_like(first) if first.stop_gradient else lm.grad([first.sum()], [operands[i]])[0]
        _, forward = lm.jvp(density, operands[i].detach(), lm.ones_like(first))
        with mpmath.workdps(2 * DIGITS):
            exact = list(slopes(case, numbers, i))
            sizes = [scale(float(x)) for x in numbers[:, i]]
            rows = [[mpmath.mpf(float(x)) for x in row] for row in numbers]
            slack = [case.slack(*row) + (1 + abs(row[-1])) * row[1] for row in rows] if case.slack else None
            for order, got in (0, first), (0, forward), (1, second):
                size = np.array(sizes) ** (order + 1)
                wanted = [each[order] * mpmath.mpf(float(s)) for each, s in zip(exact, size, strict=True)]
                check(numbers, got.detach().numpy() * size, wanted, "float64", SLOPE_UNITS, slack)


QUANTITIES = {
    **{f"entropy of {name}": quantity for name, quantity in ENTROPIES.items()},
    **{f"divergence of {name}": quantity for name, quantity in DIVERGENCES.items()},
}


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("name", QUANTITIES)
def test_entropies_and_divergences(name, dtype):
    quantity = QUANTITIES[name]
    numbers = quantity.numbers(dtype)
    got = quantity.compute(*columns(numbers))
    assert got.dtype.name == dtype
    with mpmath.workdps(DIGITS):
        wanted = [quantity.exact(*(mpmath.mpf(float(x)) for x in row)) for row in numbers]
        check(numbers, got.numpy(), wanted, dtype, quantity.units if dtype == "float64" else 8.0)


def many(values):
    """Returns numbers of many digits."""
    return [mpmath.mpf(float(x)) for x in values]


def of_dirichlet(a, x):
    return sum((p - 1) * mpmath.log(q) for p, q in zip(a, x, strict=True)) - log_beta(*a)


def entropy_of_dirichlet(a):
    total = sum(a)
    return log_beta(*a) + (total - len(a)) * digamma(total) - sum((p - 1) * digamma(p) for p in a)


def between_dirichlets(a, b):
    slopes = sum((p - q) * (digamma(p) - digamma(sum(a))) for p, q in zip(a, b, strict=True))
    return log_beta(*b) - log_beta(*a) + slopes


#: Sums of concentrations.
SUMS = (1e-30, 1.0, 3.0, 9.0, 20.0, 1e4, 1e9, 1e15, 1e20, 1e30)


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("total", SUMS)
def test_dirichlet(total, dtype, rng):
    """Values count as divided by their sum, which is 1 up to rounding: up to a deviance of total * eps ** 2."""
    slack = [total * float(np.finfo("float64").eps) ** 2 / float(np.finfo(dtype).eps)]
    for shares in ([1.0, 1.0, 1.0], [0.2, 3.0, 0.8], [1e-6, 1.0, 2.0, 0.3]):
        a = (np.array(shares) * total / len(shares)).astype(dtype)
        mean = a.astype("float64") / a.astype("float64").sum()
        near = np.abs(mean * (1 + rng.standard_normal(len(a)) / np.sqrt(np.maximum(a, 1))))
        distribution = D.Dirichlet(lm.asarray(a))
        with mpmath.workdps(DIGITS):
            for x in (mean, near, rng.random(len(a)) + 1e-3):
                value = (x / x.sum()).astype(dtype)
                exact = many(value)
                wanted = of_dirichlet(many(a), [each / sum(exact) for each in exact])
                got = distribution.log_prob(lm.asarray(value)).item()
                check(value[None], [got], [wanted], dtype, UNITS[dtype], slack)
            got = distribution.entropy().item()
            check(a[None], [got], [entropy_of_dirichlet(many(a))], dtype, UNITS[dtype])
            for factor in (1.0, 1.001, 3.0):
                b = a.copy()
                b[0] *= factor
                got = D.kl_divergence(distribution, D.Dirichlet(lm.asarray(b))).item()
                check(b[None], [got], [between_dirichlets(many(a), many(b))], dtype, UNITS[dtype])


@pytest.mark.parametrize("form", ["probs", "logits"])
@pytest.mark.parametrize("count", [1, 7, 12, 1000, 10**6, 10**9, 10**15, 10**18, 10**30])
def test_multinomial(count, form):
    """Weights are divided by their sum in their dtype: rounding of a probability stands for a change of the density.

    Rounding of a logit changes its probability by as many units as the logit is large.
    """
    for weights in ([1.0, 1.0, 1.0], [0.2, 0.3, 0.5], [1e-9, 0.4, 0.6]):
        given = np.log(weights) if form == "logits" else np.array(weights)
        distribution = D.Multinomial(count, validate_args=False, **{form: lm.asarray(given)})
        p = np.array(weights) / np.sum(weights)
        size = max(1.0, np.abs(given).max())
        with mpmath.workdps(DIGITS):
            exact = many(given) if form == "probs" else [mpmath.exp(x) for x in many(given)]
            exact = [w / sum(exact) for w in exact]
            for steps in (0.0, 1.0, -3.0):
                value = np.maximum(np.floor(count * p + steps * np.sqrt(count * p)), 0.0)
                value[-1] = max(count - value[:-1].sum(), 0.0)
                counts = many(value)
                wanted = mpmath.loggamma(sum(counts) + 1)
                wanted += sum(k * mpmath.log(q) - mpmath.loggamma(k + 1) for k, q in zip(counts, exact, strict=True))
                slack = size * max(abs(k - sum(counts) * q) for k, q in zip(counts, exact, strict=True))
                got = distribution.log_prob(lm.asarray(value)).item()
                check(value[None], [got], [wanted], "float64", UNITS["float64"], [slack])


@pytest.mark.parametrize("count", [1, 12, 300, 20000])
@pytest.mark.parametrize("dtype", UNITS)
def test_entropy_of_multinomial(count, dtype):
    weights = np.array([0.2, 0.3, 0.5]).astype(dtype)
    got = D.Multinomial(count, probs=lm.asarray(weights)).entropy().item()
    wanted = stats.multinomial(count, weights.astype("float64") / weights.astype("float64").sum()).entropy()
    np.testing.assert_allclose(got, wanted, rtol=1e-9 if dtype == "float64" else 3e-7)


SCALE = np.array([[1.5, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.2, 0.5, 1.1]])


def log_multigamma(a, n):
    return n * (n - 1) * mpmath.log(mpmath.pi) / 4 + sum(gammaln(a - mpmath.mpf(i) / 2) for i in range(n))


@pytest.mark.parametrize("df", [3.5, 12.0, 100.0, 1e4, 1e9, 1e15, 1e20, 1e30])
def test_wishart(df):
    """The density has the rounding of the matrix's factor, of a deviation a share as large as the root of df."""
    distribution = D.Wishart(lm.tensor(df, dtype="float64"), scale_tril=lm.asarray(SCALE))
    value = SCALE @ (np.eye(3) + 0.7 * np.ones((3, 3)) / np.sqrt(df)) @ SCALE.T * df
    with mpmath.workdps(DIGITS):
        v, scale, x = mpmath.mpf(df), mpmath.matrix(SCALE.tolist()), mpmath.matrix(value.tolist())
        x = (x + x.T) / 2
        spread = scale * scale.T
        log_det = mpmath.log(mpmath.det(spread))
        trace = sum((spread**-1 * x)[i, i] for i in range(3))
        normalizer = v / 2 * (3 * mpmath.log(2) + log_det) + log_multigamma(v / 2, 3)
        density = (v - 4) / 2 * mpmath.log(mpmath.det(x)) - trace / 2 - normalizer
        slopes = sum(digamma((v - i) / 2) for i in range(3))
        entropy = 2 * log_det + 6 * mpmath.log(2) + log_multigamma(v / 2, 3) - (v - 4) / 2 * slopes + 3 * v / 2
        value = (value + value.T) / 2
        check([value], [distribution.log_prob(lm.asarray(value)).item()], [density], "float64", 64, [mpmath.sqrt(v)])
        check([value], [distribution.entropy().item()], [entropy], "float64", 64)
        for factor in (1.0, 1.5):
            u = mpmath.mpf(df * factor)
            wanted = (v - u) / 2 * slopes + log_multigamma(u / 2, 3) - log_multigamma(v / 2, 3)
            other = D.Wishart(lm.tensor(df * factor, dtype="float64"), scale_tril=lm.asarray(SCALE))
            check([value], [D.kl_divergence(distribution, other).item()], [wanted], "float64", 64)


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("concentration", [1e-3, 0.5, 1.0, 20.0, 1e4, 1e9, 1e15, 1e30])
def test_lkj(concentration, dtype):
    n = 4
    matrix = np.eye(n) + 0.3 / max(1.0, np.sqrt(concentration)) * (1 - np.eye(n))
    factor = np.linalg.cholesky(matrix).astype(dtype)
    given = np.array(concentration, dtype=dtype)
    got = D.LKJCholesky(n, lm.asarray(given), validate_args=False).log_prob(lm.asarray(factor)).item()
    with mpmath.workdps(DIGITS):
        c = mpmath.mpf(float(given))
        alpha = c + mpmath.mpf(n - 1) / 2
        halves = [mpmath.mpf(j + 1) / 2 for j in range(n - 1)]
        integral = sum(gammaln(alpha - h) for h in halves) - (n - 1) * gammaln(alpha)
        integral += n * (n - 1) * mpmath.log(mpmath.pi) / 4
        logs = [mpmath.log(x) for x in many(np.diag(factor)[1:])]
        wanted = sum((2 * (c - 1) + n - 2 - i) * each for i, each in enumerate(logs)) - integral
        check([factor], [got], [wanted], dtype, UNITS[dtype])
