"""Paddle's layers of static programs."""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401

from lamella.compat.front import close_module
from lamella.static.nn import (
    batch_norm,
    cond,
    conv2d,
    embedding,
    fc,
    layer_norm,
    py_func,
    static_pylayer,
    while_loop,
)

from ._layers import (
    bilinear_tensor_product,
    case,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    deform_conv2d,
    group_norm,
    instance_norm,
    prelu,
    row_conv,
    spectral_norm,
    switch_case,
)
from ._sampled import nce

__getattr__ = close_module(__name__)
