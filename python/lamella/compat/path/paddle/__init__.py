"""Lamella's front for programs written for Paddle: its dynamic graph, and its static programs.

Names map to Lamella's own functions; what differs is spelled out in the functions of ``_functions`` and ``_tensor``.
"""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: E402, F401

import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

import lamella as _lm
from lamella import (
    DType,
    Tensor,
    _names,
    bfloat16,
    bool,
    complex64,
    complex128,
    e,
    enable_grad,
    float16,
    float32,
    float64,
    inf,
    int8,
    int16,
    int32,
    int64,
    is_grad_enabled,
    nan,
    no_grad,
    pi,
    set_grad_enabled,
    uint8,
    uint16,
    uint32,
    uint64,
)
from lamella._attributes import watch as _watch
from lamella.compat.front import add_paths as _add_paths
from lamella.compat.front import callable_path as _callable_path
from lamella.compat.front import close as _close
from lamella.compat.methods import install as _install
from lamella.compat.names import Names as _Names
from lamella.compat.names import serve as _serve
from lamella.compat.tables.paddle import FUNCTIONS as _TABLE
from lamella.compat.tables.paddle import IN_PLACE as _IN_PLACE
from lamella.compat.tables.paddle import MATRIX_METHODS as _MATRIX_METHODS
from lamella.compat.tensor_types import made as _tensor_type
from lamella.static import (
    CPUPlace,
    CUDAPlace,
    batch,
    disable_static,
    enable_static,
    in_dynamic_mode,
)

__version__ = "3.0.0+lamella"
dtype = DType
newaxis = None
double, half = float64, float16
short, long = int16, int64
cfloat, cdouble = complex64, complex128

_watch(["__getitem__", "__setitem__"])

_missing = _close(
    "paddle",
    {
        f"paddle.static.nn.sequence_{name}": "rows of different lengths are padded, and masked with "
        "paddle.nn.functional.sequence_mask, as no tensor holds lengths (LoD) here"
        for name in ("conv", "expand", "first_step", "last_step", "pool", "softmax")
    }
    | {
        "paddle.amp.debugging.compare_accuracy": "it compares files that checks on GPUs write; check_numerics prints "
        "what it counts"
    },
)
# In operators of tensors with and without axes, those without leave the dtype of the others as it is.
_lm._C._promote_by_rank(True)

from . import _like_torch, _words
from ._plain import in_place as _in_place

_NAMES = _Names(__name__, [("lamella", _TABLE, _words.FUNCTIONS)], {**_names.FUNCTIONS, **_names.paddle.FUNCTIONS})
#: Modules that are imported when they are asked for.
_LATER = frozenset(
    [
        "amp",
        "audio",
        "callbacks",
        "compat",
        "device",
        "distributed",
        "distribution",
        "fft",
        "geometric",
        "hub",
        "incubate",
        "io",
        "jit",
        "linalg",
        "metric",
        "onnx",
        "profiler",
        "signal",
        "sparse",
        "text",
        "version",
        "vision",
    ]
)


