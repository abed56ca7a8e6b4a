"""Starting values."""

from __future__ import annotations

from lamella.compat.tables.torch_nn import INIT as _TABLE

from .. import _words

__getattr__ = _words.serve(_words.Names(__name__, [("lamella.nn.init", _TABLE, _words.FUNCTIONS)]))
