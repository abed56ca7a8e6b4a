"""Test cases, and the decorators that say what machines they need."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

from lamella.compat.front import close_module

TestCase = unittest.TestCase

_Decorator = Callable[[Any], Any]


def _same(test: Any) -> Any:
    return test


def skip_unless_1n1d() -> _Decorator:
    """Runs: one node with one device is there."""
    return _same


def skip_unless_1n2d() -> _Decorator:
    """Skips, and so do the others for several devices or nodes."""
    return unittest.skip("it needs two devices, and operators run on one")


skip_unless_1n4d = skip_unless_2n1d = skip_unless_2n2d = skip_unless_1n2d


def num_nodes_required(count: int) -> _Decorator:
    """Skips a test for several nodes."""
    return _same if count == 1 else unittest.skip(f"it needs {count} nodes, and there is one")


__getattr__ = close_module(__name__)
