"""Modules without starting values."""

from __future__ import annotations

import contextlib
import inspect

import pytest

import lamella as lm
from lamella import nn
from lamella.nn.utils import skip_init

#: Classes whose tensors have a device of their own, and arguments with which each can be made.
PLACED = [
    kind
    for name in nn.__all__
    if isinstance(kind := getattr(nn, name), type)
    and issubclass(kind, nn.Module)
    and "device" in inspect.signature(kind.__init__).parameters
    and not kind._lazy  # which have no state before their first call
]
ARGUMENTS = [(), (4,), (4, 4), (4, 4, 2), (4, 4, 4), (4, 8, [2, 4])]


def make(kind, **settings):
    for arguments in ARGUMENTS:
        try:
            return kind(*arguments, **settings), arguments
        except (TypeError, ValueError):
            continue
    return pytest.fail(f"no arguments for {kind.__name__}")


@pytest.mark.parametrize("kind", [k for k in PLACED if k is not nn.Transformer], ids=lambda kind: kind.__name__)
def test_every_class_with_a_device(kind):
    layer, arguments = make(kind, dtype="float64")
    state = layer.state_dict()
    bare = skip_init(kind, *arguments, dtype="float64")
    assert {n: (t.shape, t.dtype, t.device) for n, t in bare.state_dict().items()} == {
        n: (t.shape, t.dtype, "cpu") for n, t in state.items()
    }
    assert {t.device for t in kind(*arguments, device="meta").state_dict().values()} <= {"meta"}
    bare.load_state_dict(state)
    assert all((t == state[n]).all() for n, t in bare.state_dict().items())


def test_every_layer_with_parameters_has_a_device():
    for name in nn.__all__:
        kind = getattr(nn, name)
        if not isinstance(kind, type) or not issubclass(kind, nn.Module) or issubclass(kind, nn.ParameterList):
            continue
        for arguments in ARGUMENTS:
            with contextlib.suppress(TypeError, ValueError, AttributeError):
                if list(kind(*arguments).parameters(recurse=False)):
                    assert {"device", "dtype"} <= inspect.signature(kind.__init__).parameters.keys(), kind


def test_nothing_is_drawn():
    state = lm.get_rng_state()
    skip_init(nn.Linear, 3, 4)
    assert lm.get_rng_state() == state


def test_what_is_refused():
    for given in (nn.Linear(1, 1), dict):
        with pytest.raises(TypeError, match=r"\[skip_init\] module_class is a class of modules"):
            skip_init(given, 1, 1)
    with pytest.raises(TypeError, match="device"):
        skip_init(nn.ReLU)
