"""Lamella's front for programs written for Paddle: its dynamic graph, and its static programs.

Names map to Lamella's own functions; what differs is spelled out in the functions of ``_functions`` and ``_tensor``.
"""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401

from lamella import (
    Tensor,
    bool,
    complex64,
    complex128,
    enable_grad,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    is_grad_enabled,
    no_grad,
    seed,
    set_grad_enabled,
    uint8,
)
from lamella.compat.front import add_paths as _add_paths
from lamella.compat.front import close
from lamella.static import (
    CPUPlace,
    CUDAPlace,
    ParamAttr,
    batch,
    create_parameter,
    disable_static,
    enable_static,
    in_dynamic_mode,
)

__version__ = "3.0.0+lamella"

__getattr__ = close(
    "paddle",
    {
        "paddle.jit": "functions are not traced yet; paddle.static records programs",
    },
)

from . import _tensor, autograd, nn, optimizer, regularizer, static, utils
from ._functions import (
    abs,
    add,
    all,
    allclose,
    any,
    arange,
    argmax,
    argmin,
    assign,
    bernoulli,
    broadcast_to,
    cast,
    clip,
    clone,
    concat,
    cos,
    divide,
    empty,
    empty_like,
    equal,
    exp,
    expand,
    eye,
    flatten,
    floor_divide,
    full,
    full_like,
    get_default_dtype,
    get_device,
    grad,
    greater_equal,
    greater_than,
    is_compiled_with_cuda,
    is_tensor,
    isfinite,
    isinf,
    isnan,
    less_equal,
    less_than,
    linspace,
    log,
    logical_and,
    logical_not,
    logical_or,
    matmul,
    max,
    maximum,
    mean,
    min,
    minimum,
    mod,
    multiply,
    neg,
    normal,
    not_equal,
    numel,
    ones,
    ones_like,
    pow,
    prod,
    rand,
    randint,
    randn,
    randperm,
    remainder,
    reshape,
    sin,
    split,
    sqrt,
    square,
    squeeze,
    stack,
    subtract,
    sum,
    tanh,
    to_tensor,
    transpose,
    uniform,
    unsqueeze,
    where,
    zeros,
    zeros_like,
)
from ._paths import PATHS as _PATHS

_add_paths("paddle", _PATHS)
