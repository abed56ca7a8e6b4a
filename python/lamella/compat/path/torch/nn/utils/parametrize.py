"""Parameters that are functions of others."""

from __future__ import annotations

from lamella.compat.tables.torch_nn import PARAMETRIZE as _TABLE

from ... import _words

__getattr__ = _words.serve(_words.Names(__name__, [("lamella.nn.utils.parametrize", _TABLE, _words.FUNCTIONS)]))
