"""Optimizers, with PyTorch's names for their arguments."""

from __future__ import annotations

from lamella.compat.tables.torch_nn import OPTIMIZERS as _TABLE
from lamella.optim import Optimizer  # noqa: F401

from .. import _words

_NAMES = _words.Names(__name__, [("lamella.optim", _TABLE, _words.OPTIMIZERS)])
__getattr__ = _words.serve(_NAMES)

from . import _optimizer, lr_scheduler, swa_utils  # noqa: E402, F401
from ._sparse_adam import SparseAdam  # noqa: E402, F401

globals().update((_name, __getattr__(_name)) for _name in _NAMES)  # programs go through the module's names
