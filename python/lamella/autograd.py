"""The tape: gradients, gradient modes, and layers with a gradient of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._C import (
    HookHandle,
    Node,
    PyLayer,
    PyLayerContext,
    backward,
    enable_grad,
    explain,
    grad,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from ._inspect import (
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

__all__ = [
    "Drawing",
    "GraphStats",
    "HookHandle",
    "NoBackwardError",
    "Node",
    "NodeCount",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "detect_anomaly",
    "draw",
    "enable_grad",
    "explain",
    "grad",
    "graph_stats",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "live_nodes",
    "no_grad",
    "once_differentiable",
    "saved_bytes",
    "set_detect_anomaly",
    "set_grad_enabled",
    "trace",
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
