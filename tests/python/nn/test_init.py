"""Starting values against their definitions and distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lamella as lm
from lamella.nn import init

stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize(
    ("mean", "std", "low", "high"), [(0.0, 1.0, -2.0, 2.0), (1.0, 0.5, 0.75, 3.0), (0.0, 0.02, -2.0, 2.0), (0, 1, 3, 4)]
)
def test_trunc_normal(mean, std, low, high):
    x = lm.empty((100, 100), dtype="float64")
    assert init.trunc_normal_(x, mean, std, low, high, generator=lm.Generator(seed=5)) is x
    values = x.numpy().reshape(-1)
    assert low <= values.min() and values.max() <= high
    law = stats.truncnorm((low - mean) / std, (high - mean) / std, mean, std)
    assert stats.kstest(values, law.cdf).pvalue > 0.001


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 3, 2), (2, 3, 2, 2), (1, 4)])
def test_orthogonal(shape):
    x = lm.empty(shape, dtype="float64")
    init.orthogonal_(x, gain=1.5)
    matrix = x.numpy().reshape(shape[0], -1)
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(gram, 1.5**2 * np.eye(len(gram)), atol=1e-12)


def test_orthogonal_matrices_are_uniform():
    """A corner of a uniform orthogonal matrix has the distribution of a coordinate of the sphere."""
    generator = lm.Generator(seed=2)
    drawn = np.array([init.orthogonal_(lm.empty((3, 3)), generator=generator).numpy()[0, 0] for _ in range(400)])
    # On the sphere of three dimensions each coordinate is uniform (Archimedes).
    assert stats.kstest(drawn, stats.uniform(-1, 2).cdf).pvalue > 0.001


def test_eye():
    for shape in ((3, 3), (2, 4), (4, 2)):
        np.testing.assert_array_equal(init.eye_(lm.empty(shape)).numpy(), np.eye(*shape))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_dirac_keeps_channels(axes, groups):
    weight = init.dirac_(lm.empty((4, 2, *[3] * axes)), groups)
    x = lm.asarray(np.random.default_rng(6).normal(size=(1, 2 * groups, *[5] * axes)).astype("float32"))
    y = getattr(lm, f"conv{axes}d")(x, weight, padding=1, groups=groups).numpy()
    each = 4 // groups
    for group in range(groups):
        kept = min(each, 2)
        np.testing.assert_array_equal(y[:, group * each :][:, :kept], x.numpy()[:, group * 2 :][:, :kept])
        assert not y[:, group * each + kept : (group + 1) * each].any()


@pytest.mark.parametrize("sparsity", [0.0, 0.1, 0.5, 1.0])
def test_sparse(sparsity):
    x = init.sparse_(lm.empty((25, 40)), sparsity, std=2.0, generator=lm.Generator(seed=7)).numpy()
    assert ((x == 0).sum(0) == math.ceil(sparsity * 25)).all()
    if sparsity == 0.5:
        assert len({tuple(np.flatnonzero(column)) for column in x.T}) == 40
        assert abs(x[x != 0].std() / 2.0 - 1) < 0.1


def test_gains():
    expected = {"linear": 1, "identity": 1, "conv2d": 1, "conv_transpose3d": 1, "sigmoid": 1, "tanh": 5 / 3}
    expected |= {"relu": math.sqrt(2), "selu": 0.75, "leaky_relu": math.sqrt(2 / (1 + 0.01**2))}
    assert {name: init.calculate_gain(name) for name in expected} == expected
    assert init.calculate_gain("leaky_relu", 0.5) == math.sqrt(2 / 1.25)
    with pytest.raises(ValueError, match=r"\[calculate_gain\] no gain is known for 'sinus', but for 'linear'"):
        init.calculate_gain("sinus")


#: Functions that draw, and what they are called with.
DRAWING = {
    "uniform_": {},
    "normal_": {},
    "trunc_normal_": {},
    "xavier_uniform_": {},
    "xavier_normal_": {},
    "kaiming_uniform_": {},
    "kaiming_normal_": {},
    "orthogonal_": {},
    "sparse_": {"sparsity": 0.5},
}


@pytest.mark.parametrize("name", DRAWING)
def test_numbers_come_from_the_generator(name):
    def drawn(generator):
        return getattr(init, name)(lm.zeros((4, 3)), **DRAWING[name], generator=generator).tolist()

    state = lm.get_rng_state()
    assert drawn(lm.Generator(seed=9)) == drawn(lm.Generator(seed=9)) != drawn(lm.Generator(seed=10))
    assert lm.get_rng_state() == state
    assert drawn(None) != drawn(None)
    meta = lm.empty((4, 3), device="meta")
    assert getattr(init, name)(meta, **DRAWING[name]) is meta


def test_what_is_refused():
    x = lm.zeros((4, 3, 2))
    for call, message in (
        (lambda: init.eye_(x), r"\[eye_\] the tensor has two axes"),
        (lambda: init.sparse_(x, 0.1), r"\[sparse_\] the tensor has two axes"),
        (lambda: init.sparse_(x[0], 1.5), r"\[sparse_\] sparsity is a share between 0 and 1, not 1.5"),
        (lambda: init.dirac_(x[0]), r"\[dirac_\] the tensor has 3, 4 or 5 axes"),
        (lambda: init.dirac_(x, 3), r"\[dirac_\] groups divides the channels"),
        (lambda: init.orthogonal_(x[0, 0]), r"\[orthogonal_\] the tensor has at least two axes"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert not x.numpy().any()
    for name, options in {**DRAWING, "constant_": {"value": 1}, "eye_": {}, "dirac_": {}}.items():
        with pytest.raises(TypeError, match=r"^\[\w+\] tensor: expected a Tensor, got list"):
            getattr(init, name)([[1.0]], **options)
    whole = lm.zeros((3, 3), dtype="int64")
    for name, options in DRAWING.items():
        with pytest.raises(TypeError, match=r"^\[\w+\] the tensor is of a floating-point dtype, not int64"):
            getattr(init, name)(whole, **options)
    assert init.eye_(whole).tolist() == np.eye(3).tolist() and init.constant_(whole, 3)[0, 0].item() == 3
