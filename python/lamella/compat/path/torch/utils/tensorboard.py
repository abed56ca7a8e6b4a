"""A writer for TensorBoard."""

from __future__ import annotations

from lamella.compat.front import close_module
from lamella.utils.tensorboard import SummaryWriter  # noqa: F401

__getattr__ = close_module(__name__)
