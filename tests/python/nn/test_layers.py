"""Layers, losses and starting values, against numpy."""

import math

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.nn import functional as F
from lamella.nn import init

X = np.array([[-2.0, -0.5, 0.0], [0.5, 1.0, 3.0]], dtype=np.float32)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def erf(x):
    return np.vectorize(math.erf)(x)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (nn.ReLU(), np.maximum(X, 0)),
        (nn.Tanh(), np.tanh(X)),
        (nn.Sigmoid(), 1 / (1 + np.exp(-X))),
        (nn.GELU(), X * (1 + erf(X / math.sqrt(2))) / 2),
        (nn.GELU("tanh"), X / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3)))),
        (nn.Softmax(), softmax(X, -1)),
        (nn.Softmax(axis=0), softmax(X, 0)),
        (nn.LogSoftmax(), np.log(softmax(X, -1))),
        (nn.Identity(), X),
        (nn.Flatten(0), X.reshape(-1)),
    ],
    ids=lambda value: repr(value) if isinstance(value, nn.Module) else "",
)
def test_layers_without_parameters(layer, expected):
    np.testing.assert_allclose(layer(lm.asarray(X)).numpy(), expected, rtol=1e-5, atol=1e-6)
    assert not list(layer.parameters())


def test_flatten_keeps_the_batch():
    assert tuple(nn.Flatten()(lm.zeros((4, 2, 3))).shape) == (4, 6)
    assert tuple(nn.Flatten(1, 2)(lm.zeros((4, 2, 3, 5))).shape) == (4, 6, 5)


def test_linear():
    layer = nn.Linear(3, 2)
    assert tuple(layer.weight.shape) == (2, 3) and tuple(layer.bias.shape) == (2,)
    expected = X @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(lm.asarray(X)).detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    deep = layer(lm.asarray(np.broadcast_to(X, (4, 2, 3)).copy()))
    assert tuple(deep.shape) == (4, 2, 2)
    np.testing.assert_allclose(deep.detach().numpy()[3], expected, rtol=1e-5, atol=1e-6)
    layer(lm.asarray(X)).sum().backward()
    np.testing.assert_allclose(layer.weight.grad.numpy(), np.broadcast_to(X.sum(axis=0), (2, 3)), rtol=1e-5)
    np.testing.assert_allclose(layer.bias.grad.numpy(), [2.0, 2.0])
    without = nn.Linear(3, 2, bias=False)
    assert without.bias is None and len(list(without.parameters())) == 1
    assert nn.Linear(3, 2, dtype=lm.float64).weight.dtype == lm.float64


def test_linear_refuses_bad_sizes():
    with pytest.raises(TypeError, match="in_features is an int"):
        nn.Linear(2.0, 2)
    with pytest.raises(ValueError, match="out_features is negative"):
        nn.Linear(2, -1)
    with pytest.raises(ValueError, match=r"\[linear\]"):
        nn.Linear(3, 2)(lm.zeros((2, 4)))


def test_linear_starts_within_its_bounds_and_by_the_seed():
    lm.seed(3)
    first = nn.Linear(100, 50)
    lm.seed(3)
    second = nn.Linear(100, 50)
    np.testing.assert_array_equal(first.weight.detach().numpy(), second.weight.detach().numpy())
    weight = first.weight.detach().numpy()
    assert np.abs(weight).max() <= 0.1 and np.abs(first.bias.detach().numpy()).max() <= 0.1
    assert np.abs(weight).max() > 0.099 and abs(weight.std() - 0.1 / math.sqrt(3)) < 0.002


def test_dropout():
    lm.seed(0)
    x = lm.ones((100, 100))
    layer = nn.Dropout(0.25)
    y = layer(x).numpy()
    np.testing.assert_allclose(np.unique(y), [0.0, 1 / 0.75], rtol=1e-6)
    assert abs((y == 0).mean() - 0.25) < 0.02
    assert layer.eval()(x) is x
    assert nn.Dropout(0.0)(x) is x
    assert not nn.Dropout(1.0)(x).numpy().any()
    with pytest.raises(ValueError, match="probability"):
        nn.Dropout(1.5)
    x = lm.tensor(np.ones(1000, np.float32), stop_gradient=False)
    y = F.dropout(x, 0.5)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())


