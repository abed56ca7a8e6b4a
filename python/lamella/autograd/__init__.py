"""The tape: gradients, gradient modes, and layers with a gradient of one's own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .._C import (
    HookHandle,
    Node,
    PyLayer,
    PyLayerContext,
    backward,
    enable_grad,
    explain,
    grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    queue_callback,
    register_multi_grad_hook,
    set_grad_enabled,
)

if TYPE_CHECKING:
    from .._checkpoint import CheckpointPolicy, checkpoint, checkpoint_sequential
    from .._inspect import (
        Drawing,
        GraphStats,
        NodeCount,
        detect_anomaly,
        draw,
        graph_stats,
        is_anomaly_enabled,
        live_nodes,
        saved_bytes,
        set_detect_anomaly,
        trace,
    )
    from .._saved_hooks import (
        allow_mutation_on_saved_tensors,
        disable_saved_tensors_hooks,
        save_on_cpu,
        saved_tensors_hooks,
    )
    from .._transforms.check_layer import LayerCheckError, LayerReport, check_layer
    from .._transforms.derivatives import hessian, hvp, jacobian, jacrev, vhp, vjp
    from .._transforms.forward_mode import jacfwd, jvp, linearize
    from .._transforms.functional_call import functional_call
    from .._transforms.gradcheck import GradcheckError, gradcheck, gradgradcheck
    from .._vmap import VmapInfo, vmap
    from . import forward_ad, graph

__all__ = [
    "CheckpointPolicy",
    "Drawing",
    "GradcheckError",
    "GraphStats",
    "HookHandle",
    "LayerCheckError",
    "LayerReport",
    "NoBackwardError",
    "Node",
    "NodeCount",
    "PyLayer",
    "PyLayerContext",
    "VmapInfo",
    "allow_mutation_on_saved_tensors",
    "backward",
    "check_layer",
    "checkpoint",
    "checkpoint_sequential",
    "detect_anomaly",
    "disable_saved_tensors_hooks",
    "draw",
    "enable_grad",
    "explain",
    "forward_ad",
    "functional_call",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "graph_stats",
    "hessian",
    "hvp",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "live_nodes",
    "no_grad",
    "once_differentiable",
    "queue_callback",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_bytes",
    "saved_tensors_hooks",
    "set_detect_anomaly",
    "set_grad_enabled",
    "trace",
    "vhp",
    "vjp",
    "vmap",
]

# Imported when they are first asked for, as above: `import lamella` stays quick. By module, its names.
_PARTS = {
    "_checkpoint": ["CheckpointPolicy", "checkpoint", "checkpoint_sequential"],
    "_inspect": [
        "Drawing",
        "GraphStats",
        "NodeCount",
        "detect_anomaly",
        "draw",
        "graph_stats",
        "is_anomaly_enabled",
        "live_nodes",
        "saved_bytes",
        "set_detect_anomaly",
        "trace",
    ],
    "_saved_hooks": [
        "allow_mutation_on_saved_tensors",
        "disable_saved_tensors_hooks",
        "save_on_cpu",
        "saved_tensors_hooks",
    ],
    "_transforms.check_layer": ["LayerCheckError", "LayerReport", "check_layer"],
    "_transforms.derivatives": ["hessian", "hvp", "jacobian", "jacrev", "vhp", "vjp"],
    "_transforms.forward_mode": ["jacfwd", "jvp", "linearize"],
    "_transforms.functional_call": ["functional_call"],
    "_transforms.gradcheck": ["GradcheckError", "gradcheck", "gradgradcheck"],
    "_vmap": ["VmapInfo", "vmap"],
}
_LAZY = {name: f"lamella.{part}" for part, names in _PARTS.items() for name in names}
_SUBMODULES = frozenset(["forward_ad", "graph"])

_Function = TypeVar("_Function", bound=Callable[..., Any])


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    try:
        module = importlib.import_module(_LAZY[name])
    except MemoryError as error:
        raise MemoryError(f"[import] there is no memory to load lamella.autograd.{name}. {error}".rstrip()) from error
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return __all__


class NoBackwardError(NotImplementedError, OSError):
    """A layer of the Paddle dialect defines no backward: Paddle's programs expect an ``OSError``."""


def once_differentiable(backward: _Function) -> _Function:
    """Marks a :class:`PyLayer`'s ``backward`` as one that has no derivative itself.

    It runs with recording off, whatever the pass asks for, and a second derivative through the layer is a
    ``RuntimeError`` in place of a wrong number::

        @staticmethod
        @lm.autograd.once_differentiable
        def backward(ctx, dy): ...
    """
    function: Any = backward.__func__ if isinstance(backward, staticmethod) else backward
    if not callable(function):
        raise TypeError(f"[once_differentiable] expected a function, got {type(backward).__name__}")
    function._once_differentiable = True
    return backward
