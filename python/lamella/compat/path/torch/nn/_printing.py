"""Texts of modules as PyTorch prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.nn import Module


def _fields(names: str, **defaults: Any) -> Callable[[Any, str], str]:
    """Returns a text of attributes: ``name:attribute``, or a name alone; those of ``defaults`` where they differ."""

    def text(module: Any, native: str) -> str:
        shown = []
        for entry in names.split():
            name, _, attribute = entry.partition(":")
            value = getattr(module, attribute or name)
            if name not in defaults or value != defaults[name]:
                shown.append(f"{name}={value}")
        return ", ".join(shown)

    return text


def _values(*attributes: str) -> Callable[[Any, str], str]:
    return lambda module, native: ", ".join(str(getattr(module, each)) for each in attributes)


def _recurrent(module: Any, native: str) -> str:
    """Returns the sizes of a recurrent layer or cell, and the settings that are not the usual ones."""
    usual = {"num_layers=1", "bias=True", "batch_first=False", "dropout=0.0", "dropout=0", "bidirectional=False"}
    parts = [part for part in native.split(", ") if part not in usual]
    nonlinearity = getattr(module, "nonlinearity", "tanh")
    if nonlinearity != "tanh" and not any(part.startswith("nonlinearity") for part in parts):
        parts.append(f"nonlinearity={nonlinearity}")
    return ", ".join(parts).replace("'", "")


def _activation(module: Any, native: str) -> str:
    """Returns the text of a layer that may write over its input."""
    return ", ".join(part for part in (native, "inplace=True" if module.inplace else "") if part)


def _nothing(module: Any, native: str) -> str:
    return ""


#: By classes, what stands between the parentheses, from the module and from Lamella's text.
_TEXTS: dict[str, Callable[[Any, str], str]] = {
    "_Loss": _nothing,
    "CosineSimilarity": _nothing,
    "PairwiseDistance": _nothing,
    "MultiheadAttention": _nothing,
    "AdaptiveLogSoftmaxWithLoss": _nothing,
    **dict.fromkeys(("Softmax", "LogSoftmax", "Softmin", "GLU"), _fields("dim:axis")),
    **dict.fromkeys(("Softshrink", "Hardshrink"), _values("lambd")),
    "Flatten": _fields("start_dim:start_axis end_dim:stop_axis"),
    "Unflatten": _fields("dim:axis unflattened_size:sizes"),
    **dict.fromkeys(("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"), _recurrent),
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), lambda module, native: native.replace("'", "")),
}
for _name in dir(lm.nn):
    if "Pad" in _name and not _name.startswith("Constant"):
        _TEXTS[_name] = lambda module, native: native.removeprefix("padding=")
    if "Dropout" in _name:
        _TEXTS[_name] = lambda module, native: f"{native}, inplace={getattr(module, 'inplace', False)}"


def _extra(module: Module) -> str:
    text = module.extra_repr()
    if not type(module).extra_repr.__module__.startswith("lamella."):
        return text
    if "reduction" in vars(module):
        return ""
    for kind in type(module).__mro__:
        if (made := _TEXTS.get(kind.__name__)) is not None and kind.__module__.startswith(("lamella.", "torch.")):
            return made(module, text)
    return _activation(module, text) if hasattr(module, "inplace") else text


def _name_of(module: Module) -> str:
    name: Any = getattr(module, "_get_name", None)
    return name() if name is not None else type(module).__name__


def text_of(self: Module) -> str:
    """Returns the text of a module and of those below it, of which equal ones in a row of a list stand together."""
    extra = _extra(self).split("\n")
    extra = extra if extra != [""] else []
    children = [(name, repr(child).replace("\n", "\n  ")) for name, child in self._modules.items()]
    if isinstance(self, lm.nn.ModuleList):
        lines = _folded([text for _, text in children])
    else:
        lines = [f"({name}): {text}" for name, text in children]
    if not lines and len(extra) < 2:
        return f"{_name_of(self)}({''.join(extra)})"
    return f"{_name_of(self)}(\n  " + "\n  ".join([*extra, *lines]) + "\n)"


def _folded(texts: list[str]) -> list[str]:
    lines: list[str] = []
    first = 0
    for place, text in enumerate(texts):
        if place + 1 < len(texts) and texts[place + 1] == text:
            continue
        count = place + 1 - first
        lines.append(f"({first}): {text}" if count == 1 else f"({first}-{place}): {count} x {text}")
        first = place + 1
    return lines
