"""Names of the arguments that layers are called with, which are PyTorch's here.

The code of a layer's ``forward`` gets other names of its parameters, so that a call costs what it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any

import lamella as lm
from lamella.nn import Module

#: PyTorch's names by the native ones, for all layers, and of layers of their own.
_NAMES = {"x": "input"}
_OF_KINDS: dict[type, Mapping[str, str]] = {
    **{kind: {**_NAMES, "h": "hx"} for kind in (lm.nn.GRU, lm.nn.RNN, lm.nn.GRUCell, lm.nn.RNNCell)},
    **{kind: {**_NAMES, "state": "hx"} for kind in (lm.nn.LSTM, lm.nn.LSTMCell)},
    lm.nn.RMSNorm: {},
    lm.nn.Bilinear: {"x1": "input1", "x2": "input2"},
    lm.nn.PoissonNLLLoss: {"input": "log_input"},
    lm.nn.AdaptiveLogSoftmaxWithLoss: {"input": "input_", "target": "target_"},
}


def _renamed(function: FunctionType, names: Mapping[str, str]) -> None:
    """Gives parameters of a function other names; one that has such a name already stays as it is."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    changed = {old: new for old, new in names.items() if old in code.co_varnames[:count]}
    if not changed or not set(changed.values()).isdisjoint(code.co_varnames):
        return
    function.__code__ = code.replace(
        co_varnames=tuple(changed.get(name, name) for name in code.co_varnames),
        co_cellvars=tuple(changed.get(name, name) for name in code.co_cellvars),
    )
    function.__annotations__ = {changed.get(name, name): value for name, value in function.__annotations__.items()}


def rename(kinds: Iterable[Any]) -> None:
    """Gives the ``forward`` of classes of layers, and of their base classes, PyTorch's names of arguments."""
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Module)):
            continue
        for each in kind.__mro__:
            function = vars(each).get("forward")
            if isinstance(function, FunctionType) and each.__module__.startswith("lamella.nn"):
                _renamed(function, _OF_KINDS.get(each, _NAMES))
