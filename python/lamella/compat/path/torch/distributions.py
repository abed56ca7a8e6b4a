"""Distributions, which are Lamella's under the same names."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from lamella.compat.front import close_module

_missing = close_module(__name__)


def __getattr__(name: str) -> Any:
    try:
        native = importlib.import_module("lamella.distributions")
    except ModuleNotFoundError:
        return _missing(name)
    if name == "__all__":
        return native.__all__
    if name.startswith("__") or not hasattr(native, name):
        return _missing(name)
    value = getattr(native, name)
    setattr(sys.modules[__name__], name, value)
    return value
