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
from ._checkpoint import CheckpointPolicy, checkpoint, checkpoint_sequential
from ._saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "CheckpointPolicy",
    "HookHandle",
    "NoBackwardError",
    "Node",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "checkpoint",
    "checkpoint_sequential",
    "disable_saved_tensors_hooks",
    "enable_grad",
    "grad",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_grad_enabled",
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
