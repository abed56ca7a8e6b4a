"""Attributes and calls of modules that C finds, beside those of classes with methods of their own."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import lamella as lm
from lamella import nn


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(lm.ones([2]))
        self.inner = nn.ReLU()
        self.register_buffer("seen", lm.zeros([1]))
        self.absent = None
        self.register_parameter("reserved", None)

    def forward(self, x: lm.Tensor, *, scale: float = 1.0) -> lm.Tensor:
        return self.inner(x * self.weight) * scale


class WithGetattr(Plain):
    def __getattr__(self, name: str) -> Any:
        if name == "made_up":
            return 7
        return super().__getattr__(name)


class WithGetattribute(Plain):
    def __getattribute__(self, name: str) -> Any:
        return "seen" if name == "looked" else super().__getattribute__(name)


class WithCall(Plain):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs) + 100


class WithFailingProperty(Plain):
    @property
    def failing(self) -> int:
        raise AttributeError("within")


@pytest.mark.parametrize("kind", [Plain, WithGetattr, WithGetattribute, WithCall])
def test_registered_attributes_are_found(kind: type[Plain]) -> None:
    module = kind()
    assert module.weight is module._parameters["weight"]
    assert module.inner is module._modules["inner"]
    assert module.seen is module._buffers["seen"]
    assert module.absent is None
    assert module.reserved is None
    with pytest.raises(AttributeError, match=f"'{kind.__name__}' object has no attribute 'missing'"):
        _ = module.missing
    assert getattr(module, "missing", 3) == 3
    assert not hasattr(module, "missing")


def test_own_methods_of_a_class_win() -> None:
    assert WithGetattr().made_up == 7
    assert WithGetattribute().looked == "seen"
    with pytest.raises(AttributeError, match="failing"):
        _ = WithFailingProperty().failing
    x = lm.asarray([1.0, -1.0])
    assert Plain()(x, scale=2.0).tolist() == [2.0, 0.0]
    assert WithCall()(x).tolist() == [101.0, 100.0]


def test_methods_that_a_class_gets_later_win() -> None:
    class Late(Plain):
        pass

    module = Late()
    assert module.weight is module._parameters["weight"]
    Late.__getattr__ = lambda self, name: name.upper()  # type: ignore[method-assign, assignment]
    Late.__call__ = lambda self, x: "called"  # type: ignore[method-assign, assignment]
    assert (module.weight, module(1)) == ("WEIGHT", "called")
    del Late.__getattr__, Late.__call__
    assert module.weight is module._parameters["weight"]
    assert module(lm.asarray([1.0, 1.0])).tolist() == [1.0, 1.0]


def test_hooks_and_forwards_of_an_instance_are_called() -> None:
    module = Plain()
    seen: list[Any] = []
    handle = module.register_forward_hook(lambda module, args, result: seen.append(result))
    result = module(lm.ones([2]))
    assert seen == [result]
    handle.remove()
    module(lm.ones([2]))
    assert len(seen) == 1
    module.forward = lambda x: "own"  # type: ignore[method-assign]
    assert module(1) == "own"


def test_a_profile_leaves_calls_as_they_were() -> None:
    module = Plain()
    with lm.profiler.profile():
        module(lm.ones([2]))
    assert module(lm.ones([2])).tolist() == [1.0, 1.0]


def test_without_the_base_class_initialized() -> None:
    class Bare(nn.Module):
        def __init__(self) -> None:
            pass

    with pytest.raises(AttributeError, match=r"was super\(\).__init__\(\) called"):
        _ = Bare().weight


def test_copies_find_their_own() -> None:
    module = nn.Linear(2, 3)
    copied = pickle.loads(pickle.dumps(module))
    assert copied.weight is copied._parameters["weight"]
    assert copied.weight is not module.weight


@pytest.mark.parametrize("function", [lm._C._quicken_attributes, lm._C._quicken_calls])
def test_only_classes_are_quickened(function: Any) -> None:
    with pytest.raises(TypeError, match="expected a class, got int"):
        function(3)
