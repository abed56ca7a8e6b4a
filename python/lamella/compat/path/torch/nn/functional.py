"""Functions of layers that map directly to Lamella's."""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401

from lamella.compat.front import close_module
from lamella.nn.functional import (
    celu,
    dropout,
    elu,
    gelu,
    hardtanh,
    l1_loss,
    leaky_relu,
    linear,
    mse_loss,
    relu,
    selu,
    sigmoid,
    silu,
    softplus,
    tanh,
)

from .._functions import softmax

__getattr__ = close_module(__name__)
