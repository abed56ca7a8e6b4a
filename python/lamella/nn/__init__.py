"""Modules, layers, losses and their starting values."""

from . import functional, init
from .containers import ModuleList, Sequential
from .layers import (
    GELU,
    CrossEntropyLoss,
    Dropout,
    Flatten,
    Identity,
    Linear,
    LogSoftmax,
    MSELoss,
    ReLU,
    Sigmoid,
    Softmax,
    Tanh,
)
from .module import Module, StateDictError
from .parameter import Parameter

__all__ = [
    "GELU",
    "CrossEntropyLoss",
    "Dropout",
    "Flatten",
    "Identity",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "Module",
    "ModuleList",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Softmax",
    "StateDictError",
    "Tanh",
    "functional",
    "init",
]
