"""Lamella: deep learning where every layer can be your own.

Everything differentiable is a function with a forward and a backward: a built-in operator, a :class:`PyLayer` written
in Python, a ``Function<T>`` written in C++. All are recorded on one tape, by the same code::

    import lamella as lm

    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    (x * x).sum().backward()
    x.grad  # Tensor([2., 4.], dtype=float32)
"""

# `as` tells type checkers which of the names imported here are the surface of the package.
# ruff: noqa: F401

import sys as _sys
import typing as _typing

from . import _room  # first, as it may refuse to load the compiled part

# isort: split

# These imports come before the compiled part, some of whose operators they replace: a type checker takes the first.
if _typing.TYPE_CHECKING:
    from . import amp as amp
    from . import compat as compat
    from . import data as data
    from . import distributed as distributed
    from . import distributions as distributions
    from . import fft as fft
    from . import graph as graph
    from . import io as io
    from . import library as library
    from . import linalg as linalg
    from . import nn as nn
    from . import onnx as onnx
    from . import ops as ops
    from . import optim as optim
    from . import profiler as profiler
    from . import progress as progress
    from . import sbp as sbp
    from . import static as static
    from . import user_op as user_op
    from . import utils as utils
    from ._compile import CompileWarning as CompileWarning
    from ._compile import compile as compile
    from ._sets import histogramdd as histogramdd
    from ._sets import unique as unique
    from ._sets import unique_consecutive as unique_consecutive
    from .amp import autocast as autocast
    from .amp import is_autocast_enabled as is_autocast_enabled
    from .autograd import checkpoint as checkpoint
    from .autograd import hessian as hessian
    from .autograd import jacobian as jacobian
    from .autograd import jvp as jvp
    from .autograd import vjp as vjp
    from .autograd import vmap as vmap
    from .distributed.mesh import placement as placement
    from .graph._control_flow import cond as cond
    from .graph._control_flow import while_loop as while_loop
    from .linalg._products import einsum as einsum
    from .linalg._products import tensordot as tensordot
    from .nn._forms import ctc_loss as ctc_loss
    from .nn._forms import rrelu as rrelu
    from .nn._forms import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
    from .nn._fractional import fractional_max_pool2d as fractional_max_pool2d
    from .nn._fractional import fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices
    from .nn._fractional import fractional_max_pool3d as fractional_max_pool3d
    from .nn._fractional import fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices
    from .signal._windows import bartlett_window as bartlett_window
    from .signal._windows import blackman_window as blackman_window
    from .signal._windows import hamming_window as hamming_window
    from .signal._windows import hann_window as hann_window
    from .signal._windows import kaiser_window as kaiser_window

from . import _C, _lazy, _tensor
from . import autograd as autograd
from . import config as config
from . import cuda as cuda
from . import memory as memory
from . import random as random
from . import signal as signal
from ._array_api import __array_api_version__, __array_namespace_info__
from ._array_api import e as e
from ._array_api import inf as inf
from ._array_api import nan as nan
from ._array_api import newaxis as newaxis
from ._array_api import pi as pi
from ._C import *  # type: ignore[assignment, no-redef]  # noqa: F403 (types, dtypes and operators)
from ._dtypes import finfo as finfo
from ._dtypes import iinfo as iinfo
from .config import show_config as show_config

__version__: str = _C.__version__

_tensor.install()

__getattr__, _loaded_later = _lazy.loader(
    __name__,
    {
        "_compile": ["CompileWarning", "compile"],
        "_sets": ["histogramdd", "unique", "unique_consecutive"],
        "amp": [],
        "amp._autocast": ["autocast", "is_autocast_enabled"],
        "autograd": ["checkpoint", "hessian", "jacobian", "jvp", "vjp", "vmap"],
        "compat": [],
        "data": [],
        "distributed": [],
        "distributed.mesh": ["placement"],
        "distributions": [],
        "fft": [],
        "graph": [],
        "graph._control_flow": ["cond", "while_loop"],
        "io": [],
        "library": [],
        "linalg": [],
        "linalg._products": ["einsum", "tensordot"],
        "nn": [],
        "nn._forms": ["ctc_loss", "rrelu", "triplet_margin_with_distance_loss"],
        "nn._fractional": [
            "fractional_max_pool2d",
            "fractional_max_pool2d_with_indices",
            "fractional_max_pool3d",
            "fractional_max_pool3d_with_indices",
        ],
        "onnx": [],
        "ops": [],
        "optim": [],
        "profiler": [],
        "progress": [],
        "sbp": [],
        "static": [],
        "signal._windows": [
            "bartlett_window",
            "blackman_window",
            "hamming_window",
            "hann_window",
            "kaiser_window",
        ],
        "user_op": [],
        "utils": [],
    },
)

# Names of the compiled part that belong to a module of their own.
_ELSEWHERE = frozenset(
    [
        "HookHandle",
        "Node",
        "PyLayerContext",
        "backward",
        "cuda_device_count",
        "cuda_is_available",
        "cuda_synchronize",
        "default_generator",
        "explain",
        "operators",
        "restore_rng_states",
        "rng_states",
        "queue_callback",
        "register_multi_grad_hook",
    ]
)
for _name in _ELSEWHERE | (_loaded_later & globals().keys()):
    del globals()[_name]
del _name

# Operators of lamella.linalg, lamella.fft and lamella.distributed, which those modules show under shorter names.
_PARTS = ("_", "linalg_", "fft_", "distributed_")

__all__ = sorted(name for name in {*globals(), *_loaded_later} if not name.startswith(_PARTS))


_sys.meta_path.append(_lazy.Missing)


def __dir__() -> list[str]:
    return __all__
