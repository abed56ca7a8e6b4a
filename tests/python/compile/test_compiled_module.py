"""Compiled modules are modules; compiled methods are methods."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import lamella as lm


class Scaled(lm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = lm.nn.Linear(4, 4)
        self.scale = 1.0

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        return self.linear(x) * self.scale


def called(module: Any, times: int = 4) -> Any:
    x = lm.ones([3, 4])
    return [module(x) for _ in range(times)][-1].tolist()


def test_a_compiled_module_has_the_attributes_of_the_module():
    module = Scaled()
    compiled = lm.compile(module)
    called(compiled)
    assert isinstance(compiled, Scaled) and repr(compiled) == repr(module)
    compiled.scale = 3.0
    assert module.scale == 3.0 and called(compiled) == called(module)
    compiled.eval()
    assert not module.training
    module.linear = lm.nn.Linear(4, 2)
    assert compiled.linear is module.linear and called(compiled) == called(module)
    compiled.to(lm.float64)
    assert module.linear.weight.dtype == lm.float64
    assert list(compiled.state_dict()) == list(module.state_dict())
    assert lm.compile(compiled) is compiled
    assert len(lm.compile.explain(compiled).graphs) == 3


def test_containers():
    compiled = lm.compile(lm.nn.Sequential(lm.nn.Linear(4, 4), lm.nn.ReLU()))
    assert len(compiled) == 2 and [type(layer).__name__ for layer in compiled] == ["Linear", "ReLU"]
    assert isinstance(compiled[0], lm.nn.Linear)


def test_a_compiled_module_is_a_part_of_others():
    class Net(lm.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = lm.compile(Scaled())
            self.tail = lm.nn.Sequential(lm.compile(lm.nn.Linear(4, 2)), lm.nn.Tanh())

        def forward(self, x: lm.Tensor) -> lm.Tensor:
            return self.tail(self.body(x))

    net = Net()
    assert len(list(net.parameters())) == 4
    optimizer = lm.optim.SGD(net.parameters(), lr=0.05)
    losses = []
    for _ in range(6):
        loss = (net(lm.ones([3, 4])) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < losses[0]
    assert len(lm.compile.explain(net.body).graphs) == 1
    outer = lm.compile(net)
    expected = called(net)
    np.testing.assert_allclose(called(outer), expected, 1e-6)
    assert len(lm.compile.explain(outer).graphs) == 1


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_copies(copied: Any):
    compiled = lm.compile(Scaled())
    called(compiled)
    other = copied(compiled)
    assert called(other) == called(compiled) and isinstance(other, Scaled)
    assert len(lm.compile.explain(other).graphs) == 1
    other.scale = 5.0
    assert compiled.scale == 1.0


def test_hooks_of_a_class_of_modules_are_told_of_no_other_class():
    told = []

    class Registered(lm.nn.Module):
        def __init_subclass__(cls, **kwargs: Any) -> None:
            told.append(cls.__name__)
            super().__init_subclass__(**kwargs)

        def forward(self, x: lm.Tensor) -> lm.Tensor:
            return x * 2

    assert called(lm.compile(Registered())) == [[2.0] * 4] * 3 and told == []


def test_a_lazy_layer_becomes_another():
    compiled = lm.compile(lm.nn.LazyLinear(2))
    assert len(called(compiled)[0]) == 2
    assert type(compiled).__name__ == "Linear" and len(list(compiled.parameters())) == 2
    assert len(lm.compile.explain(compiled).graphs) == 1


def test_a_compiled_method_that_its_module_has():
    class Net(lm.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = lm.nn.Linear(4, 4)
            self.double = lm.compile(self._double)

        def _double(self, x: lm.Tensor) -> lm.Tensor:
            return self.linear(x) * 2

        def forward(self, x: lm.Tensor) -> lm.Tensor:
            return self.double(x)

    net = Net()
    called(net)
    assert len(lm.compile.explain(net.double).graphs) == 1
    other = copy.deepcopy(net)
    with lm.no_grad():
        other.linear.weight.mul_(0.0)
        other.linear.bias.mul_(0.0)
    assert called(other) == [[0.0] * 4] * 3 != called(net)


def test_kinds_of_methods():
    class Holder:
        factor = 2
        layer = lm.compile(lm.nn.Linear(4, 4))

        @lm.compile
        @staticmethod
        def static(x: lm.Tensor) -> lm.Tensor:
            return x * 2

        @lm.compile
        @classmethod
        def of_class(cls, x: lm.Tensor) -> lm.Tensor:
            return x * cls.factor

        @property
        @lm.compile
        def computed(self) -> lm.Tensor:
            return lm.ones([2]) * self.factor

    holder = Holder()
    assert called(holder.static) == called(Holder.static) == called(holder.of_class) == [[2.0] * 4] * 3
    assert called(holder.layer) == called(Holder.layer)
    for factor in (2, 2, 2, 2, 5):
        holder.factor = factor
        assert holder.computed.tolist() == [factor, factor]
