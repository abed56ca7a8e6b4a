"""Parametrized attributes: values, gradients, assignment, removal, copies and states."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.nn import utils
from lamella.nn.utils import parametrizations, parametrize, prune

RNG = np.random.default_rng(15)


class Symmetric(nn.Module):
    def forward(self, x):
        return lm.triu(x) + lm.triu(x, k=1).T

    def right_inverse(self, value):
        return lm.triu(value)


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x


class Ratio(nn.Module):
    """A quotient of two tensors."""

    def forward(self, x, y):
        return x / y

    def right_inverse(self, value):
        return 2 * value, lm.full_like(value, 2.0)


class Longer(nn.Module):
    def forward(self, x):
        return lm.concat([x, x])


def square(n=3):
    return nn.Linear(n, n, dtype="float64")


def test_an_attribute_is_computed():
    layer = square()
    original = layer.weight
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    assert type(layer) is nn.Linear and parametrize.is_parametrized(layer, "weight")
    assert parametrize.is_parametrized(layer) and not parametrize.is_parametrized(layer, "bias")
    entry = layer.parametrizations.weight
    np.testing.assert_array_equal(entry.original.detach().numpy(), np.triu(original.detach().numpy()))
    weight = layer.weight.detach().numpy()
    np.testing.assert_array_equal(weight, weight.T)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert "weight" in dir(layer) and isinstance(entry[0], Symmetric) and len(entry) == 1
    x = lm.asarray(RNG.normal(size=(2, 3)))
    np.testing.assert_allclose(layer(x).detach().numpy(), x.numpy() @ weight.T + layer.bias.detach().numpy())
    layer(x).sum().backward()
    column = np.broadcast_to(x.numpy().sum(0), (3, 3))
    expected = np.triu(column) + np.triu(column.T, 1)
    np.testing.assert_allclose(entry.original.grad.numpy(), expected)


def test_a_parametrization_without_an_inverse():
    layer = square()
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert layer.parametrizations.weight.original is weight
    np.testing.assert_array_equal(layer.weight.detach().numpy(), 2 * weight.detach().numpy())
    with pytest.raises(RuntimeError, match=r"\[parametrize\] Doubled has no right_inverse"):
        layer.weight = lm.ones((3, 3), dtype="float64")


def test_parametrizations_one_after_the_other():
    layer = square()
    parametrize.register_parametrization(layer, "weight", Symmetric())
    before = layer.weight.detach().numpy()
    parametrize.register_parametrization(layer, "weight", Doubled())
    np.testing.assert_array_equal(layer.weight.detach().numpy(), 2 * before)
    assert [type(each) for each in layer.parametrizations.weight] == [Symmetric, Doubled]


def test_several_originals():
    layer = square()
    value = layer.weight.detach().numpy().copy()
    parametrize.register_parametrization(layer, "weight", Ratio())
    np.testing.assert_allclose(layer.weight.detach().numpy(), value)
    names = ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]
    assert [name for name, _ in layer.named_parameters()] == names
    layer.weight = lm.ones((3, 3), dtype="float64")
    np.testing.assert_allclose(layer.weight.detach().numpy(), 1.0)
    with pytest.raises(ValueError, match=r"\[remove_parametrizations\] 'weight' has 2 originals"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and (layer.weight.detach().numpy() == 1).all()


def test_assignment():
    layer = square()
    parametrize.register_parametrization(layer, "weight", Symmetric())
    original = layer.parametrizations.weight.original
    layer.weight = nn.Parameter(lm.ones((3, 3), dtype="float64"))
    assert layer.parametrizations.weight.original is original and original.tolist() == np.triu(np.ones((3, 3))).tolist()
    for value, error in ((3.0, TypeError), (lm.ones((2, 2)), ValueError)):
        with pytest.raises(error, match=r"^\[parametrize\]"):
            layer.weight = value
    assert (layer.weight.detach().numpy() == 1).all()


@pytest.mark.parametrize("leave", [True, False])
def test_removal(leave):
    layer = square()
    parametrize.register_parametrization(layer, "weight", Doubled())
    original, value = layer.parametrizations.weight.original, layer.weight.detach().numpy()
    expected = value if leave else value / 2
    assert parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave) is layer
    assert layer.weight is original and not parametrize.is_parametrized(layer)
    np.testing.assert_array_equal(layer.weight.detach().numpy(), expected)
    assert "parametrizations" not in layer._modules and sorted(layer.state_dict()) == ["bias", "weight"]
    layer.weight = nn.Parameter(lm.ones((3, 3)))
    with pytest.raises(ValueError, match=r"\[remove_parametrizations\] 'weight' of Linear is not parametrized"):
        parametrize.remove_parametrizations(layer, "weight")


def test_buffers():
    net = nn.Module()
    net.register_buffer("kept", lm.ones((2,)))
    net.register_buffer("scratch", lm.ones((2,)), persistent=False)
    for name in ("kept", "scratch"):
        parametrize.register_parametrization(net, name, Doubled())
    assert list(net.state_dict()) == ["parametrizations.kept.original"]
    assert net.scratch.tolist() == [2.0, 2.0] and net.scratch.stop_gradient
    for name in ("kept", "scratch"):
        parametrize.remove_parametrizations(net, name)
    assert list(net.state_dict()) == ["kept"] and [n for n, _ in net.named_buffers()] == ["kept", "scratch"]


def test_values_are_computed_once_within_cached():
    calls = []

    class Counted(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 2

        def right_inverse(self, value):
            return value / 2

    layer = square()
    parametrize.register_parametrization(layer, "weight", Counted())
    calls.clear()
    with parametrize.cached():
        assert layer.weight is layer.weight and len(calls) == 1
        with parametrize.cached():
            assert layer.weight is layer.weight and len(calls) == 1
        layer.weight = lm.ones((3, 3), dtype="float64")
        assert (layer.weight.detach().numpy() == 1).all() and len(calls) == 2
    assert layer.weight is not layer.weight and len(calls) == 4


def random_layer(parametrization):
    layer = nn.Linear(4, 3, dtype="float64")
    parametrization(layer)
    return layer


@pytest.mark.parametrize(
    "parametrization",
    [parametrizations.weight_norm, parametrizations.spectral_norm, parametrizations.orthogonal],
    ids=lambda f: f.__name__,
)
def test_copies_and_states(parametrization):
    layer = random_layer(parametrization)
    x = lm.asarray(RNG.normal(size=(2, 4)))
    layer.eval()
    expected = layer(x).detach().numpy()
    for twin in (copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        np.testing.assert_array_equal(twin(x).detach().numpy(), expected)
    other = random_layer(parametrization).eval()
    other.load_state_dict(layer.state_dict())
    np.testing.assert_array_equal(other(x).detach().numpy(), expected)
    with lm.no_grad():
        for parameter in copy.deepcopy(layer).parameters():
            parameter.fill_(1.0)
    np.testing.assert_array_equal(layer(x).detach().numpy(), expected)
    replaced = lm.autograd.functional_call(layer, {"bias": lm.zeros((3,), dtype="float64")}, (x,))
    np.testing.assert_allclose(replaced.detach().numpy(), expected - layer.bias.detach().numpy())


@pytest.mark.parametrize(
    ("parametrization", "names"),
    [
        (utils.weight_norm, {"original0": "weight_g", "original1": "weight_v"}),
        (utils.spectral_norm, {"original": "weight_orig", "0._u": "weight_u", "0._v": "weight_v"}),
        (lambda layer: prune.l1_unstructured(layer, "weight", 5), {"original": "weight_orig", "0.mask": "weight_mask"}),
    ],
    ids=["weight_norm", "spectral_norm", "prune"],
)
def test_states_with_other_names(parametrization, names):
    layer = random_layer(parametrization).eval()
    x = lm.asarray(RNG.normal(size=(2, 4)))
    state = nn.Sequential(layer).state_dict()
    for own, name in names.items():
        state[f"0.{name}"] = state.pop(f"0.parametrizations.weight.{own}")
    other = nn.Sequential(random_layer(parametrization).eval())
    assert other.load_state_dict(state) == ([], [])
    np.testing.assert_array_equal(other(x).detach().numpy(), layer(x).detach().numpy())


def test_transfer():
    source, target = square(), square()
    parametrize.register_parametrization(source, "weight", Symmetric())
    parametrize.transfer_parametrizations_and_params(source, target)
    np.testing.assert_array_equal(target.weight.detach().numpy(), source.weight.detach().numpy())
    assert target.parametrizations.weight.original is not source.parametrizations.weight.original
    assert parametrize.transfer_parametrizations_and_params(square(), target) is target
    assert parametrize.type_before_parametrizations(target) is nn.Linear


def test_what_is_refused():
    layer = square()
    state = {name: tensor.tolist() for name, tensor in layer.state_dict().items()}
    for call, error, message in (
        (lambda: parametrize.register_parametrization(layer, "weight", lm.relu), TypeError, "is a Module, not"),
        (lambda: parametrize.register_parametrization(layer, "w", Doubled()), ValueError, "no parameter or buffer 'w'"),
        (lambda: parametrize.register_parametrization(layer, "weight", Longer()), ValueError, r"shape \[6, 3\]"),
        (lambda: parametrizations.orthogonal(layer, "bias"), ValueError, r"\[orthogonal\] the weight has at least two"),
        (lambda: parametrizations.orthogonal(layer, orthogonal_map="qr"), ValueError, r"\[orthogonal\] orthogonal_map"),
        (lambda: parametrizations.orthogonal(layer, "w"), ValueError, r"\[orthogonal\] Linear has no parameter"),
        (lambda: parametrizations.spectral_norm(layer, "w"), ValueError, r"\[spectral_norm\] Linear has no"),
        (lambda: parametrizations.spectral_norm(layer, n_power_iterations=0), ValueError, "n_power_iterations"),
        (lambda: parametrizations.spectral_norm(layer, axis=2), IndexError, "axis 2 is none"),
    ):
        with pytest.raises(error, match=message):
            call()
    assert {name: tensor.tolist() for name, tensor in layer.state_dict().items()} == state
    parametrize.register_parametrization(layer, "weight", Longer(), unsafe=True)
    assert layer.weight.shape == (6, 3)


def test_a_parametrization_gets_the_mode_of_its_module():
    layer = nn.Linear(2, 2).eval()
    for _ in range(2):
        parametrize.register_parametrization(layer, "weight", nn.Identity())
    assert [module.training for module in layer.modules()] == [False] * len(list(layer.modules()))
