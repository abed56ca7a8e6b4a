"""Parameters kept orthogonal, or of a norm."""

from __future__ import annotations

from lamella.compat.tables.torch_nn import PARAMETRIZATIONS as _TABLE

from ... import _words

__getattr__ = _words.serve(_words.Names(__name__, [("lamella.nn.utils.parametrizations", _TABLE, _words.FUNCTIONS)]))
