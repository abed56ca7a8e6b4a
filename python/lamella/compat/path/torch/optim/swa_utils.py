"""Averages of weights over time."""

from __future__ import annotations

from lamella.compat.tables.torch_nn import SWA as _TABLE

from .. import _words

__getattr__ = _words.serve(_words.Names(__name__, [("lamella.optim.swa_utils", _TABLE, _words.FUNCTIONS)]))
