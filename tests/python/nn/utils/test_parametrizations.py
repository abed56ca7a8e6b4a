"""Weight, spectral and orthogonal parametrizations against linear algebra in numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.nn import utils
from lamella.nn.utils import parametrizations

RNG = np.random.default_rng(16)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_weight_norm(axis):
    layer = nn.Conv1d(3, 4, 2, dtype="float64")
    value = layer.weight.detach().numpy().copy()
    parametrizations.weight_norm(layer, axis=axis)
    entry = layer.parametrizations.weight
    axes = None if axis is None else tuple(i for i in range(3) if i != axis % 3)
    length = np.sqrt((value**2).sum(axes, keepdims=axis is not None))
    np.testing.assert_allclose(entry.original0.detach().numpy(), length)
    np.testing.assert_allclose(layer.weight.detach().numpy(), value, rtol=1e-12)
    with lm.no_grad():
        entry.original0.mul_(3.0)
        entry.original1.mul_(0.1)
    np.testing.assert_allclose(layer.weight.detach().numpy(), 3 * value, rtol=1e-12)
    layer.weight = lm.asarray(value)
    np.testing.assert_allclose(layer.weight.detach().numpy(), value, rtol=1e-12)
    g, v = (lm.tensor(t.detach().numpy(), stop_gradient=False) for t in entry.originals())
    lm.autograd.gradcheck(lambda g, v: entry[0](g, v), (g, v))


@pytest.mark.parametrize("make", [lambda: nn.Linear(4, 3, dtype="float64"), lambda: nn.Conv2d(2, 5, 3, dtype="float64"),
                                  lambda: nn.ConvTranspose1d(4, 3, 2, dtype="float64")])  # fmt: skip
def test_spectral_norm(make):
    layer = make()
    value = layer.weight.detach().numpy().copy()
    parametrizations.spectral_norm(layer, n_power_iterations=100)
    rows = np.moveaxis(value, 1 if isinstance(layer, nn.ConvTranspose1d) else 0, 0)
    largest = np.linalg.svd(rows.reshape(len(rows), -1), compute_uv=False)[0]
    np.testing.assert_allclose(layer.weight.detach().numpy(), value / largest, rtol=1e-6)
    layer.eval()
    first = layer.weight.detach().numpy()
    np.testing.assert_array_equal(layer.weight.detach().numpy(), first)


def test_the_gradient_of_a_spectral_norm():
    layer = nn.Linear(4, 3, dtype="float64")
    parametrizations.spectral_norm(layer)
    layer.eval()
    entry = layer.parametrizations.weight
    lm.autograd.gradcheck(entry[0], (lm.tensor(entry.original.detach().numpy(), stop_gradient=False),))
    # Two uses in training before one backward pass: each has the vectors of its own.
    layer.train()
    x = lm.asarray(RNG.normal(size=(2, 4)))
    (layer(x) + layer(x)).sum().backward()
    assert entry.original.grad is not None
    vector = nn.Module()
    vector.weight = nn.Parameter([3.0, 4.0])
    parametrizations.spectral_norm(vector)
    np.testing.assert_allclose(vector.weight.detach().numpy(), [0.6, 0.8], rtol=1e-6)


def gram(matrix):
    tall = matrix if matrix.shape[-2] >= matrix.shape[-1] else matrix.mT
    return (tall.mH @ tall).detach().numpy()


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)], ids=str)
@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
def test_orthogonal(orthogonal_map, shape, trivial):
    net = nn.Module()
    net.weight = nn.Parameter(RNG.normal(size=shape))
    parametrizations.orthogonal(net, orthogonal_map=orthogonal_map, use_trivialization=trivial)
    identity = np.broadcast_to(np.eye(min(shape[-2:])), (*shape[:-2], *[min(shape[-2:])] * 2))
    np.testing.assert_allclose(gram(net.weight), identity, atol=1e-12)
    original = net.parametrizations.weight.original
    with lm.no_grad():
        original.add_(lm.asarray(RNG.normal(size=shape)))
    np.testing.assert_allclose(gram(net.weight), identity, atol=1e-12)
    (net.weight * lm.asarray(RNG.normal(size=shape))).sum().backward()
    assert np.abs(original.grad.numpy()).max() > 0.01
    if trivial or orthogonal_map == "householder":
        value = np.linalg.qr(RNG.normal(size=(*shape[:-2], max(shape[-2:]), min(shape[-2:]))))[0]
        value = value if shape[-2] >= shape[-1] else np.swapaxes(value, -1, -2)
        net.weight = lm.asarray(value.copy())
        np.testing.assert_allclose(net.weight.detach().numpy(), value, atol=1e-12)


@pytest.mark.parametrize("orthogonal_map", [None, "cayley"])
def test_unitary(orthogonal_map):
    net = nn.Module()
    net.weight = nn.Parameter(RNG.normal(size=(4, 3)) + 1j * RNG.normal(size=(4, 3)))
    parametrizations.orthogonal(net, orthogonal_map=orthogonal_map)
    np.testing.assert_allclose(gram(net.weight), np.eye(3), atol=1e-12)
    with lm.no_grad():
        net.parametrizations.weight.original.add_(lm.asarray(RNG.normal(size=(4, 3)) + 1j))
    np.testing.assert_allclose(gram(net.weight), np.eye(3), atol=1e-12)
    with pytest.raises(ValueError, match="'householder' takes real matrices"):
        parametrizations.orthogonal(net, orthogonal_map="householder")


def test_an_orthogonal_layer_trains():
    """A rotation near the first one is found by gradient descent within the rotations."""
    turn = RNG.normal(size=(4, 4))
    layer = parametrizations.orthogonal(nn.Linear(4, 4, bias=False, dtype="float64"))
    wanted = layer.weight.detach() @ lm.linalg.matrix_exp(lm.asarray(0.3 * (turn - turn.T)))
    optimizer = lm.optim.SGD(layer.parameters(), lr=0.2)
    losses = []
    for _ in range(60):
        loss = ((layer.weight - wanted) ** 2).sum()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < 1e-3 * losses[0]


def test_first_names():
    layer = nn.Linear(3, 2)
    value = layer.weight.detach().numpy().copy()
    assert utils.weight_norm(layer) is layer and "parametrizations.weight.original0" in layer.state_dict()
    utils.remove_weight_norm(layer)
    np.testing.assert_allclose(layer.weight.detach().numpy(), value, rtol=1e-6)
    utils.spectral_norm(layer, n_power_iterations=30)
    utils.remove_spectral_norm(layer)
    assert abs(np.linalg.norm(layer.weight.detach().numpy(), 2) - 1) < 1e-3
