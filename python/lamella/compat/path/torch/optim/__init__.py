"""Optimizers, with PyTorch's names for their arguments."""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401

from lamella.compat.front import close_module
from lamella.optim import SGD, Adam, AdamW, Optimizer

from . import lr_scheduler

__getattr__ = close_module(__name__)
