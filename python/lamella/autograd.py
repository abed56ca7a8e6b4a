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
    grad,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from ._vmap import VmapInfo, vmap

__all__ = [
    "HookHandle",
    "NoBackwardError",
    "Node",
    "PyLayer",
    "PyLayerContext",
    "VmapInfo",
    "backward",
    "enable_grad",
    "grad",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "set_grad_enabled",
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
