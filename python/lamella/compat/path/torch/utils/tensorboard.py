"""A writer for TensorBoard."""

from __future__ import annotations

from lamella.compat.front import add_paths, close_module
from lamella.utils.tensorboard import SummaryWriter  # noqa: F401

__getattr__ = close_module(__name__)
add_paths("torch", {f"{__name__}.writer": {__name__: "SummaryWriter"}})
