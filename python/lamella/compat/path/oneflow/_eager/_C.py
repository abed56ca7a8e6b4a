"""Functions by the names of OneFlow's compiled part, which programs call directly."""

# ruff: noqa: N999 (OneFlow's name of the module)

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        for home in ("oneflow.nn.functional", "oneflow"):
            found = getattr(importlib.import_module(home), name, None)
            if found is not None:
                return found
    raise AttributeError(name)
