"""Matrices."""

from __future__ import annotations

from lamella.compat.names import Names, serve
from lamella.compat.tables.paddle import LINALG as _TABLE

from . import _words

__getattr__ = serve(Names(__name__, [("lamella.linalg", _TABLE, _words.FUNCTIONS)]))
