"""Special functions."""

from __future__ import annotations

from lamella.compat.tables.torch_functions import SPECIAL as _TABLE

from . import _words

__getattr__ = _words.serve(_words.Names(__name__, [("lamella", _TABLE, _words.INTO)]))
