"""Weights set to zero and kept there."""

from __future__ import annotations

from lamella.compat.tables.torch_nn import PRUNE as _TABLE

from ... import _words

__getattr__ = _words.serve(_words.Names(__name__, [("lamella.nn.utils.prune", _TABLE, _words.FUNCTIONS)]))
