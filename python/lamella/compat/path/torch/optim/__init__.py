"""Optimizers, with PyTorch's names for their arguments."""

from __future__ import annotations

from lamella.compat.tables.torch_nn import OPTIMIZERS as _TABLE
from lamella.optim import Optimizer  # noqa: F401

from .. import _words

__getattr__ = _words.serve(_words.Names(__name__, [("lamella.optim", _TABLE, _words.OPTIMIZERS)]))

from . import _optimizer, lr_scheduler, swa_utils  # noqa: F401
from ._sparse_adam import SparseAdam  # noqa: F401
