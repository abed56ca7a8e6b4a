"""States of modules beyond what test_module.py has: hooks, extra state, assignment; moves to devices and dtypes."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm
from lamella import nn


class Counting(nn.Module):
    """A module with a state that is no tensor."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter([1.0, 2.0])
        self.steps = 0

    def get_extra_state(self):
        return {"steps": self.steps}

    def set_extra_state(self, state):
        self.steps = state["steps"]


def test_extra_state():
    net = nn.Sequential(nn.Linear(2, 2), Counting())
    net[1].steps = 5
    state = net.state_dict()
    assert list(state) == ["0.weight", "0.bias", "1.weight", "1._extra_state"]
    other = nn.Sequential(nn.Linear(2, 2), Counting())
    assert other.load_state_dict(state) == ([], []) and other[1].steps == 5
    del state["1._extra_state"]
    with pytest.raises(nn.StateDictError, match=r"missing: 1\._extra_state"):
        other.load_state_dict(state)
    assert other.load_state_dict(state, strict=False).missing_keys == ["1._extra_state"]
    for method in ("get_extra_state", "set_extra_state"):
        with pytest.raises(NotImplementedError, match=rf"\[ReLU\] the module defines no {method}"):
            getattr(nn.ReLU(), method)(*([None] if method.startswith("set") else []))


def test_prefix_and_variables():
    net = nn.Linear(2, 1)
    assert list(net.state_dict("a.b")) == ["a.b.weight", "a.b.bias"]
    state = net.state_dict(keep_vars=True)
    assert state["weight"] is net.weight and state["bias"] is net.bias


def test_hooks_of_states():
    net = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    log = []
    net[1].register_state_dict_pre_hook(lambda m, prefix, keep_vars: log.append((prefix, keep_vars)))
    rename = net[1].register_state_dict_post_hook(
        lambda m, state, prefix, metadata: state.update({prefix + "w": state.pop(prefix + "weight")})
    )

    def back(module, state, prefix, metadata, strict, missing, unexpected, errors):
        state[prefix + "weight"] = state.pop(prefix + "w")

    net[1].register_load_state_dict_pre_hook(back)
    net.register_load_state_dict_post_hook(lambda m, keys: log.append(keys))
    state = net.state_dict()
    assert list(state) == ["0.weight", "0.bias", "1.bias", "1.w"] and log == [("1.", False)]
    state = {name: tensor + 1 for name, tensor in state.items()}
    expected = [state["1.w"].item(), state["0.bias"].item()]
    assert net.load_state_dict(state) == ([], [])
    assert [net[1].weight.item(), net[0].bias.item()] == expected
    assert log[-1] == ([], []) and "1.w" in state
    rename.remove()
    assert "1.weight" in net.state_dict()
    with (
        net.register_state_dict_post_hook(lambda m, state, prefix, metadata: state),
        pytest.raises(TypeError, match="None"),
    ):
        net.state_dict()


def test_hooks_report_what_does_not_fit():
    net = nn.Linear(1, 1)
    before = net.weight.item()

    def refuse(module, state, prefix, metadata, strict, missing, unexpected, errors):
        missing.append("scale")
        errors.append("weight: too old")

    net.register_load_state_dict_pre_hook(refuse)
    with pytest.raises(nn.StateDictError, match=r"missing: scale\n  weight: too old"):
        net.load_state_dict({"weight": lm.ones((1, 1)), "bias": lm.ones((1,))})
    assert net.weight.item() == before


def test_a_state_may_be_assigned():
    net = nn.BatchNorm1d(2, device="meta")
    assert net.weight.device == "meta"
    state = nn.BatchNorm1d(2, dtype="float64").state_dict()
    net.weight.stop_gradient = True
    net.load_state_dict(state, assign=True)
    assert net.weight.dtype == lm.float64 and net.weight.device == "cpu"
    assert net.weight.data_ptr() == state["weight"].data_ptr()
    assert isinstance(net.weight, nn.Parameter) and net.weight.stop_gradient and not net.bias.stop_gradient
    assert net.running_mean.data_ptr() == state["running_mean"].data_ptr()
    weight = net.weight
    with pytest.raises(nn.StateDictError, match="weight: shape"):
        net.load_state_dict({**state, "weight": lm.ones((3,))}, assign=True)
    with pytest.raises(nn.StateDictError, match="bias: int64 in the state, of which there are no gradients"):
        net.load_state_dict({**state, "bias": lm.ones((2,), dtype="int64")}, assign=True)
    assert net.weight is weight


