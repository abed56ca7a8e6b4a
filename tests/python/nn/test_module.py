"""lm.nn.Module: registration, walking, state."""

import copy
import pickle

import numpy as np
import pytest

import lamella as lm
from lamella import nn


class Block(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.inner = nn.Linear(width, 2)
        self.scale = nn.Parameter(lm.ones((2,)))
        self.register_buffer("count", lm.zeros((1,)))
        self.register_buffer("scratch", lm.zeros((1,)), persistent=False)

    def forward(self, x):
        return self.inner(x) * self.scale


def values(module):
    return {name: tensor.numpy().copy() for name, tensor in module.state_dict().items()}


def test_names_come_in_the_order_of_registration():
    net = nn.Sequential(Block(), nn.ReLU(), Block(2))
    assert [name for name, _ in net.named_parameters()] == [
        "0.scale",
        "0.inner.weight",
        "0.inner.bias",
        "2.scale",
        "2.inner.weight",
        "2.inner.bias",
    ]
    assert [name for name, _ in net.named_buffers()] == ["0.count", "0.scratch", "2.count", "2.scratch"]
    assert [name for name, _ in net.named_modules()] == ["", "0", "0.inner", "1", "2", "2.inner"]
    assert [name for name, _ in net.named_children()] == ["0", "1", "2"]
    assert len(list(net.parameters(recurse=False))) == 0 and len(list(net[0].parameters(recurse=False))) == 1


def test_shared_parameters_and_modules_come_once():
    first = nn.Linear(2, 2)
    net = nn.Sequential(first, first)
    assert len(list(net.parameters())) == 2
    assert [name for name, _ in net.named_modules()] == ["", "0"]
    assert sorted(net.state_dict()) == ["0.bias", "0.weight", "1.bias", "1.weight"]
    second = nn.Linear(2, 2)
    second.weight = first.weight
    assert len(list(nn.Sequential(first, second).parameters())) == 3


def test_attributes_change_their_kind():
    net = nn.Module()
    net.x = 3
    net.x = nn.Parameter([1.0])
    assert [name for name, _ in net.named_parameters()] == ["x"]
    net.x = nn.Linear(1, 1)
    assert [name for name, _ in net.named_parameters()] == ["x.weight", "x.bias"]
    net.x = None
    assert net.x is None and not list(net.parameters())
    del net.x
    with pytest.raises(AttributeError, match="'Module' object has no attribute 'x'"):
        _ = net.x


def test_registration_refuses_what_does_not_belong():
    net = Block()
    with pytest.raises(TypeError, match="'scale' is a parameter"):
        net.scale = lm.ones((2,))
    with pytest.raises(TypeError, match="'inner' is a submodule"):
        net.inner = 3
    with pytest.raises(TypeError, match="'count' is a buffer"):
        net.count = "many"
    with pytest.raises(TypeError, match="not a Tensor"):
        net.register_buffer("b", [1.0])
    with pytest.raises(TypeError, match="not a Parameter"):
        net.register_parameter("p", lm.ones((2,)))
    with pytest.raises(TypeError, match="not a Module"):
        net.add_module("m", lm.relu)
    with pytest.raises(KeyError, match="holds a dot"):
        net.add_module("a.b", nn.ReLU())
    with pytest.raises(KeyError, match="already an attribute"):
        net.register_buffer("forward", lm.ones((1,)))
    net.count = lm.ones((1,))
    assert net.state_dict()["count"].tolist() == [1.0]


def test_a_module_without_init_says_so():
    class Late(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\) before setting 'layer'"):
        Late()
    with pytest.raises(NotImplementedError, match="Module"):
        nn.Module()(1)


def test_a_part_may_keep_its_mode():
    class Frozen(nn.Module):
        def train(self, mode=True):
            return super().train(False)

    net = nn.Sequential(nn.Sequential(Frozen(), nn.ReLU()))
    net.train()
    assert [module.training for module in net.modules()] == [True, True, False, True]


def test_mode_reaches_every_module():
    net = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.5)))
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    net.train()
    assert all(module.training for module in net.modules())
    with pytest.raises(TypeError, match="mode is a bool"):
        net.train("yes")


def test_apply_visits_children_first():
    seen = []
    nn.Sequential(nn.Sequential(nn.ReLU()), nn.Tanh()).apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["ReLU", "Sequential", "Tanh", "Sequential"]


def test_zero_grad_and_freezing():
    net = nn.Linear(2, 1)
    net(lm.ones((1, 2))).sum().backward()
    assert net.weight.grad.tolist() == [[1.0, 1.0]]
    net.zero_grad()
    assert net.weight.grad is None and net.bias.grad is None
    net.requires_grad_(False)
    assert all(p.stop_gradient for p in net.parameters())
    assert net(lm.ones((1, 2))).stop_gradient


def test_state_goes_from_one_module_to_another():
    source, target = Block(), Block()
    state = source.state_dict()
    assert list(state) == ["scale", "count", "inner.weight", "inner.bias"]
    assert all(tensor.stop_gradient for tensor in state.values())
    parameters = list(target.parameters())
    assert target.load_state_dict(state) == ([], [])
    assert all(a is b for a, b in zip(parameters, target.parameters(), strict=True))
    assert not any(p.stop_gradient for p in target.parameters())
    for name, array in values(target).items():
        np.testing.assert_array_equal(array, state[name].numpy())