#: Names of ``paddle.amp`` that the package has, too.
_OF_AUTOCAST = frozenset(
    ["autocast", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_enabled"]
)
#: Names of ``paddle.nn.functional`` that the package has, too.
_OF_LAYERS = frozenset(["adaptive_avg_pool1d", "conv1d", "conv2d", "conv3d", "group_norm"])
#: Names of tensors of a dtype.
_TYPES = {
    "BFloat16Tensor": bfloat16,
    "BoolTensor": bool,
    "ByteTensor": uint8,
    "CharTensor": int8,
    "DoubleTensor": float64,
    "FloatTensor": float32,
    "HalfTensor": float16,
    "IntTensor": int32,
    "LongTensor": int64,
    "ShortTensor": int16,
}


def _find(name: str) -> _Any:
    if name in _LATER:
        return _import_module(f"{__name__}.{name}")
    if name in _TYPES:
        return _tensor_type(name, _TYPES[name], __name__, to_tensor)
    if name in _OF_LAYERS:
        return getattr(nn.functional, name)
    if name in _OF_AUTOCAST:
        return getattr(_import_module(f"{__name__}.amp"), name)
    if (function := _in_place(name)) is not None:
        return function
    if name in _MATRIX_METHODS.split():
        return getattr(linalg, name)
    if name == "DataParallel":
        return _import_module(f"{__name__}._parallel").DataParallel
    if name == "summary":
        return _import_module(f"{__name__}._summary").summary
    if name in ("Model", "flops"):  # with metrics and loaders, which need numpy
        return getattr(_import_module(f"{__name__}._model"), name)
    return _missing(name)


__getattr__ = _serve(_NAMES, _find)

from . import _tensor, autograd, linalg, nn, optimizer, regularizer, static, utils
from ._attributes import ParamAttr, create_parameter
from ._default_dtype import get_default_dtype, set_default_dtype
from ._files import load, save
from ._functions import (
    abs,
    add,
    allclose,
    arange,
    assign,
    bernoulli,
    broadcast_to,
    cast,
    chunk,
    clip,
    clone,
    concat,
    cos,
    divide,
    dsplit,
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
    get_device,
    grad,
    greater_equal,
    greater_than,
    hsplit,
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
    maximum,
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
    tanh,
    tensor_split,
    to_tensor,
    transpose,
    uniform,
    unsqueeze,
    unstack,
    vsplit,
    where,
    zeros,
    zeros_like,
)
from ._functions import (
    concat as cat,
)
from ._generators import (
    Generator,
    LazyGuard,
    Size,
    check_shape,
    disable_compat,
    disable_signal_handler,
    enable_compat,
    seed,
)
from ._generators import seed as manual_seed
from ._like_torch import (
    as_strided,
    as_tensor,
    asarray,
    binomial,
    div,
    from_numpy,
    histogram_bin_edges,
    msort,
    permute,
    range,
    reduce_as,
    slice_scatter,
    softmax,
    standard_gamma,
    sub,
    swapaxes,
    swapdims,
    to_dlpack,
)
from ._limits import finfo, iinfo
from ._matrices import flip, histogramdd, reverse, rot90, tensordot, vander
from ._methods import over as _over
from ._more import (
    bucketize,
    diag,
    einsum,
    equal_all,
    expand_as,
    gather,
    gather_nd,
    increment,
    index_sample,
    is_floating_point,
    masked_fill,
    meshgrid,
    nonzero,
    rank,
    scale,
    scatter,
    searchsorted,
    set_device,
    shape,
    standard_normal,
    unbind,
    unique,
)
from ._parts import (
    as_complex,
    as_real,
    crop,
    cross,
    dot,
    get_cuda_rng_state,
    get_flags,
    get_rng_state,
    multiplex,
    norm,
    outer,
    scatter_nd,
    scatter_nd_add,
    set_cuda_rng_state,
    set_flags,
    set_rng_state,
    shard_index,
    slice,
    stanh,
    strided_slice,
)
from ._paths import PATHS as _PATHS
from ._plain import (
    add_n,
    atan2,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    bitwise_left_shift,
    bitwise_right_shift,
    broadcast_shape,
    broadcast_tensors,
    conj,
    copysign,
    frac,
    frexp,
    index_add,
    is_complex,
    is_empty,
    is_integer,
    isin,
    kthvalue,
    log_normal,
    put_along_axis,
    rand_like,
    randint_like,
    randn_like,
    repeat_interleave,
    select_scatter,
    t,
    take,
    take_along_axis,
    tolist,
    topk,
    tril_indices,
    triu_indices,
    unique_consecutive,
    view,
    view_as,
)
from ._plain import take_along_axis as take_along_dim
from ._printing import set_printoptions
from ._reductions import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    count_nonzero,
    cummax,
    cummin,
    cumprod,
    cumsum,
    histogram,
    logcumsumexp,
    logsumexp,
    max,
    mean,
    median,
    min,
    mode,
    nanmean,
    nanmedian,
    nanquantile,
    nansum,
    prod,
    quantile,
    std,
    sum,
    trace,
    var,
)

# Last, as modules of this package mean Python's own types by these names.
float, int = float32, int32

_install(_NAMES, lambda name: getattr(_sys.modules[__name__], name), _tensor.METHODS)

for _name in _MATRIX_METHODS.split():
    if _name not in _tensor.METHODS:
        _tensor.add(_name, getattr(linalg, _name))
for _name in _IN_PLACE.split():
    if not hasattr(Tensor, f"{_name}_"):
        _tensor.add(f"{_name}_", _over(f"{_name}_", getattr(_sys.modules[__name__], _name)))

_add_paths("paddle", _PATHS)
# The module of functions of tensors is called to make one, too.
_sys.modules[f"{__name__}.tensor"].__class__ = _callable_path(_like_torch.tensor)
