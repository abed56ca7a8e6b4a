"""Transforms: inverses, determinants against Jacobians, shapes, caches, and the registry of constraints."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella import distributions as D
from lamella.distributions import constraints, transforms

T = D.transforms

#: A transform and the shape of an event; arguments are drawn from normal numbers, and made positive where they must be.
CASES = {
    "Abs": (T.AbsTransform(), ()),
    "Affine": (T.AffineTransform(1.0, -2.0), ()),
    "Affine of vectors": (
        T.AffineTransform(lm.tensor([1.0, 2.0, 3.0]), lm.tensor([0.5, -1.0, 2.0]), event_dim=1),
        (3,),
    ),
    "Cat": (T.CatTransform([T.ExpTransform(), T.AffineTransform(0.0, 2.0)], axis=-1, lengths=[1, 2]), (3,)),
    "Compose": (T.ComposeTransform([T.AffineTransform(0.5, 2.0), T.TanhTransform(), T.AffineTransform(0.0, 3.0)]), ()),
    "Compose of vectors": (T.ComposeTransform([T.AffineTransform(0.5, 2.0), T.StickBreakingTransform()]), (3,)),
    "CorrCholesky": (T.CorrCholeskyTransform(), (6,)),
    "CumulativeDistribution": (T.CumulativeDistributionTransform(D.Normal(0.5, 2.0)), ()),
    "Exp": (T.ExpTransform(), ()),
    "Exp inverse": (T.ExpTransform().inv, ()),
    "Identity": (T.identity_transform, ()),
    "Independent": (T.IndependentTransform(T.SigmoidTransform(), 1), (3,)),
    "LowerCholesky": (T.LowerCholeskyTransform(), (3, 3)),
    "PositiveDefinite": (T.PositiveDefiniteTransform(), (3, 3)),
    "Power": (T.PowerTransform(1.7), ()),
    "Power, falling": (T.PowerTransform(lm.tensor(-0.5)), ()),
    "Reshape": (T.ReshapeTransform((6,), (2, 3)), (6,)),
    "Sigmoid": (T.SigmoidTransform(), ()),
    "Softmax": (T.SoftmaxTransform(), (4,)),
    "Softplus": (T.SoftplusTransform(), ()),
    "Stack": (T.StackTransform([T.ExpTransform(), T.TanhTransform(), T.SigmoidTransform()], axis=-1), ()),
    "StickBreaking": (T.StickBreakingTransform(), (3,)),
    "Tanh": (T.TanhTransform(), ()),
}
by_case = pytest.mark.parametrize("name", CASES)


def argument(name, rng, batch=()):
    _, event = CASES[name]
    x = rng.normal(size=(*batch, *event))
    if name.startswith("Stack"):
        x = rng.normal(size=(*batch, 3))
    return lm.asarray(np.abs(x) if name.startswith(("Power", "Exp inverse")) else x)


def test_every_transform_is_among_the_cases():
    tried = {type(transform).__name__ for transform, _ in CASES.values()}
    assert {name for name in transforms.__all__ if name[0].isupper() and name != "Transform"} <= tried


@by_case
def test_inverse_and_shapes(name, rng):
    transform, _ = CASES[name]
    x = argument(name, rng, (2,))
    y = transform(x)
    assert y.shape == transform.forward_shape(x.shape) and transform.inverse_shape(y.shape) == x.shape
    assert lm.all(transform.codomain.check(y))
    back = transform.inv(y)
    np.testing.assert_allclose(transform(back).numpy(), y.numpy(), rtol=1e-8, atol=1e-10)
    if transform.bijective:
        np.testing.assert_allclose(back.numpy(), x.numpy(), rtol=1e-7, atol=1e-9)
        assert transform.inv.inv == transform
        assert transform.inv.domain.event_dim == transform.codomain.event_dim
        slope = transform.log_abs_det_jacobian(x, y)
        np.testing.assert_allclose(
            transform.inv.log_abs_det_jacobian(y, back).numpy(), -slope.numpy(), rtol=1e-6, atol=1e-9
        )


@by_case
def test_determinant_is_that_of_the_jacobian(name, rng):
    transform, _ = CASES[name]
    if not transform.bijective:
        with pytest.raises(NotImplementedError):
            transform.log_abs_det_jacobian(argument(name, rng), argument(name, rng))
        return
    x = argument(name, rng)
    y = transform(x)
    got = transform.log_abs_det_jacobian(x, y).numpy()
    jacobian = lm.jacobian(transform, x).numpy().reshape(y.size, x.size)
    if transform.codomain.event_dim == transform.domain.event_dim == 0:
        wanted = np.log(np.abs(np.diag(jacobian))).reshape(x.shape)
    else:
        if isinstance(transform.codomain, type(constraints.simplex)):
            jacobian = jacobian[:-1]  # the last element is what is left to 1
        if transform.codomain is constraints.corr_cholesky:
            rows, columns = np.tril_indices(y.shape[-1], -1)
            jacobian = jacobian[rows * y.shape[-1] + columns]
        wanted = np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(got, wanted, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][0].bijective and not CASES[name][1]])
def test_sign_tells_the_direction(name, rng):
    transform, _ = CASES[name]
    if name == "Stack":
        return
    low = lm.asarray(np.array([0.2, 0.5]))
    sign = float(transform.sign)
    assert lm.all((transform(low + 0.1) - transform(low)) * sign > 0)


@by_case
def test_a_cache_gives_back_the_very_argument(name, rng):
    transform = CASES[name][0].with_cache(1)
    x = argument(name, rng)
    y = transform(x)
    if name != "Identity":
        assert transform(x) is y and transform.inv(y) is x
    assert transform.with_cache(1) is transform
    other = CASES[name][0].with_cache(0)
    assert other.inv(other(x)) is not x or name in ("Abs", "Identity")


@by_case
@pytest.mark.parametrize("take", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_map_alike_and_are_equal(name, take, rng):
    transform = CASES[name][0].with_cache(1)
    x = lm.tensor(argument(name, rng).numpy(), stop_gradient=False)
    y = transform(x)  # which is in the cache, with a place on the tape
    copied = take(transform)
    np.testing.assert_array_equal(copied(x).detach().numpy(), y.detach().numpy())
    if name not in ("Cat", "Stack", "CumulativeDistribution"):  # which are equal to themselves only
        assert copied == transform and hash(copied) == hash(transform)
    assert transform != T.ComposeTransform([T.ExpTransform(), T.ExpTransform()])


def test_far_arguments_keep_their_digits():
    for transform in T.SigmoidTransform(), T.TanhTransform(), T.SoftplusTransform():
        x = lm.tensor([-300.0, -40.0, 40.0, 300.0], dtype="float64")
        assert lm.all(lm.isfinite(transform.log_abs_det_jacobian(x, transform(x))))
    x = lm.tensor([-200.0, 300.0, 1.0], dtype="float64")
    stick = T.StickBreakingTransform()
    assert lm.all(lm.isfinite(stick.log_abs_det_jacobian(x, stick(x))))


def test_parameters_of_transforms_have_gradients():
    scale = lm.tensor(2.0, stop_gradient=False)
    flow = D.TransformedDistribution(D.Normal(0.0, 1.0), [T.AffineTransform(1.0, scale)])
    flow.log_prob(lm.tensor([0.5, 3.0])).sum().backward()
    z = np.array([-0.25, 1.0])
    np.testing.assert_allclose(scale.grad.item(), ((z**2 - 1) / 2).sum(), rtol=1e-5)


def test_transforms_of_a_batch_enlarge_the_base():
    scale = np.array([2.0, -1.0, 0.5])
    flow = D.TransformedDistribution(
        D.Normal(lm.tensor(0.5, dtype="float64"), 2.0),
        [T.ComposeTransform([T.AffineTransform(1.0, lm.asarray(scale)), T.AffineTransform(0.0, 2.0)])],
    )
    plain = D.Normal(lm.asarray(2 * (1 + 0.5 * scale)), lm.asarray(2 * np.abs(2 * scale)))
    assert flow.batch_shape == (3,) and flow.sample((4,)).shape == (4, 3)
    assert flow.expand((2, 3)).batch_shape == (2, 3) and flow.expand((2, 3)).base_dist.batch_shape == (2, 3)
    x = flow.sample((5,))
    p = lm.asarray(np.array([0.1, 0.5, 0.8])[:, None])
    np.testing.assert_allclose(flow.log_prob(x).numpy(), plain.log_prob(x).numpy(), rtol=1e-10)
    np.testing.assert_allclose(flow.cdf(x).numpy(), plain.cdf(x).numpy(), rtol=1e-9)
    np.testing.assert_allclose(flow.icdf(p).numpy(), plain.icdf(p).numpy(), rtol=1e-9)
    falling = D.TransformedDistribution(D.Normal(0.0, 1.0), T.AffineTransform(0.0, -1.0))
    np.testing.assert_allclose(falling.cdf(lm.tensor(1.0)).item(), D.Normal(0.0, 1.0).cdf(lm.tensor(1.0)).item())


def test_representations():
    for text in (
        "ComposeTransform([ExpTransform(), PowerTransform(exponent=2.0)])",
        "IndependentTransform(TanhTransform(), 1)",
        "ReshapeTransform([4], [2, 2])",
    ):
        assert repr(eval(text, vars(T))) == text


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"\[ExpTransform\] cache_size is 0 or 1, not 2"):
        T.ExpTransform(cache_size=2)
    with pytest.raises(ValueError, match=r"\[ReshapeTransform\] .* different numbers of elements"):
        T.ReshapeTransform((2, 3), (5,))
    with pytest.raises(ValueError, match=r"\[CatTransform\] .* got 1"):
        T.CatTransform([T.ExpTransform(), T.ExpTransform()], lengths=[3])
    with pytest.raises(ValueError, match=r"\[CorrCholeskyTransform\] .* not 4"):
        T.CorrCholeskyTransform()(lm.zeros([4]))
    with pytest.raises(ValueError, match=r"\[StackTransform\] expected length 1"):
        T.StackTransform([T.ExpTransform()])(lm.zeros([3]))
    with pytest.raises(ValueError, match=r"\[CatTransform\] expected length 2 along axis 0, got the shape \[3\]"):
        T.CatTransform([T.ExpTransform(), T.ExpTransform()])(lm.zeros([3]))
    with pytest.raises(ValueError, match=r"\[StickBreakingTransform\] expected at least 1 axes"):
        T.StickBreakingTransform().forward_shape(())
    with pytest.raises(ValueError, match=r"a shape that ends in \[2, 3\], got \[3, 2\]"):
        T.ReshapeTransform((2, 3), (6,)).forward_shape((3, 2))
    with pytest.raises(TypeError, match=r"\[TransformedDistribution\] transforms"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), [lm.exp])
    with pytest.raises(ValueError, match=r"events of 1 axes"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), T.StickBreakingTransform())


#: A constraint and the shape of a free tensor.
CONSTRAINTS = {
    "real": (constraints.real, ()),
    "real_vector": (constraints.real_vector, (3,)),
    "positive": (constraints.positive, ()),
    "nonnegative": (constraints.nonnegative, ()),
    "greater_than": (constraints.greater_than(lm.tensor([1.0, 2.0])), (2,)),
    "greater_than_eq": (constraints.greater_than_eq(3.0), ()),
    "less_than": (constraints.less_than(-1.0), ()),
    "unit_interval": (constraints.unit_interval, ()),
    "interval": (constraints.interval(-3.0, lm.tensor(2.0)), ()),
    "half_open_interval": (constraints.half_open_interval(1.0, 2.0), ()),
    "open_interval": (constraints.open_interval(1.0, 2.0), ()),
    "simplex": (constraints.simplex, (4,)),
    "lower_cholesky": (constraints.lower_cholesky, (3, 3)),
    "corr_cholesky": (constraints.corr_cholesky, (3,)),
    "positive_definite": (constraints.positive_definite, (3, 3)),
    "positive_semidefinite": (constraints.positive_semidefinite, (3, 3)),
    "independent": (constraints.independent(constraints.positive, 1), (3,)),
    "cat": (constraints.cat([constraints.positive, constraints.real], axis=-1, lengths=[2, 1]), (3,)),
    "stack": (constraints.stack([constraints.positive, constraints.unit_interval], axis=-1), (2,)),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("registry", [D.biject_to, D.transform_to], ids=["biject_to", "transform_to"])
def test_registered_transforms_lead_into_the_set(name, registry, rng):
    constraint, shape = CONSTRAINTS[name]
    try:
        transform = registry(constraint)
    except NotImplementedError:
        assert registry is D.biject_to and constraint.event_dim == 2
        return
    x = lm.asarray(rng.normal(size=(5, *shape)))
    y = transform(x)
    assert lm.all(constraint.check(y))
    if registry is D.biject_to:
        assert transform.bijective
        np.testing.assert_allclose(transform.inv(y).numpy(), x.numpy(), rtol=1e-7, atol=1e-9)


def test_a_constraint_of_ones_own():
    class Even(constraints.Constraint):
        pass

    with pytest.raises(NotImplementedError, match=r"\[biject_to\] no transform is registered for Even"):
        D.biject_to(Even())

    @D.biject_to.register(Even)
    def doubled(constraint):
        return T.AffineTransform(0.0, 2.0)

    assert D.biject_to(Even()) == T.AffineTransform(0.0, 2.0)
    with pytest.raises(TypeError, match=r"\[transform_to\] register: expected a constraint"):
        D.transform_to.register(3, doubled)