def test_a_state_that_does_not_fit_changes_nothing_and_names_everything():
    net = Block()
    before = values(net)
    state = {name: tensor.clone() + 1.0 for name, tensor in net.state_dict().items()}
    del state["inner.bias"]
    state["extra"] = lm.ones((1,))
    state["inner.weight"] = lm.ones((5, 5))
    for kind in (RuntimeError, ValueError):
        with pytest.raises(kind) as caught:
            net.load_state_dict(state)
        message = str(caught.value)
        assert "missing: inner.bias" in message
        assert "unexpected: extra" in message
        assert "inner.weight: shape [5, 5] in the state, [2, 3] in the module" in message
    with pytest.raises(ValueError, match=r"inner\.weight"):
        net.load_state_dict(state, strict=False)
    for name, array in values(net).items():
        np.testing.assert_array_equal(array, before[name])
    del state["inner.weight"]
    assert net.load_state_dict(state, strict=False) == (["inner.weight", "inner.bias"], ["extra"])
    assert net.scale.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="mapping"):
        net.load_state_dict([1, 2])


def test_state_is_cast_and_may_be_numpy():
    net = nn.Linear(2, 1)
    net.load_state_dict({"weight": np.array([[1.0, 2.0]]), "bias": np.array([3.0])})
    assert net.weight.dtype == lm.float32 and net.weight.tolist() == [[1.0, 2.0]]


def test_to_changes_floating_tensors_only():
    net = Block()
    net.register_buffer("steps", lm.asarray(np.array([3])))
    shared = nn.Linear(3, 2)
    shared.weight = net.inner.weight
    both = nn.Sequential(net, shared).to(lm.float64)
    assert {p.dtype.name for p in both.parameters()} == {"float64"}
    assert net.steps.dtype == lm.int64 and net.count.dtype == lm.float64
    assert shared.weight is net.inner.weight and isinstance(shared.weight, nn.Parameter)
    assert not shared.weight.stop_gradient
    assert both.to("cpu") is both


def test_repr_shows_the_tree():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Dropout(0.25)))
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Dropout(p=0.25)\n"
        "  )\n"
        ")"
    )


def test_copies_are_independent():
    net = Block()
    for twin in (copy.deepcopy(net.inner), pickle.loads(pickle.dumps(net.inner))):
        assert twin.weight.tolist() == net.inner.weight.tolist()
        assert isinstance(twin.weight, nn.Parameter) and not twin.weight.stop_gradient
        with lm.no_grad():
            twin.weight.fill_(7)
        assert 7.0 not in net.inner.weight.tolist()[0]


def test_parameter():
    source = lm.tensor([1.0, 2.0], stop_gradient=False)
    parameter = nn.Parameter(source * 2)
    assert isinstance(parameter, lm.Tensor) and parameter.is_leaf and not parameter.stop_gradient
    assert parameter.tolist() == [2.0, 4.0]
    assert nn.Parameter([1, 2], dtype=lm.float64).dtype == lm.float64
    assert nn.Parameter(np.ones(2), stop_gradient=True).stop_gradient
    assert repr(nn.Parameter([1.0])).startswith("Parameter containing:\n")
    original = lm.ones((2,))
    copied = nn.Parameter(original)
    with lm.no_grad():
        copied.fill_(5)
    assert original.tolist() == [1.0, 1.0]


def test_containers():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert len(net) == 3 and isinstance(net[1], nn.ReLU) and net[-1] is net[2]
    assert isinstance(net[:2], nn.Sequential) and len(net[:2]) == 2 and net[:2][0] is net[0]
    net[1] = nn.Tanh()
    assert isinstance(net[1], nn.Tanh)
    for given, words in (
        (lm.tanh, r"item 1 is \w+, not a Module: call it in the forward of a module"),
        (nn.ReLU, r"item 1 is the class ReLU, not a Module: write ReLU\(...\)"),
        (type("Mine", (lm.PyLayer,), {}), r"item 1 is the class Mine, .* call Mine.apply in the forward of a module"),
        (int, r"item 1 is the class int, not a Module$"),
        (3, r"item 1 is int, not a Module$"),
    ):
        with pytest.raises(TypeError, match=words):
            net[1] = given
        with pytest.raises(TypeError, match=words.replace("item 1", "'1'")):
            nn.Sequential(nn.Linear(2, 3), given)
    with pytest.raises(IndexError):
        net[3]
    named = nn.Sequential({"a": nn.Linear(2, 2), "b": nn.ReLU()})
    assert [name for name, _ in named.named_parameters()] == ["a.weight", "a.bias"]
    layers = nn.ModuleList([nn.Linear(1, 1)]).append(nn.ReLU()).extend([nn.Linear(1, 1)])
    assert [name for name, _ in layers.named_parameters()] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert [type(layer).__name__ for layer in layers] == ["Linear", "ReLU", "Linear"]
