"""Texts of modules as PyTorch prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.nn import Module
from lamella.nn.utils.parametrize import is_parametrized


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
    parts = [part for part in native.split(", ") if part not in usual and not part.startswith("nonlinearity")]
    nonlinearity = getattr(module, "nonlinearity", "tanh")
    if nonlinearity != "tanh" and isinstance(module, lm.nn.RNNCell):
        parts.append(f"nonlinearity={nonlinearity}")
    return ", ".join(parts).replace("'", "")


def _norm(module: Any, native: str) -> str:
    """Returns the settings of a norm, and behind the one of its weight that of its bias."""
    shown = f"bias={module.bias is not None}"
    parts = [part for part in native.split(", ") if not part.startswith("bias=")]
    if type(module).__name__.startswith("Lazy"):
        parts.insert(0, "0")
    place = next((i for i, part in enumerate(parts) if "affine=" in part), len(parts) - 1)
    return ", ".join([*parts[: place + 1], shown, *parts[place + 1 :]])


def _tupled(count: int) -> Callable[[Any, str], str]:
    """Returns a text of the sizes of windows, one for each of some axes."""

    def text(module: Any, native: str) -> str:
        found = {name: getattr(module, name) for name in ("kernel_size", "stride", "padding")}
        each = {name: tuple(x) if isinstance(x, (list, tuple)) else (x,) * count for name, x in found.items()}
        return ", ".join(f"{name}={value}" for name, value in each.items())

    return text


def _pooled_by_norm(module: Any, native: str) -> str:
    """Returns the settings of a pooling by norms, all of them."""
    return native if "ceil_mode" in native else f"{native}, ceil_mode={module.ceil_mode}"


def _scaled(module: Any, native: str) -> str:
    """Returns the settings of an upsampling, whose factors are floats."""
    factor = module.scale_factor
    if factor is None:
        return native
    shown = tuple(map(float, factor)) if isinstance(factor, (list, tuple)) else float(factor)
    return f"scale_factor={shown}, mode={module.mode!r}"


def _embedding(module: Any, native: str) -> str:
    return f"{native}, sparse=True" if getattr(module, "sparse", False) else native


def _bags(module: Any, native: str) -> str:
    """Returns the settings of bags of embeddings, but for those that are the usual ones."""
    usual = {"max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "mode": None, "padding_idx": None}
    found = {name: getattr(module, name, default) for name, default in usual.items()}
    shown = [f"{name}={value!r}" for name, value in found.items() if value != usual[name]]
    return ", ".join([f"{module.num_embeddings}, {module.embedding_dim}", *shown])


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
    **dict.fromkeys(
        [f"{kind}Norm{n}d" for kind in ("Batch", "Instance", "LazyBatch", "LazyInstance") for n in (1, 2, 3)], _norm
    ),
    **dict.fromkeys(("SyncBatchNorm", "GroupNorm", "LayerNorm"), _norm),
    "AvgPool1d": _tupled(1),
    **{f"MaxUnpool{n}d": _tupled(n) for n in (1, 2, 3)},
    **dict.fromkeys(("LPPool1d", "LPPool2d", "LPPool3d"), _pooled_by_norm),
    **dict.fromkeys(("FractionalMaxPool2d", "FractionalMaxPool3d"), _nothing),
    **dict.fromkeys(("Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"), _scaled),
    "LazyLinear": lambda module, native: f"in_features=0, {native}",
    "Embedding": _embedding,
    "EmbeddingBag": _bags,
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
    found: str = name() if name is not None else type(module).__name__
    return f"Parametrized{found}" if is_parametrized(module) else found


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
