# ruff: noqa: N999 (PyTorch's name)
"""Names of PyTorch's compiled part that programs ask for: what is switched on, and marks that nothing here reads."""

from __future__ import annotations

import contextlib
import enum
import sys
from types import SimpleNamespace
from typing import Any

import lamella as lm
from lamella import DType, Generator, Tensor  # noqa: F401
from lamella.autograd import Node
from lamella.compat.front import close_module
from lamella.utils import privateuse1_backend_name as _get_privateuse1_backend_name  # noqa: F401

from . import overrides
from ._asking import Disabled as _Disabled
from ._asking import disabled as _disabled_torch_function_impl  # noqa: F401
from ._device import device
from ._node_names import shown
from ._size import Size  # noqa: F401
from .linalg import LinAlgError as _LinAlgError  # noqa: F401

_TensorMeta = type(Tensor)
TensorBase = _TensorBase = Tensor


DisableTorchFunctionSubclass = DisableTorchFunction = _Disabled


#: True where std::string is that of libstdc++'s newer ABI, as it is in every build here.
_GLIBCXX_USE_CXX11_ABI = True


class Graph:
    """The class of traces of ``torch.jit``, of which there are none; ``torch.fx.Graph`` is another one."""


class Value:
    """The class of what is computed in these."""


class _KindOfNode(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Node) and shown(value) == cls.__name__


class _KindsOfNodes:
    """Classes of the nodes of the graph, by the names that PyTorch gives these: ``AccumulateGrad``."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        made = vars(self)[name] = _KindOfNode(name, (), {"__doc__": f"The class of nodes called {name}."})
        return made


_functions = _KindsOfNodes()


class DispatchKey(enum.Enum):
    """Names of what PyTorch asks before an operator's kernel."""

    AutocastCPU, AutocastCUDA, AutocastXPU = range(3)


class DispatchKeySet(frozenset[DispatchKey]):
    """Some of these."""

    def __new__(cls, *keys: DispatchKey) -> DispatchKeySet:
        """Makes a set of keys."""
        return super().__new__(cls, keys)


class _ExcludeDispatchKeyGuard(contextlib.nullcontext[DispatchKeySet]):
    """Changes nothing: kernels that programs register are called with what the operator was given."""


def _log_api_usage_once(name: str) -> None:
    """Does nothing."""


def _get_tracing_state() -> None:
    """None: nothing is traced by ``torch.jit``, see there."""


def _is_tracing() -> bool:
    """False, see :func:`_get_tracing_state`."""
    return False


def _are_functorch_transforms_active() -> bool:
    """False: inside of ``vmap``, operators see whole batches."""
    return False


def _is_torch_function_mode_enabled() -> bool:
    """True in blocks of :class:`torch.overrides.TorchFunctionMode`."""
    return bool(overrides._modes.stack)


def _get_cudnn_enabled() -> bool:
    """True if convolutions on CUDA devices may use cuDNN."""
    return lm.cuda.is_cudnn_enabled()


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Returns what the arguments of ``Module.to()`` say: a device, a dtype, ``non_blocking``, and an order of axes."""
    where, kind = kwargs.get("device"), kwargs.get("dtype")
    blocking = bool(kwargs.get("non_blocking", False))
    for each in [*args, *([kwargs["tensor"]] if "tensor" in kwargs else [])]:
        if isinstance(each, Tensor):
            where, kind = each.device, each.dtype
        elif isinstance(each, DType):
            kind = each
        elif isinstance(each, bool):
            blocking = each
        elif each is not None:
            where = each
    return None if where is None else device(where), kind, blocking, kwargs.get("memory_format")


_nn: Any = SimpleNamespace(_parse_to=_parse_to)
sys.modules[f"{__name__}._nn"] = _nn

__getattr__ = close_module(__name__)
