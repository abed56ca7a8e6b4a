"""Layers that take the number of their inputs from the first one."""

import copy
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella import nn

#: The name behind "Lazy", arguments, the shape of an input, the size that is found out.
LAYERS = [
    ("Linear", {"out_features": 3}, (2, 5), 5),
    ("Linear", {"out_features": 3, "bias": False}, (5,), 5),
    ("Conv1d", {"out_channels": 4, "kernel_size": 2}, (2, 6, 5), 6),
    ("Conv1d", {"out_channels": 4, "kernel_size": 2}, (6, 5), 6),
    ("Conv2d", {"out_channels": 4, "kernel_size": 2, "groups": 2, "bias": False}, (2, 6, 5, 5), 6),
    ("Conv3d", {"out_channels": 4, "kernel_size": 2, "padding": 1}, (2, 3, 4, 4, 4), 3),
    ("ConvTranspose1d", {"out_channels": 4, "kernel_size": 2}, (2, 6, 5), 6),
    ("ConvTranspose2d", {"out_channels": 4, "kernel_size": 2, "groups": 2}, (2, 6, 5, 5), 6),
    ("ConvTranspose3d", {"out_channels": 4, "kernel_size": 2, "stride": 2}, (3, 4, 4, 4), 3),
    ("BatchNorm1d", {}, (4, 6), 6),
    ("BatchNorm1d", {"momentum": None}, (4, 6, 2), 6),
    ("BatchNorm2d", {"eps": 1e-3, "affine": False}, (4, 6, 2, 2), 6),
    ("BatchNorm3d", {"track_running_stats": False}, (4, 6, 2, 2, 2), 6),
    ("InstanceNorm1d", {}, (4, 6, 3), 6),
    ("InstanceNorm2d", {"affine": False}, (6, 3, 3), 6),
    ("InstanceNorm3d", {}, (4, 6, 2, 2, 2), 6),
]
NAMES = [f"{name}-{len(shape)}-{number}" for number, (name, _, shape, _) in enumerate(LAYERS)]
each_layer = pytest.mark.parametrize(("name", "settings", "shape", "size"), LAYERS, ids=NAMES)


@pytest.fixture
def rng():
    return np.random.default_rng(31)


def lazy(name, settings):
    return getattr(nn, f"Lazy{name}")(**settings)


def eager(name, settings, size):
    # An instance norm of its own has neither parameters nor statistics unless it is asked to.
    usual = {"affine": True, "track_running_stats": True} if name.startswith("Instance") else {}
    return getattr(nn, name)(size, **{**usual, **settings})


@each_layer
def test_the_first_call_makes_the_layer(name, settings, shape, size, rng):
    x = lm.asarray(rng.standard_normal(shape).astype("float32"))
    layer, reference = lazy(name, settings), eager(name, settings, size)
    assert isinstance(layer, type(reference)) and repr(layer).startswith(f"Lazy{name}(")
    seen = []
    layer.register_forward_hook(lambda module, args, result: seen.append(type(module)))
    lm.seed(3)
    y = layer(x)
    assert type(layer) is type(reference) and seen == [type(reference)]
    lm.seed(3)
    reference = eager(name, settings, size)
    assert {k: v.shape for k, v in layer.state_dict().items()} == {
        k: v.shape for k, v in reference.state_dict().items()
    }
    np.testing.assert_array_equal(y.detach().numpy(), reference(x).detach().numpy())
    layer(x)  # hooks stay
    assert len(seen) == 2 and layer.extra_repr() == reference.extra_repr()
    assert [name for name, _ in layer.named_buffers()] == [name for name, _ in reference.named_buffers()]


@each_layer
def test_it_is_copied_pickled_and_loaded_before_its_first_call(name, settings, shape, size, rng):
    x = lm.asarray(rng.standard_normal(shape).astype("float64"))
    reference = eager(name, settings, size).double()
    layer = lazy(name, settings).eval()
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), layer):
        other.double()
        if reference.state_dict():
            net = nn.Sequential(other)
            net.load_state_dict({f"0.{key}": value for key, value in reference.state_dict().items()})
            assert type(other) is type(reference)
        y = other(x)
        assert not other.training and y.dtype == lm.float64
        np.testing.assert_array_equal(y.detach().numpy(), reference.eval()(x).detach().numpy())


def test_parameters_before_the_first_call_are_an_error():
    net = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2))
    for ask in (lambda: list(net.parameters()), lambda: lm.optim.SGD(net.parameters(), lr=0.1)):
        with pytest.raises(ValueError, match=r"\[LazyLinear\] 0 has no parameters before its first call"):
            ask()
    assert net.state_dict() == {}
    net(lm.ones((3, 5)))
    assert [tuple(p.shape) for p in net.parameters()] == [(4, 5), (4,), (2, 4), (2,)]


def test_states_that_do_not_tell_the_size():
    with pytest.raises(ValueError, match=r"missing: 0\.weight"):
        nn.Sequential(nn.LazyLinear(4)).load_state_dict({})
    assert nn.LazyLinear(4).load_state_dict({}, strict=False).missing_keys == ["weight"]
    nn.LazyBatchNorm1d(affine=False, track_running_stats=False).load_state_dict({})


@pytest.mark.parametrize(
    ("make", "shape", "message"),
    [
        (lambda: nn.LazyLinear(3), (), r"\[LazyLinear\] x has at least one axis"),
        (lambda: nn.LazyConv2d(3, 2), (2, 3), r"\[LazyConv2d\] x has 3 or 4 axes, not the shape \(2, 3\)"),
        (lambda: nn.LazyBatchNorm2d(), (2, 3), r"\[LazyBatchNorm2d\] x has 4 axes, not"),
        (lambda: nn.LazyLinear(-3), (2,), r"\[LazyLinear\] out_features is negative: -3"),
    ],
)
def test_what_is_refused(make, shape, message):
    with pytest.raises(ValueError, match=message):
        make()(lm.ones(shape))
