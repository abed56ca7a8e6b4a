"""Data sets, samplers and loaders."""

from __future__ import annotations

from lamella.compat.front import add_paths as _add_paths
from lamella.compat.tables.torch_nn import DATA as _TABLE

from ... import _words

_NAMES = _words.Names(__name__, [("lamella.data", _TABLE, _words.LOADING)])
__getattr__ = _words.serve(_NAMES)
for _path in ("dataset", "dataloader", "sampler", "_utils", "_utils.collate"):
    _add_paths("torch", {f"{__name__}.{_path}": {__name__: " ".join(_NAMES)}})

from . import distributed  # noqa: E402, F401