@pytest.mark.parametrize(
    ("name", "dtype"), [("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16")]
)
def test_dtypes_by_name(name, dtype):
    net = getattr(nn.BatchNorm1d(2, dtype="float16" if name != "half" else "float32"), name)()
    assert {t.dtype.name for t in [*net.parameters(), net.running_mean]} == {dtype}
    assert net.num_batches_tracked.dtype == lm.int64
    assert all(isinstance(p, nn.Parameter) and not p.stop_gradient for p in net.parameters())


def test_moves():
    net = nn.Linear(2, 1)
    before = net.weight
    assert net.cpu() is net and net.to("cpu", lm.float32) is net and net.to(device="cpu") is net
    assert net.weight is before
    assert net.to(lm.ones((1,), dtype="float64")).weight.dtype == lm.float64
    assert net.to("meta", dtype="float32").weight.device == "meta"
    assert net.to_empty(device="cpu").weight.shape == (1, 2) and net.weight.device == "cpu"
    shared = nn.Sequential(net, net)
    shared.to("float64")
    assert shared[0].weight is shared[1].weight
    mixed = nn.ParameterDict({"z": lm.asarray([1 + 2j]), "x": lm.ones((1,))}).to("float64")
    assert (mixed["z"].item(), mixed["z"].dtype, mixed["x"].dtype) == (1 + 2j, lm.complex64, lm.float64)
    assert {p.dtype for p in mixed.to("complex64").parameters()} == {lm.complex64}
    for arguments in ((), ("cpu", "meta"), (lm.float32, lm.float64), (lm.ones((1,)), "cpu")):
        with pytest.raises(TypeError, match=r"^\[to\]"):
            net.to(*arguments)


def test_parts_by_their_names():
    net = nn.Sequential(nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1)))
    assert net.get_submodule("") is net and net.get_submodule("0.1") is net[0][1]
    assert net.get_parameter("0.0.weight") is net[0][0].weight
    assert net.get_buffer("0.1.running_mean") is net[0][1].running_mean
    net.set_submodule("0.1", nn.ReLU())
    assert isinstance(net[0][1], nn.ReLU) and len(net[0]) == 2
    net.set_submodule("0.2", nn.Tanh())
    assert isinstance(net[0][2], nn.Tanh)
    for call, message in (
        (lambda: net.get_submodule("0.5.1"), r"\[get_submodule\] Sequential has no submodule '5' \('0.5.1'\)"),
        (lambda: net.get_parameter("0.0.w"), r"\[get_parameter\] Linear has no parameter 'w'"),
        (lambda: net.get_buffer("0.0.weight"), r"\[get_buffer\] Linear has no buffer 'weight'"),
        (
            lambda: net.set_submodule("0.7", nn.ReLU(), strict=True),
            r"\[set_submodule\] Sequential has no submodule '7'",
        ),
    ):
        with pytest.raises(AttributeError, match=message):
            call()
    with pytest.raises(TypeError, match=r"\[get_submodule\] a name is a str, not int"):
        net.get_submodule(0)
    with pytest.raises(ValueError, match="name of a submodule"):
        net.set_submodule("", nn.ReLU())
    with pytest.raises(TypeError, match="not a Module"):
        net.set_submodule("0.1", lm.relu)


def test_names_of_what_is_shared():
    layer = nn.Linear(1, 1)
    net = nn.Sequential(layer, layer)
    assert [name for name, _ in net.named_parameters("net")] == ["net.0.weight", "net.0.bias"]
    every = [name for name, _ in net.named_parameters(remove_duplicate=False)]
    assert every == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert [name for name, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1"]
    norm = nn.BatchNorm1d(1)
    both = nn.Sequential(norm, norm)
    assert len(list(both.named_buffers())) == 3 and len(list(both.named_buffers(remove_duplicate=False))) == 6


def test_gradients_may_be_zeroed():
    net = nn.Linear(2, 1)
    net(lm.ones((1, 2))).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.weight.grad.tolist() == [[0.0, 0.0]]
    net.zero_grad()
    assert net.weight.grad is None


def test_buffers_by_assignment():
    net = nn.Module()
    net.mean = nn.Buffer(np.zeros(2, np.float32))
    net.scratch = nn.Buffer(lm.ones((1,)), persistent=False)
    assert [name for name, _ in net.named_buffers()] == ["mean", "scratch"] and list(net.state_dict()) == ["mean"]
    net.mean = lm.ones((2,))
    assert net.state_dict()["mean"].tolist() == [1.0, 1.0]
    assert repr(nn.Buffer([1.0])).startswith("Buffer containing:\n") and "mean" in dir(net)
    net.register_module("child", nn.ReLU())
    assert isinstance(net.child, nn.ReLU)
