"""Containers of modules and of parameters: as lists and dicts, and found by the module that holds them."""

from __future__ import annotations

import copy
import pickle

import pytest

import lamella as lm
from lamella import nn


@pytest.mark.parametrize("kind", [nn.ModuleList, lambda modules: nn.Sequential(*modules)], ids=["list", "sequential"])
def test_lists_change_as_lists_do(kind):
    members = [nn.Identity() for _ in range(6)]
    net, plain = kind(members[:3]), members[:3]

    def same():
        assert list(net) == plain and list(net._modules) == [str(i) for i in range(len(plain))]

    for index, member in ((0, members[3]), (-1, members[4]), (9, members[5])):
        assert net.insert(index, member) is net
        plain.insert(index, member)
        same()
    assert net.pop() is plain.pop() and net.pop(1) is plain.pop(1)
    same()
    del net[0]
    del plain[0]
    same()
    net += members[:2]
    plain += members[:2]
    same()
    del net[1:3]
    del plain[1:3]
    same()
    assert list(net + members[:1]) == plain + members[:1] and type(net + members[:1]) is type(net)
    with pytest.raises(TypeError, match="not a Module"):
        net.insert(0, 3)
    with pytest.raises(IndexError):
        net.pop(7)
    same()


def test_module_dict():
    net = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    net["c"] = nn.Tanh()
    assert list(net) == list(net.keys()) == ["a", "b", "c"] and len(net) == 3 and "a" in net and "x" not in net
    assert [name for name, _ in net.named_parameters()] == ["a.weight", "a.bias"]
    assert list(net.values())[1] is net["b"] and dict(net.items())["c"] is net["c"]
    net.update([("b", nn.Sigmoid())])
    assert isinstance(net["b"], nn.Sigmoid) and list(net) == ["a", "b", "c"]
    assert isinstance(net.pop("b"), nn.Sigmoid)
    del net["c"]
    twin = pickle.loads(pickle.dumps(net))
    assert list(twin) == ["a"] and twin["a"].weight.item() == net["a"].weight.item()
    with pytest.raises(KeyError):
        net["x"]
    with pytest.raises(TypeError, match="not a Module"):
        net["x"] = 3
    with pytest.raises(KeyError, match="already an attribute"):
        net["pop"] = nn.ReLU()
    net.clear()
    assert len(net) == 0 and not list(net.parameters())


def test_parameter_list():
    first = nn.Parameter([1.0])
    held = nn.ParameterList([first, lm.ones((2,))])
    held.append(lm.zeros((3,))).extend([nn.Parameter([5.0])])
    held += [lm.ones((1,))]
    assert held[0] is first and len(held) == 5 and isinstance(held[1], nn.Parameter)
    assert [p.shape for p in held] == [(1,), (2,), (3,), (1,), (1,)] and held[-1] is held[4]
    assert [p is q for p, q in zip(held[1:3], list(held)[1:3], strict=True)] == [True, True]
    held[1] = lm.zeros((4,))
    net = nn.Module()
    net.held = held
    assert [name for name, _ in net.named_parameters()] == [f"held.{i}" for i in range(5)]
    assert net.held[1].shape == (4,) and not net.held[1].stop_gradient
    assert "1: [4] float32" in repr(held)
    with pytest.raises(TypeError, match=r"\[ParameterList\] '5' is a Parameter or a Tensor, not float"):
        held.append(1.0)
    assert len(copy.deepcopy(held)) == 5


def test_parameter_dict():
    held = nn.ParameterDict({"a": lm.ones((2,)), "b": nn.Parameter([1.0])})
    held["c"] = lm.zeros((1,))
    assert list(held) == list(held.keys()) == ["a", "b", "c"] and len(held) == 3 and "b" in held
    assert isinstance(held["a"], nn.Parameter) and held.get("x") is None and held.get("a") is held["a"]
    assert held.setdefault("a", lm.zeros((9,))).shape == (2,) and held.setdefault("d", lm.zeros((9,))).shape == (9,)
    held.update({"a": lm.zeros((3,))})
    assert held["a"].shape == (3,) and held.pop("d").shape == (9,)
    del held["c"]
    assert [name for name, _ in held.named_parameters()] == ["a", "b"]
    assert dict(held.items())["b"] is held["b"] and next(iter(held.values())) is held["a"]
    other = nn.ParameterDict({"a": lm.ones((3,)), "b": lm.ones((1,))})
    other.load_state_dict(held.state_dict())
    assert other["a"].tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(TypeError, match="not str"):
        held["x"] = "many"
    with pytest.raises(KeyError, match="already an attribute"):
        held["keys"] = lm.ones((1,))
    held.clear()
    assert not list(held.parameters())
