"""Lamella: deep learning where every layer can be your own.

Everything differentiable is a function with a forward and a backward: a built-in operator, a :class:`PyLayer` written in
Python, a ``Function<T>`` written in C++. All are recorded on one tape, in the same way and at the same cost::

    import lamella as lm

    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    (x * x).sum().backward()
    x.grad  # Tensor([2., 4.], dtype=float32)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import _C

# The operators, types and dtypes of the compiled part; what belongs to a module of its own stays out.
_ELSEWHERE = frozenset(
    ["HookHandle", "Node", "PyLayerContext", "backward", "config", "operators"]
    + ["cuda_device_count", "cuda_is_available", "cuda_synchronize"]
)
_names = [name for name in dir(_C) if not name.startswith("_") and name not in _ELSEWHERE]
globals().update({name: getattr(_C, name) for name in _names})

from . import _tensor, autograd, config, cuda, memory, random  # noqa: E402
from .config import show_config  # noqa: E402

if TYPE_CHECKING:
    from . import compat, io, nn, optim, progress

__version__: str = _C.__version__

_tensor.install()

# Imported when they are first asked for: `import lamella` stays quick.
_LAZY = frozenset(["compat", "io", "nn", "optim", "progress"])

__all__ = sorted([*_names, *_LAZY, "autograd", "config", "cuda", "memory", "random", "show_config"])


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
