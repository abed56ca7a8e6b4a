"""What holds of all distributions: shapes, expansion, copies, generators, checks of arguments."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any, ClassVar

import numpy as np
import pytest
from distribution_cases import CASES, EVERY, tensor

import lamella as lm
from lamella import distributions as D

by_name = pytest.mark.parametrize("name", EVERY)


def numbers(x):
    return x.detach().numpy()


def test_every_distribution_is_among_the_cases():
    made = {type(make("float32")).__name__ for make in EVERY.values()}
    abstract = {"Distribution", "ExponentialFamily", "LogitRelaxedBernoulli", "ExpRelaxedCategorical"}
    classes = {
        name for name in D.__all__ if inspect.isclass(found := getattr(D, name)) and issubclass(found, D.Distribution)
    }
    assert classes - abstract == made


@by_name
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shapes_and_dtypes(name, dtype):
    distribution = EVERY[name](dtype)
    batch, event = distribution.batch_shape, distribution.event_shape
    for shape in (), (1,), (2, 5), (0,):
        draws = distribution.sample(shape)
        assert draws.shape == (*shape, *batch, *event) and draws.stop_gradient
        assert draws.dtype.name == ("int64" if isinstance(distribution, D.Categorical) else dtype)
        logs = distribution.log_prob(draws)
        assert logs.shape == (*shape, *batch) and logs.dtype.name == dtype
        assert lm.all(lm.isfinite(logs))
        if distribution.has_rsample:
            assert distribution.rsample(shape).shape == draws.shape
        else:
            with pytest.raises(NotImplementedError, match="rsample"):
                distribution.rsample(shape)
    for moment in ("mean", "mode", "variance", "stddev"):
        try:
            assert getattr(distribution, moment).shape == batch + event, moment
        except NotImplementedError:
            continue
    with pytest.raises(TypeError, match="shape: expected a sequence of lengths, got int"):
        distribution.sample(3)


def test_representations():
    normal = D.Normal(lm.zeros([3]), 1.0)
    assert repr(normal) == "Normal(loc: [3], scale: [3])"
    assert repr(D.LogNormal(0.0, 1.0)) == "LogNormal(loc: 0.0, scale: 1.0)"
    assert repr(D.Bernoulli(logits=0.5)) == "Bernoulli(logits: 0.5)"
    assert repr(D.Independent(normal, 1)) == "Independent(Normal(loc: [3], scale: [3]), 1)"
    flow = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform(), D.AffineTransform(1.0, 2.0).inv])
    assert repr(flow) == (
        "TransformedDistribution(Normal(loc: 0.0, scale: 1.0), "
        "[ExpTransform(), AffineTransform(loc=1.0, scale=2.0).inv])"
    )
    mixture = D.MixtureSameFamily(D.Categorical(lm.ones([3])), normal)
    assert repr(mixture) == "MixtureSameFamily(Categorical(probs: [3]), Normal(loc: [3], scale: [3]))"


@by_name
def test_expanded_distributions_have_the_same_numbers(name):
    distribution = EVERY[name]("float64")
    distribution.log_prob(distribution.sample())  # what is computed when first asked for is there
    shape = (4, *distribution.batch_shape)
    larger = distribution.expand(shape)
    assert larger.batch_shape == shape and larger.event_shape == distribution.event_shape
    assert type(larger) is type(distribution)
    draws = larger.sample((3,))
    assert draws.shape == (3, *shape, *distribution.event_shape)
    np.testing.assert_allclose(numbers(larger.log_prob(draws)), numbers(distribution.log_prob(draws)), rtol=1e-12)
    assert lm.all(larger.support.check(draws))
    for moment in ("mean", "mode", "variance"):
        try:
            wanted = numbers(getattr(distribution, moment))
        except NotImplementedError:
            continue
        got = numbers(getattr(larger, moment))
        np.testing.assert_array_equal(got, np.broadcast_to(wanted, got.shape))
    try:
        entropy = larger.entropy()
        assert entropy.shape == shape
    except NotImplementedError:
        pass
    assert larger.expand((2, *shape)).sample().shape == (2, *shape, *distribution.event_shape)
    with pytest.raises(ValueError, match="cannot be expanded"):
        distribution.expand((7, 5))


@by_name
@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_draw_and_evaluate_alike(name, take):
    distribution = EVERY[name]("float64")
    distribution.log_prob(distribution.sample())
    copied = take(distribution)
    first = distribution.sample((3,), generator=lm.Generator(seed=5))
    second = copied.sample((3,), generator=lm.Generator(seed=5))
    np.testing.assert_array_equal(numbers(first), numbers(second))
    np.testing.assert_array_equal(numbers(copied.log_prob(first)), numbers(distribution.log_prob(first)))


@by_name
def test_draws_are_those_of_the_generator(name):
    distribution = EVERY[name]("float32")
    state = lm.get_rng_state()
    first = distribution.sample((4,), generator=lm.Generator(seed=9))
    assert lm.get_rng_state() == state
    again = distribution.sample((4,), generator=lm.Generator(seed=9))
    np.testing.assert_array_equal(numbers(first), numbers(again))
    lm.seed(1)
    third = distribution.sample((50,))
    lm.seed(1)
    np.testing.assert_array_equal(numbers(third), numbers(distribution.sample((50,))))
    assert (numbers(third) != numbers(distribution.sample((50,)))).any()


@by_name
def test_gradients_reach_every_parameter(name):
    """Through log_prob twice, which no value that was kept may break, and through draws."""
    distribution = EVERY[name]("float64")
    leaves = {}
    for parameter in distribution.arg_constraints:
        value = distribution._given_parameters().get(parameter)
        if value is not None:
            leaves[parameter] = value.detach()
            leaves[parameter].stop_gradient = False
    if not leaves or "total_count" in leaves or isinstance(distribution, D.LKJCholesky | D.Independent):
        return
    settings = {"total_count": distribution.total_count} if isinstance(distribution, D.Multinomial) else {}
    wanting = type(distribution)(**leaves, **settings)
    value = distribution.sample()
    for _ in range(2):
        gradients = lm.grad([wanting.log_prob(value).sum()], list(leaves.values()), retain_graph=True)
        assert all(lm.all(lm.isfinite(gradient)) for gradient in gradients)
    if wanting.has_rsample:
        draws = wanting.rsample()
        assert not draws.stop_gradient
        gradients = lm.grad([(draws * draws).sum()], list(leaves.values()))
        assert all(lm.all(lm.isfinite(gradient)) for gradient in gradients)
    assert wanting.sample().stop_gradient


#: Arguments that are refused: a class, arguments, the error, and a part of its text.
REFUSED = [
    (
        D.Normal,
        (0.0, -1.0),
        ValueError,
        r"\[Normal\] scale: expected values of GreaterThan\(lower_bound=0.0\), got -1.0",
    ),
    (D.Normal, (float("nan"), 1.0), ValueError, r"\[Normal\] loc: expected values of Real"),
    (D.LogNormal, (0.0, -1.0), ValueError, r"\[LogNormal\] scale"),
    (D.LogisticNormal, (lm.zeros([2]), -1.0), ValueError, r"\[LogisticNormal\] scale"),
    (D.RelaxedBernoulli, (-1.0, 0.5), ValueError, r"\[RelaxedBernoulli\] temperature"),
    (D.RelaxedOneHotCategorical, (1.0, lm.tensor([1.0, -0.5])), ValueError, r"\[RelaxedOneHotCategorical\] probs"),
    (D.Normal, ("0", 1.0), TypeError, r"\[Normal\] loc: expected a Tensor or a number, got str"),
    (D.Normal, (lm.zeros([2]), lm.ones([3])), ValueError, r"\[Normal\] the shapes .* \(loc: \[2\], scale: \[3\]\)"),
    (D.Normal, (lm.zeros([2], dtype="complex64"), 1.0), TypeError, "expected real numbers, got complex64"),
    (D.Bernoulli, (1.5,), ValueError, r"\[Bernoulli\] probs"),
    (D.Bernoulli, (), ValueError, r"\[Bernoulli\] expected exactly one of probs and logits, got none of them"),
    (D.Bernoulli, (0.5, 0.5), ValueError, r"got probs, logits"),
    (D.Categorical, (lm.tensor([0.5, -0.5]),), ValueError, r"\[Categorical\] probs"),
    (D.Categorical, (lm.tensor(0.5),), ValueError, "expected an axis of classes"),
    (D.Dirichlet, (lm.tensor(0.5),), ValueError, r"\[Dirichlet\] .* at least one axis"),
    (D.Geometric, (0.0,), ValueError, r"\[Geometric\] probs: .* above 0"),
    (D.Independent, (D.Normal(0.0, 1.0), 1), ValueError, r"\[Independent\] .* at most the 0 axes"),
    (D.LKJCholesky, (1,), ValueError, r"\[LKJCholesky\] dim: .* at least 2, got 1"),
    (D.LogisticNormal, (0.0, 1.0), ValueError, r"\[LogisticNormal\] loc"),
    (D.LowRankMultivariateNormal, (lm.zeros([2]), lm.zeros([3, 1]), lm.ones([2])), ValueError, r"\[2\], \[3, 1\]"),
    (D.Independent, (lm.ones([2]), 1), TypeError, "expected a Distribution, got Tensor"),
    (D.MixtureSameFamily, (D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)), TypeError, "expected a Categorical, got Normal"),
    (
        D.MixtureSameFamily,
        (D.Categorical(lm.ones([2])), lm.ones([2])),
        TypeError,
        "expected a Distribution, got Tensor",
    ),
    (D.MultivariateNormal, (lm.zeros([2]), lm.zeros([3, 2])), ValueError, "expected square matrices"),
    (
        D.MixtureSameFamily,
        (D.Categorical(lm.ones([4, 2])), D.Normal(lm.zeros([3, 2]), 1.0)),
        ValueError,
        r"2 components of batch shape \[4\]",
    ),
    (
        D.MixtureSameFamily,
        (D.Categorical(lm.ones([2])), D.Normal(lm.zeros([3]), 1.0)),
        ValueError,
        "2 components",
    ),
    (D.Multinomial, (-1, lm.ones([2])), ValueError, "at least 0, not -1"),
    (D.Multinomial, (1.5, lm.ones([2])), TypeError, "expected an integer, got float"),
    (D.MultivariateNormal, (lm.zeros([2]), lm.eye(3)), ValueError, r"\[2\] and \[3, 3\]"),
    (D.MultivariateNormal, (lm.zeros([2]), -lm.eye(2)), ValueError, r"covariance_matrix: expected .*PositiveDefinite"),
    (
        D.MultivariateNormal,
        (lm.zeros([2]),),
        ValueError,
        "exactly one of covariance_matrix, precision_matrix, scale_tril",
    ),
    (D.Uniform, (1.0, 1.0), ValueError, r"\[Uniform\] high must be above low"),
    (D.Wishart, (0.5, lm.eye(2)), ValueError, r"\[Wishart\] df: expected numbers above 1"),
]


@pytest.mark.parametrize(("make", "arguments", "error", "text"), REFUSED)
def test_parameters_are_checked(make, arguments, error, text):
    with pytest.raises(error, match=text):
        make(*arguments)


@by_name
def test_values_are_checked(name):
    distribution = EVERY[name]("float32")
    value = distribution.sample()
    with pytest.raises(ValueError, match="value: expected values of"):
        distribution.log_prob(value.astype("float32") * lm.tensor(np.nan))
    if distribution.batch_shape + distribution.event_shape:
        with pytest.raises(ValueError, match="does not broadcast"):
            distribution.log_prob(lm.zeros([*value.shape[:-1], 7]))
    with pytest.raises(TypeError, match="value: expected a Tensor, got float"):
        distribution.log_prob(0.5)


@pytest.mark.parametrize("name", CASES)
def test_unchecked_values_outside_of_the_support(name):
    """Without checks nothing is raised, and no density is above 0 where a formula is asked for it."""
    case = CASES[name]
    arguments = {key: tensor(value) for key, value in case.arrays().items()}
    distribution = case.make(**arguments, validate_args=False)
    assert distribution.log_prob(lm.full([3], np.nan, dtype="float64")).shape == (3,)
    try:
        distribution.icdf(tensor(1.5))
    except NotImplementedError:
        return
    with pytest.raises(ValueError, match="icdf: expected probabilities"):
        case.build().icdf(tensor(1.5))


def test_default_of_the_checks():
    assert D.Distribution._validate_args
    try:
        D.Distribution.set_default_validate_args(False)
        D.Normal(0.0, -1.0)
        with pytest.raises(ValueError, match="scale"):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(TypeError, match="expected a bool, got str"):
        D.Distribution.set_default_validate_args("yes")


def test_parameters_take_the_dtype_of_the_tensors():
    assert D.Normal(0.0, 1).loc.dtype == lm.float32
    assert D.Normal(lm.zeros([2], dtype="float64"), 1).scale.dtype == lm.float64
    assert D.Normal(lm.zeros([2], dtype="int64"), 1).loc.dtype == lm.float32
    assert D.Normal(lm.zeros([2]), lm.ones([2], dtype="float64")).loc.dtype == lm.float64
    leaf = lm.zeros([3])
    assert D.Normal(leaf, lm.ones([3])).loc is leaf


def test_a_distribution_of_ones_own():
    class Triangle(D.Distribution):
        """The sum of two uniform numbers."""

        arg_constraints: ClassVar[Any] = {"width": D.constraints.positive}
        support = D.constraints.positive
        has_rsample = True

        def __init__(self, width, validate_args=None):
            self.width = width
            super().__init__(width.shape, validate_args=validate_args)

        def rsample(self, shape=(), *, generator=None):
            return self.width * lm.rand([2, *self._extended_shape(shape)], generator=generator).sum(axis=0)

    distribution = Triangle(lm.tensor([1.0, 2.0]))
    assert distribution.expand((3, 2)).sample((5,)).shape == (5, 3, 2)
    for method, arguments in ("log_prob", [lm.ones([2])]), ("cdf", [lm.ones([2])]), ("entropy", []), ("perplexity", []):
        with pytest.raises(NotImplementedError, match=r"\[Triangle\]"):
            getattr(distribution, method)(*arguments)
    with pytest.raises(ValueError, match=r"\[Triangle\] width"):
        Triangle(lm.tensor([-1.0]))


def test_draws_in_vmap_and_compiled_functions():
    def f(x):
        return D.Normal(x, 2.0, validate_args=False).log_prob(x + 1.0)

    x = lm.tensor([0.5, 1.0, 2.0])
    np.testing.assert_allclose(lm.vmap(f)(x).numpy(), f(x).numpy(), rtol=1e-6)
    np.testing.assert_allclose(lm.compile(f)(x).numpy(), f(x).numpy(), rtol=1e-6)

    def draw(a):
        return D.Gamma(a, 1.0, validate_args=False).rsample()

    mapped = lm.vmap(draw, randomness="different")
    leaf = lm.tensor([0.5, 1.0, 2.0], stop_gradient=False)
    for drawn in mapped, lm.compile(draw):
        draws = drawn(leaf)
        (slopes,) = lm.grad([draws.sum()], [leaf])
        wanted = lm.distributions._implicit.gamma_slope(leaf.detach(), draws.detach())
        np.testing.assert_allclose(slopes.numpy(), wanted.numpy(), rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].discrete])
def test_integers_are_counts_of_the_parameters_precision(name):
    case = CASES[name]
    x = case.points().astype("int64")
    distribution = case.build()
    for method in "log_prob", "cdf":
        try:
            wanted = getattr(distribution, method)(lm.asarray(x.astype("float64")))
        except NotImplementedError:
            continue
        np.testing.assert_array_equal(numbers(getattr(distribution, method)(lm.asarray(x))), numbers(wanted))


def test_the_package_is_loaded_when_it_is_asked_for():
    code = (
        "import sys, lamella; assert 'lamella.distributions' not in sys.modules; lamella.distributions.Normal(0.0, 1.0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
