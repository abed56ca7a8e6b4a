"""Sequences of several lengths."""

from __future__ import annotations

from lamella.compat.tables.torch_nn import RNN_UTILS as _TABLE

from ... import _words

__getattr__ = _words.serve(_words.Names(__name__, [("lamella.nn.utils.rnn", _TABLE, _words.FUNCTIONS)]))
