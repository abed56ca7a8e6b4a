"""Lamella's front for extensions written for Ascend's plugin of PyTorch.

The devices ``npu`` are those of an extension that brings them under this name. It is found where its wheel has an entry
point ``npu`` in the group ``lamella.backends``, or is imported before. Without one, extensions are built and run on the
CPU.
"""

from importlib.metadata import entry_points as _entry_points
from typing import Any as _Any

import lamella as _lm
from lamella.compat.front import close as _close

_missing = _close("torch_npu", {"torch_npu.npu": "there is no NPU here: no extension that brings it is installed"})


def __getattr__(name: str) -> _Any:
    if name == "npu" and hasattr(_lm, "npu"):
        return _lm.npu
    return _missing(name)


if not hasattr(_lm, "npu"):
    for _entry in list(_entry_points(group="lamella.backends", name="npu"))[:1]:
        _entry.load()

from . import utils  # noqa: E402, F401
from ._functions import npu_geglu, npu_rms_norm  # noqa: E402, F401
