"""Lamella's front for programs and extensions written for PyTorch.

Names are lines of tables (:mod:`lamella.compat.tables`), each with PyTorch's signature, and are made when they are
first asked for. What differs from Lamella is spelled out in ``_functions``, ``_reductions`` and ``_tensor``.
"""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401, E402

import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

import lamella as _lm
from lamella import (
    Generator,
    _names,
    bfloat16,
    bool,
    complex64,
    complex128,
    e,
    enable_grad,
    inf,
    inference_mode,
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
from lamella import float16 as half
from lamella import float32 as float
from lamella import float64 as double
from lamella._attributes import watch as _watch
from lamella.compat.errors import OutOfMemoryError
from lamella.compat.errors import raise_runtime_errors as _raise_runtime_errors
from lamella.compat.front import add_paths as _add_paths
from lamella.compat.front import close as _close
from lamella.compat.methods import install as _install
from lamella.compat.tables.torch_functions import FUNCTIONS as _FUNCTIONS

float16, float32, float64 = half, float, double
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
dtype = _lm.DType
newaxis = None

__version__ = "2.6.0+lamella"

_raise_runtime_errors()
_lm._C._promote_by_rank(True)

_watch(
    [
        *(
            "T",
            "__getitem__",
            "__iadd__",
            "__imul__",
            "__index__",
            "__ipow__",
            "__isub__",
            "__itruediv__",
            "__setitem__",
        ),
        *("imag", "is_pinned", "numpy", "pin_memory", "real", "size", "to"),
    ]
)
_missing = _close("torch")

from . import _dtypes, _foreach, _functions, _plain, _storages, _taking_over, _tensor_types, _words, _writing
from ._plain import layout, memory_format

strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged = (
    _plain.layout_of(f"torch.{_name}")
    for _name in ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged")
)
contiguous_format, preserve_format, channels_last, channels_last_3d = map(
    memory_format, ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
)
legacy_contiguous_format = contiguous_format

_NAMES = _words.Names(__name__, [("lamella", _FUNCTIONS, _words.INTO)], _names.FUNCTIONS)


def _find(name: str) -> _Any:
    if name in ("Stream", "Event"):  # of any device; those of a GPU are there
        return getattr(_lm.cuda, name)
    if name == "cond":  # it needs numpy
        return _lm.cond
    if name == "ops":
        return _import_module("torch._ops").ops
    if name == "classes":
        return _import_module("torch._classes").classes
    if name in _LATER:
        return _import_module(f"torch.{name}")
    if name in _dtypes.ABSENT:
        return _dtypes.ABSENT[name]
    if name in _functions.TENSOR_TYPES:
        return _tensor_types.made(name)
    if name in _storages.DTYPE_OF_STORAGE:
        return _storages.STORAGES[_storages.DTYPE_OF_STORAGE[name]]
    if name == "sparse_coo_tensor":
        return _import_module("torch.sparse").sparse_coo_tensor
    if name in _COMPRESSED:
        return getattr(_import_module("torch._compressed"), name)
    if (function := _plain.in_place(name) or _plain.copied(name) or _foreach.function_of(name)) is not None:
        return function
    if name in ("ScriptModule", "ScriptFunction", "TensorType"):
        return getattr(_import_module("torch.jit"), name)
    if name.startswith("fake_quantize_per_"):
        return getattr(_import_module("torch._quantization"), name)
    if name == "Future":
        return _import_module("torch.futures").Future
    if name == "Tag":
        return _import_module("torch.library").Tag
    if name == "torch":  # `from torch import *` once gave the module its own name
        return _sys.modules[__name__]
    if name == _lm.utils.privateuse1_backend_name() and hasattr(_lm, name):  # the devices of an extension
        return getattr(_lm, name)
    return _missing(name)


#: Functions of matrices whose rows, or columns, lie one after the other.
_COMPRESSED = frozenset(
    (
        *("sparse_csr_tensor", "sparse_csc_tensor", "sparse_compressed_tensor"),
        *("_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"),
    )
)

#: Modules that are imported when they are asked for, as they need numpy or what programs seldom need.
_LATER = frozenset(
    [
        "_C",
        "__future__",
        "__config__",
        "_ops",
        "_dynamo",
        "_subclasses",
        "accelerator",
        "backends",
        "cpu",
        "distributed",
        "distributions",
        "export",
        "fft",
        "futures",
        "fx",
        "hub",
        "jit",
        "library",
        "linalg",
        "multiprocessing",
        "onnx",
        "profiler",
        "signal",
        "sparse",
        "special",
        "storage",
        "types",
    ]
)
__getattr__ = _words.serve(_NAMES, _find)

from lamella.utils import register_device_module as _register_device_module

from ._copies import (
    as_strided_scatter,
    diag,
    empty_permuted,
    flip,
    fliplr,
    flipud,
    is_storage,
    rot90,
    segment_reduce,
)
from ._default_dtype import get_default_dtype, set_default_dtype, set_default_tensor_type
from ._device import device, get_device_module
from ._drawing import (
    _dirichlet_grad,
    _sample_dirichlet,
    _standard_gamma,
    _standard_gamma_grad,
    bernoulli,
    normal,
    randint,
    randint_like,
    randperm,
)
from ._dtypes import finfo, iinfo
from ._functions import (
    Size,
    _check,
    _check_is_size,
    _check_tensor_all,
    _check_tensor_all_with,
    _check_with,
    add,
    adjoint,
    allclose,
    as_tensor,
    asarray,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_shapes,
    broadcast_tensors,
    broadcast_to,
    bucketize,
    chunk,
    clone,
    div,
    divide,
    einsum,
    empty_strided,
    equal,
    frombuffer,
    gradient,
    is_complex,
    is_floating_point,
    is_nonzero,
    is_same_size,
    is_tensor,
    manual_seed,
    meshgrid,
    numel,
    rsub,
    scalar_tensor,
    scatter,
    seed,
    set_default_device,
    set_float32_matmul_precision,
    split,
    split_with_sizes,
    squeeze,
    sub,
    subtract,
    t,
    take_along_dim,
    tensor,
    tile,
    typename,
    unbind,
    where,
)
from ._matrices import (
    as_strided,
    chain_matmul,
    cholesky,
    compiled_with_cxx11_abi,
    cross,
    get_default_device,
    get_deterministic_debug_mode,
    get_num_interop_threads,
    inverse,
    is_conj,
    is_deterministic_algorithms_warn_only_enabled,
    is_inference,
    is_neg,
    is_warn_always_enabled,
    lu,
    narrow_copy,
    pca_lowrank,
    qr,
    resolve_conj,
    resolve_neg,
    set_deterministic_debug_mode,
    set_flush_denormal,
    set_num_interop_threads,
    set_warn_always,
    svd,
    svd_lowrank,
    trace,
    triangular_solve,
    use_deterministic_algorithms,
    vander,
    vdot,
)
from ._memory import TypedStorage, UntypedStorage
from ._plain import (
    _assert,
    _assert_async,
    _has_compatible_shallow_copy_type,
    _shape_as_tensor,
    _softmax_backward_data,
    binomial,
    can_cast,
    cat,
    concat,
    concatenate,
    constant_pad_nd,
    detach,
    detach_,
    embedding,
    fill,
    get_device,
    hspmm,
    index_fill,
    is_signed,
    masked_fill,
    matmul,
    mm,
    put,
    repeat_interleave,
    result_type,
    scatter_add,
    scatter_reduce,
    smm,
    spmm,
    sspaddmm,
    stft,
    threshold,
)
from ._printing import set_printoptions
from ._ranges import arange, linspace, logspace, range, tril_indices, triu_indices
from ._reductions import (
    all,
    amax,
    amin,
    any,
    count_nonzero,
    cumprod,
    cumsum,
    frobenius_norm,
    histogram,
    histogramdd,
    logsumexp,
    max,
    mean,
    median,
    min,
    mode,
    msort,
    nanmean,
    nanmedian,
    nansum,
    nonzero,
    norm,
    norm_except_dim,
    nuclear_norm,
    prod,
    searchsorted,
    sort,
    std,
    std_mean,
    sum,
    unique,
    var,
    var_mean,
)
from ._symbols import SymBool, SymFloat, SymInt, sym_float, sym_int, sym_ite, sym_max, sym_min, sym_not, sym_sum

# isort: split

_taking_over.open_functions(
    globals(),
    (
        f"torch.{name}"
        for name in ("_copies", "_drawing", "_functions", "_matrices", "_plain", "_ranges", "_reductions")
    ),
)

from . import _attributes, _tensor
from ._tensor_types import Tensor

_install(_NAMES, lambda name: getattr(_sys.modules[__name__], name), _tensor.METHODS, in_place=_writing.over_itself)

from . import (
    _utils,
    amp,
    autograd,
    compiler,
    cuda,
    func,
    nn,
    optim,
    overrides,
    random,
    serialization,
    testing,
    utils,
    version,
)
from ._compile import compile
from ._paths import PATHS as _PATHS
from .amp import (
    GradScaler,
    autocast,
    get_autocast_cpu_dtype,
    get_autocast_gpu_dtype,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
)
from .func import vmap
from .random import default_generator, get_rng_state, initial_seed, set_rng_state
from .serialization import PyTorchFileReader, load, save

_add_paths("torch", _PATHS)
_sys.modules["torch.autograd.forward_ad"] = autograd.forward_ad
