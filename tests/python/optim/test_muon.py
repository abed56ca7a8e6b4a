"""Muon's orthogonalization, against singular value decompositions."""

import numpy as np
import optimizer_formulas as formulas
import pytest

import lamella as lm
from lamella import nn, optim
from lamella.optim.muon import orthogonalize

SHAPES = [(4, 4), (8, 3), (3, 8), (40, 17), (1, 5), (5, 1), (2, 6, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_vectors_stay_and_values_come_near_one(shape, rng):
    x = rng.normal(size=shape)
    found = orthogonalize(lm.asarray(x)).numpy()
    values = np.linalg.svd(found, compute_uv=False)
    left, before, right = np.linalg.svd(x, full_matrices=False)
    # Values below 0.02 of the largest take more than five steps.
    large = before > 0.02 * np.linalg.norm(x, axis=(-2, -1))[..., None]
    assert (values[large] > 0.65).all() and (values < 1.25).all()
    in_basis = np.swapaxes(left, -1, -2) @ found @ np.swapaxes(right, -1, -2)
    off_diagonal = in_basis - in_basis * np.eye(in_basis.shape[-1])
    np.testing.assert_allclose(off_diagonal, 0.0, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES[:-1])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("float64", 1e-9)])
def test_it_is_a_polynomial_of_the_singular_values(shape, dtype, tolerance, rng):
    x = rng.normal(size=shape).astype(dtype)
    expected = formulas.orthogonalized(x.astype("float64"))
    found = orthogonalize(lm.asarray(x))
    assert found.dtype.name == dtype
    np.testing.assert_allclose(found.numpy(), expected, atol=tolerance)


def test_other_coefficients_converge_to_an_orthogonal_matrix(rng):
    x = lm.asarray(rng.normal(size=(6, 4)))
    q = orthogonalize(x, (1.875, -1.25, 0.375), 30)
    np.testing.assert_allclose((q.mT @ q).numpy(), np.eye(4), atol=1e-10)


def test_zeros_stay_zeros():
    assert orthogonalize(lm.zeros([3, 2])).tolist() == [[0.0, 0.0]] * 3


def test_only_matrices_are_moved():
    with pytest.raises(ValueError, match=r"\[Muon\] parameter 1 has shape \[3\]: Muon moves matrices"):
        optim.Muon([nn.Parameter(np.ones((2, 2))), nn.Parameter(np.ones(3))])
    with pytest.raises(ValueError, match="at least two axes"):
        orthogonalize(lm.ones([3]))


def test_complex_matrices(rng):
    x = rng.normal(size=(5, 3)) + 1j * rng.normal(size=(5, 3))
    q = orthogonalize(lm.asarray(x), (1.875, -1.25, 0.375), 30)
    left, _, right = np.linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose(q.numpy(), left @ right, atol=1e-10)