@pytest.mark.parametrize(
    ("layer", "shape", "function"),
    [
        (nn.Dropout1d, (8, 16, 5), F.dropout1d),
        (nn.Dropout2d, (8, 16, 2, 3), F.dropout2d),
        (nn.Dropout3d, (8, 16, 2, 3, 2), F.dropout3d),
        (nn.AlphaDropout, (64, 32), F.alpha_dropout),
        (nn.FeatureAlphaDropout, (8, 16, 2, 3), F.feature_alpha_dropout),
    ],
)
def test_dropout_variants(layer, shape, function):
    x = lm.asarray(np.random.default_rng(3).normal(size=shape).astype("float32"))
    drop = layer(0.25)
    lm.seed(4)
    got = drop(x)
    lm.seed(4)
    np.testing.assert_array_equal(got.numpy(), function(x, 0.25).numpy())
    assert (got.numpy() != x.numpy()).any()
    if layer is not nn.AlphaDropout:
        # A channel is dropped, or kept, as a whole.
        dropped = (got.numpy() == 0) if layer is not nn.FeatureAlphaDropout else np.ptp(got.numpy(), (2, 3)) == 0
        per_channel = dropped.reshape(8, 16, -1)
        assert (per_channel.all(-1) == per_channel.any(-1)).all() and 0 < per_channel.mean() < 0.5
    assert drop.eval()(x) is x
    assert repr(layer(0.5)) == f"{layer.__name__}(p=0.5)"
    with pytest.raises(ValueError, match=rf"\[{layer.__name__}\] p is a probability"):
        layer(-0.1)


def test_losses():
    target = np.array([2, 0])
    each = -np.log(softmax(X, -1))[[0, 1], target]
    for reduction, expected in (("mean", each.mean()), ("sum", each.sum()), ("none", each)):
        loss = nn.CrossEntropyLoss(reduction=reduction)(lm.asarray(X), lm.asarray(target))
        np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-5)
    other = X[::-1].copy()
    squares = (X - other) ** 2
    for reduction, expected in (("mean", squares.mean()), ("sum", squares.sum()), ("none", squares)):
        loss = nn.MSELoss(reduction)(lm.asarray(X), lm.asarray(other))
        np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="reduction is"):
        nn.MSELoss("median")


def test_starting_values():
    lm.seed(1)
    weight = lm.empty((200, 100))
    assert init.ones_(weight) is weight and (weight.numpy() == 1).all()
    assert (init.zeros_(weight).numpy() == 0).all()
    assert (init.constant_(weight, 2.5).numpy() == 2.5).all()
    cases = [
        (init.uniform_(lm.empty((200, 100)), -1, 3), 4 / math.sqrt(12), 3),
        (init.normal_(lm.empty((200, 100)), 0, 2), 2, None),
        (init.xavier_uniform_(lm.empty((200, 100))), math.sqrt(2 / 300), math.sqrt(6 / 300)),
        (init.xavier_normal_(lm.empty((200, 100)), gain=2), 2 * math.sqrt(2 / 300), None),
        (init.kaiming_uniform_(lm.empty((200, 100)), nonlinearity="relu"), math.sqrt(2 / 100), math.sqrt(6 / 100)),
        (init.kaiming_normal_(lm.empty((200, 100)), mode="fan_out", nonlinearity="linear"), math.sqrt(1 / 200), None),
    ]
    for tensor, std, bound in cases:
        array = tensor.numpy()
        assert abs(array.std() / std - 1) < 0.03
        assert bound is None or 0.98 * bound < array.max() <= bound
    assert init.fans(lm.empty((4, 3, 5, 5))) == (75, 100)
    wide = lm.empty((50, 50), dtype=lm.float64)
    init.normal_(wide)
    assert wide.dtype == lm.float64 and (wide.numpy().astype(np.float32) != wide.numpy()).any()
    with pytest.raises(ValueError, match="two axes"):
        init.xavier_uniform_(lm.empty((3,)))
    with pytest.raises(ValueError, match="mode is"):
        init.kaiming_uniform_(weight, mode="fan")
    with pytest.raises(ValueError, match="no gain"):
        init.calculate_gain("cosine")


def test_starting_values_leave_no_graph():
    parameter = nn.Parameter(lm.zeros((3, 3)))
    init.kaiming_uniform_(parameter)
    assert parameter.is_leaf and parameter.grad_fn is None and not parameter.stop_gradient
