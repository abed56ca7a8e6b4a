"""Learning rates that change with time."""

from __future__ import annotations

from lamella.compat.tables.torch_nn import SCHEDULERS as _TABLE

from .. import _words
from ._schedules import LRScheduler

_LRScheduler = LRScheduler
__getattr__ = _words.serve(_words.Names(__name__, [("lamella.optim", _TABLE, _words.SCHEDULERS)]))
