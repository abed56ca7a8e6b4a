"""Distances and similarities as layers, against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm
from lamella import nn

RNG = np.random.default_rng(12)
A, B = RNG.normal(size=(2, 4, 3))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
def test_pairwise_distance(p):
    expected = np.linalg.norm(A - B + 1e-3, p, axis=-1)
    layer = nn.PairwiseDistance(p, eps=1e-3)
    np.testing.assert_allclose(layer(lm.asarray(A), lm.asarray(B)).numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(layer(lm.asarray(A[0]), lm.asarray(B[0])).numpy(), expected[0], rtol=1e-12)
    kept = nn.PairwiseDistance(p, eps=1e-3, keepdims=True)(lm.asarray(A), lm.asarray(B))
    np.testing.assert_allclose(kept.numpy(), expected[:, None], rtol=1e-12)
    assert layer(lm.zeros((0, 3)), lm.zeros((0, 3))).shape == (0,)
    assert repr(layer) == f"PairwiseDistance(p={p}, eps=0.001, keepdims=False)"


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_cosine_similarity(axis):
    expected = (A * B).sum(axis) / (np.linalg.norm(A, axis=axis) * np.linalg.norm(B, axis=axis))
    layer = nn.CosineSimilarity(axis)
    np.testing.assert_allclose(layer(lm.asarray(A), lm.asarray(B)).numpy(), expected, rtol=1e-12)
    assert repr(layer) == f"CosineSimilarity(axis={axis}, eps=1e-08)"
    zero = nn.CosineSimilarity(axis, eps=2.0)(lm.zeros((4, 3)), lm.zeros((4, 3)))
    assert not zero.numpy().any()


@pytest.mark.parametrize("layer", [nn.PairwiseDistance(), nn.CosineSimilarity(-1)], ids=repr)
def test_gradients(layer):
    lm.autograd.check_layer(layer, *[lm.tensor(x, stop_gradient=False) for x in (A, B)])
