"""Version of PyTorch that this front was written for."""

from __future__ import annotations

__version__ = "2.6.0+lamella"
cuda = None
hip = None
debug = False
