"""Lamella's front for extensions written for PyTorch, and for the programs that use them.

What such programs need is here: tensors and their common functions, custom layers, and building extensions. Names map
to Lamella's own functions; what differs is spelled out in ``_functions`` and ``_tensor``.
"""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401, E402

import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

import lamella as _lm
from lamella import (
    Generator,
    Tensor,
    abs,
    acos,
    allclose,
    asin,
    atan,
    atan2,
    bfloat16,
    bool,
    ceil,
    clone,
    complex64,
    complex128,
    cos,
    cosh,
    e,
    einsum,
    enable_grad,
    erf,
    exp,
    expm1,
    floor,
    from_numpy,
    inf,
    inference_mode,
    int8,
    int16,
    int32,
    int64,
    is_grad_enabled,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    matmul,
    maximum,
    minimum,
    nan,
    no_grad,
    outer,
    pi,
    pow,
    reciprocal,
    relu,
    reshape,
    round,
    rsqrt,
    set_grad_enabled,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    tril,
    triu,
    trunc,
    uint8,
    where,
)
from lamella import float16 as half
from lamella import float32 as float
from lamella import float64 as double
from lamella.compat.front import add_paths as _add_paths
from lamella.compat.front import close

float16, float32, float64 = half, float, double
short, int, long = int16, int32, int64
dtype = _lm.DType
strided = "strided"

__version__ = "2.6.0+lamella"

_missing = close(
    "torch",
    {
        "torch.jit": "torch.compile makes functions run as graphs",
        "torch.fx": "torch.compile makes functions run as graphs; lamella.graph has graphs that can be looked at",
    },
)


def __getattr__(name: str) -> _Any:
    if name == "ops":
        return _lm.ops
    if name == "library":  # imported late: it needs numpy, which programs that only call operators do without
        return _import_module("torch.library")
    if name == _lm.utils.privateuse1_backend_name() and hasattr(_lm, name):  # the devices of an extension
        return getattr(_lm, name)
    return _missing(name)


from lamella.utils import register_device_module as _register_device_module

from . import _tensor, amp, autograd, cuda, func, nn, optim, testing, utils, version
from ._compile import compile
from ._functions import (
    _check,
    add,
    addmm,
    all,
    any,
    arange,
    argmax,
    argmin,
    bmm,
    cat,
    chunk,
    clamp,
    concat,
    device,
    div,
    dot,
    empty,
    empty_like,
    eq,
    equal,
    eye,
    flatten,
    full,
    full_like,
    ge,
    get_default_dtype,
    gt,
    is_tensor,
    le,
    linspace,
    lt,
    manual_seed,
    max,
    mean,
    min,
    mm,
    mul,
    mv,
    ne,
    neg,
    numel,
    ones,
    ones_like,
    permute,
    prod,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    softmax,
    split,
    squeeze,
    stack,
    sub,
    sum,
    tensor,
    transpose,
    unbind,
    unsqueeze,
    zeros,
    zeros_like,
)
from ._paths import PATHS as _PATHS
from .amp import autocast
from .func import vmap

_add_paths("torch", _PATHS)
_sys.modules["torch.nn.init"] = nn.init
_sys.modules["torch.autograd.forward_ad"] = autograd.forward_ad
