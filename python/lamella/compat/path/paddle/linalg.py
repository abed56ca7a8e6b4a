"""Matrices."""

from __future__ import annotations

from lamella.compat.names import Names, serve
from lamella.compat.tables.paddle import LINALG as _TABLE
from lamella.compat.tables.paddle import STATISTICS as _STATISTICS

from . import _words

_TABLES = [("lamella.linalg", _TABLE, _words.FUNCTIONS), ("lamella", _STATISTICS, _words.FUNCTIONS)]
__getattr__ = serve(Names(__name__, _TABLES))
