"""Distributions, which are Lamella's under the same names."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

from lamella.compat.dialect import by_other_names
from lamella.compat.front import add_paths, close_module

from ._size import Size

_missing = close_module(__name__)
_native: Any = importlib.import_module("lamella.distributions")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _native.__all__
    if name.startswith("__") or not hasattr(_native, name):
        return _missing(name)
    value = getattr(_native, name)
    setattr(sys.modules[__name__], name, value)
    return value


def _paths() -> dict[str, dict[str, str]]:
    """Returns the modules of PyTorch's package: one for each distribution, in small letters with underscores."""
    paths = {f"{__name__}.kl": {__name__: "kl_divergence register_kl"}}
    for name in _native.__all__:
        if isinstance(getattr(_native, name), type):
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
            paths[f"{__name__}.{words}"] = {__name__: name}
    return paths


def _take_sample_shape() -> None:
    """Lets the shape of draws be given by PyTorch's word, too."""
    exported = [getattr(_native, name) for name in _native.__all__]
    for kind in {base for each in exported if isinstance(each, type) for base in each.__mro__}:
        for name in ("sample", "rsample"):
            if kind.__module__.startswith(_native.__name__) and name in vars(kind):
                setattr(kind, name, by_other_names(vars(kind)[name], {"shape": "sample_shape"}))


_take_sample_shape()
_native.Distribution.batch_shape = property(lambda self: Size(self._batch_shape), doc="Shape of the parameters.")
_native.Distribution.event_shape = property(lambda self: Size(self._event_shape), doc="Shape of one draw.")
for _module in ("constraints", "transforms"):
    if hasattr(_native, _module):
        sys.modules[f"{__name__}.{_module}"] = getattr(_native, _module)
add_paths("torch", _paths())
