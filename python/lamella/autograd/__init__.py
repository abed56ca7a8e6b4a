"""The tape: gradients, gradient modes, and layers with a gradient of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import _graph as graph
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
from .._transforms import (
    GradcheckError,
    LayerCheckError,
    LayerReport,
    check_layer,
    functional_call,
    gradcheck,
    gradgradcheck,
    hessian,
    hvp,
    jacobian,
    jacrev,
    vhp,
    vjp,
)
from .._vmap import VmapInfo, vmap
from . import forward_ad
from ._forward_mode import jacfwd, jvp, linearize

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

_Function = TypeVar("_Function", bound=Callable[..., Any])


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
