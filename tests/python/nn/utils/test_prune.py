"""Pruned weights: which elements go, and that they stay away."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.nn.utils import parametrize, prune


def conv():
    lm.seed(5)
    return nn.Conv2d(3, 4, 2, dtype="float64")


def array(x):
    return x.detach().numpy().copy()


def without(values, scores, count):
    """Values in which those with the smallest scores are 0."""
    result = values.copy().reshape(-1)
    result[np.argsort(scores.reshape(-1), kind="stable")[:count]] = 0
    return result.reshape(values.shape)


@pytest.mark.parametrize(("amount", "count"), [(0, 0), (5, 5), (0.25, 12), (1.0, 48), (48, 48)])
def test_the_smallest_go(amount, count):
    layer = conv()
    value = array(layer.weight)
    assert not prune.is_pruned(layer)
    assert prune.l1_unstructured(layer, "weight", amount) is layer and prune.is_pruned(nn.Sequential(layer))
    np.testing.assert_array_equal(array(layer.weight), without(value, np.abs(value), count))
    np.testing.assert_array_equal(array(layer.parametrizations.weight.original), value)
    scores = np.random.default_rng(1).normal(size=value.shape)
    other = prune.l1_unstructured(conv(), "weight", amount, lm.asarray(scores))
    np.testing.assert_array_equal(array(other.weight), without(value, np.abs(scores), count))


def test_a_share_of_what_is_left():
    layer = conv()
    value = array(layer.weight)
    for left in (24, 12, 6):
        prune.l1_unstructured(layer, "weight", 0.5)
        np.testing.assert_array_equal(array(layer.weight), without(value, np.abs(value), 48 - left))
    assert len(layer.parametrizations.weight) == 1


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [1, 2, math.inf])
def test_slices_with_the_smallest_norms(n, axis):
    layer = conv()
    value = array(layer.weight)
    prune.ln_structured(layer, "weight", 1, n, axis)
    rows = np.moveaxis(value, axis, 0).reshape(value.shape[axis], -1)
    least = np.linalg.norm(rows, n, axis=1).argmin()
    expected = value.copy()
    np.moveaxis(expected, axis, 0)[least] = 0
    np.testing.assert_array_equal(array(layer.weight), expected)
    prune.ln_structured(layer, "weight", 1, n, axis)
    assert (np.moveaxis(array(layer.weight), axis, 0).reshape(len(rows), -1) == 0).all(1).sum() == 2


def test_random_choices():
    layers = [conv() for _ in range(3)]
    for layer, seed in zip(layers, (1, 1, 2), strict=True):
        prune.random_unstructured(layer, "weight", 0.5, generator=lm.Generator(seed=seed))
        assert (array(layer.weight) == 0).sum() == 24
    first, second, third = (array(layer.weight) for layer in layers)
    np.testing.assert_array_equal(first, second)
    assert (first != third).any()
    layer = prune.random_structured(conv(), "weight", 2, 0, generator=lm.Generator(seed=1))
    assert (array(layer.weight).reshape(4, -1) == 0).all(1).sum() == 2


def test_all_together():
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    with lm.no_grad():
        net[1].weight.mul_(10.0)
    values = np.concatenate([array(layer.weight).reshape(-1) for layer in net])
    parameters = [(layer, "weight") for layer in net]
    prune.global_unstructured(parameters, amount=0.5)
    got = np.concatenate([array(layer.weight).reshape(-1) for layer in net])
    np.testing.assert_array_equal(got, without(values, np.abs(values), 10))
    prune.global_unstructured(parameters, prune.random_unstructured, amount=5)
    assert sum((array(layer.weight) == 0).sum() for layer in net) == 15


def test_pruned_elements_stay_away():
    layer = nn.Linear(3, 2, dtype="float64")
    mask = lm.asarray([[1, 0, 1], [0, 1, 1]])
    prune.custom_from_mask(layer, "weight", mask)
    optimizer = lm.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (layer(lm.ones((2, 3), dtype="float64")) ** 2).sum().backward()
        optimizer.step()
    assert (array(layer.weight) == 0).tolist() == (mask.numpy() == 0).tolist()
    twin = copy.deepcopy(layer)
    other = prune.identity(nn.Linear(3, 2, dtype="float64"), "weight")
    other.load_state_dict(layer.state_dict())
    for each in (twin, other):
        np.testing.assert_array_equal(array(each.weight), array(layer.weight))
    assert prune.mask_of(layer, "weight").tolist() == [[True, False, True], [False, True, True]]
    value = array(layer.weight)
    assert prune.remove(layer, "weight") is layer and not prune.is_pruned(layer)
    np.testing.assert_array_equal(array(layer.weight), value)
    assert sorted(layer.state_dict()) == ["bias", "weight"] and prune.mask_of(layer, "weight").all()


def test_what_is_refused():
    layer = conv()
    for call, error, message in (
        (lambda: prune.l1_unstructured(layer, "w", 1), ValueError, r"\[l1_unstructured\] Conv2d has no parameter 'w'"),
        (lambda: prune.l1_unstructured(layer, "weight", 49), ValueError, r"up to, the 48 that are left, not 49"),
        (lambda: prune.l1_unstructured(layer, "weight", 1.5), ValueError, r"\[l1_unstructured\] amount"),
        (lambda: prune.random_unstructured(layer, "weight", -1), ValueError, r"\[random_unstructured\] amount"),
        (lambda: prune.l1_unstructured(layer, "weight", 1, lm.ones((3,))), ValueError, "importance_scores"),
        (lambda: prune.ln_structured(layer, "weight", 1, 2, 4), IndexError, r"\[ln_structured\] axis 4 is none"),
        (lambda: prune.ln_structured(layer, "weight", 5, 2, 0), ValueError, "the 4 that are left"),
        (lambda: prune.custom_from_mask(layer, "weight", lm.ones((2,))), ValueError, r"\[custom_from_mask\] the mask"),
        (lambda: prune.global_unstructured([(layer, "weight")], prune.identity, amount=1), ValueError, "method is"),
        (lambda: prune.remove(layer, "weight"), ValueError, r"\[remove\] 'weight' of Conv2d is not pruned"),
    ):
        with pytest.raises(error, match=message):
            call()
    assert not parametrize.is_parametrized(layer)
    parametrize.register_parametrization(layer, "weight", nn.Tanh())
    with pytest.raises(ValueError, match="is not pruned"):
        prune.remove(layer, "weight")
    prune.l1_unstructured(layer, "weight", 3)
    with pytest.raises(ValueError, match="other parametrizations"):
        prune.remove(layer, "weight")
