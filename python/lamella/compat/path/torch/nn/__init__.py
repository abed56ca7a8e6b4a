"""Modules that map directly to Lamella's."""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401

from lamella.compat.front import close_module
from lamella.nn import (
    ELU,
    GELU,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    Dropout,
    Flatten,
    Identity,
    L1Loss,
    LeakyReLU,
    Linear,
    Module,
    ModuleList,
    MSELoss,
    Parameter,
    ReLU,
    Sequential,
    Sigmoid,
    SiLU,
    Softplus,
    Tanh,
    init,
)

from . import functional

__getattr__ = close_module(__name__)
