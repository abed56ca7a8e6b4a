"""Gradients cut to a norm, vectors of parameters, and other forms of weights."""

from __future__ import annotations

from lamella.compat.tables.torch_nn import UTILS as _TABLE

from ... import _words
from . import parametrizations, parametrize, rnn  # noqa: F401

__getattr__ = _words.serve(_words.Names(__name__, [("lamella.nn.utils", _TABLE, _words.FUNCTIONS)]))
