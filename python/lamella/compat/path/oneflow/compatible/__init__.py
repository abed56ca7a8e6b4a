"""Interface of jobs under its later name: ``from oneflow.compatible import single_client as flow``."""

import importlib
import sys
from typing import Any

__all__ = ["single_client"]

single_client: Any = importlib.import_module("oneflow")

# Its submodules are those of oneflow itself.
for _name in [name for name in sys.modules if name == "oneflow" or name.startswith("oneflow.")]:
    if not _name.startswith("oneflow.compatible"):
        sys.modules[_name.replace("oneflow", f"{__name__}.single_client", 1)] = sys.modules[_name]
