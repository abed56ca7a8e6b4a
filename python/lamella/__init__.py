"""Lamella: deep learning where every layer can be your own.

Everything differentiable is a function with a forward and a backward: a built-in operator, a :class:`PyLayer` written
in Python, a ``Function<T>`` written in C++. All are recorded on one tape, in the same way and at the same cost::

    import lamella as lm

    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    (x * x).sum().backward()
    x.grad  # Tensor([2., 4.], dtype=float32)
"""

# The names imported here are the package's surface: F401 does not see that.
# ruff: noqa: F401

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import _room  # first: it may refuse to have the compiled part loaded

# isort: split

from . import _C, _tensor, autograd, config, cuda, memory, random
from ._array_api import __array_api_version__, __array_namespace_info__, e, inf, nan, newaxis, pi
from ._autocast import autocast, is_autocast_enabled
from ._C import *  # noqa: F403 (the types, dtypes and operators of the compiled part)
from ._dtypes import finfo, iinfo
from ._forms import ctc_loss, rrelu, triplet_margin_with_distance_loss  # type: ignore[assignment]
from ._fractional import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from ._products import einsum, tensordot  # type: ignore[assignment]
from ._sets import histogramdd, unique, unique_consecutive  # type: ignore[assignment]
from ._windows import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window
from .config import show_config

if TYPE_CHECKING:
    from . import amp, compat, fft, io, library, linalg, nn, ops, optim, progress, signal, user_op, utils
    from ._checkpoint import checkpoint
    from ._transforms.derivatives import hessian, jacobian, vjp
    from ._transforms.forward_mode import jvp
    from ._vmap import vmap

__version__: str = _C.__version__

_tensor.install()

# Imported when they are first asked for: `import lamella` stays quick.
_LAZY = frozenset(
    ["amp", "compat", "fft", "io", "library", "linalg", "nn", "ops", "optim", "progress", "signal", "user_op", "utils"]
)

# Functions of lamella.autograd that are found here, too, beside `grad`.
_TRANSFORMS = frozenset(["checkpoint", "hessian", "jacobian", "jvp", "vjp", "vmap"])

_OWN = frozenset(
    [
        "autocast",
        "autograd",
        "bartlett_window",
        "blackman_window",
        "config",
        "cuda",
        "finfo",
        "fractional_max_pool2d",
        "fractional_max_pool2d_with_indices",
        "fractional_max_pool3d",
        "fractional_max_pool3d_with_indices",
        "hamming_window",
        "hann_window",
        "iinfo",
        "is_autocast_enabled",
        "kaiser_window",
        "memory",
        "random",
        "rrelu",
        "show_config",
        "triplet_margin_with_distance_loss",
    ]
)
_CONSTANTS = frozenset(["e", "inf", "nan", "newaxis", "pi"])
# What has a module of its own to be found in.
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
for _name in _ELSEWHERE:
    del globals()[_name]
del _name

# What lamella.linalg and lamella.fft have under shorter names.
_PARTS = ("_", "linalg_", "fft_")

__all__ = sorted(
    ({name for name in dir(_C) if not name.startswith(_PARTS)} - _ELSEWHERE) | _OWN | _CONSTANTS | _LAZY | _TRANSFORMS
)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except MemoryError as error:
            raise MemoryError(f"[import] there is no memory to load lamella.{name}. {error}".rstrip()) from error
    if name in _TRANSFORMS:
        value = globals()[name] = getattr(autograd, name)
        return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
