"""PyTorch's custom layers and gradients."""

from __future__ import annotations

import functools
from typing import Any

import lamella as lm
from lamella.autograd import (  # noqa: F401
    GradcheckError,
    detect_anomaly,
    enable_grad,
    forward_ad,
    gradcheck,
    gradgradcheck,
    inference_mode,
    no_grad,
    once_differentiable,
    set_detect_anomaly,
    set_grad_enabled,
)
from lamella.autograd import PyLayerContext as FunctionCtx  # noqa: F401
from lamella.compat.front import close_module

from . import _functions
from ._plain import IN_FORWARD
from ._printing import node_name


class _Name(str):
    """The name of a node, which PyTorch's programs call for; called, it is PyTorch's."""

    def __call__(self) -> str:
        return node_name(self)


_nodes: Any = lm.autograd.Node
_native_name: Any = _nodes.__dict__["name"]
_nodes.name = property(lambda self: _Name(_native_name.__get__(self)), doc="The name of the operation.")
_nodes.__repr__ = lambda self: f"<{self.name()} object at {id(self):#x}>"


def _counted(forward: Any) -> Any:
    """Returns a forward during which ``x.data`` gives memory whose writes are not noticed, as in PyTorch."""

    @functools.wraps(forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        IN_FORWARD.depth = getattr(IN_FORWARD, "depth", 0) + 1
        try:
            return forward(*args, **kwargs)
        finally:
            IN_FORWARD.depth -= 1

    return call


class Function(lm.PyLayer):
    """A layer whose forward and backward are static methods: ``forward(ctx, ...)``, ``backward(ctx, *grads)``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        forward = vars(cls).get("forward")
        if isinstance(forward, staticmethod):
            cls.forward = staticmethod(_counted(forward.__func__))  # type: ignore[method-assign]
        super().__init_subclass__(**kwargs)


class InplaceFunction(Function):
    """A layer that may write into its inputs: its forward says so by ``ctx.mark_dirty``."""


class _VariableType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, lm.Tensor)


class Variable(metaclass=_VariableType):
    """Older name of tensors on the tape: ``Variable(data, requires_grad)`` is a tensor on the memory of ``data``.

    Every tensor is an instance.
    """

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:  # type: ignore[misc]
        """Returns a tensor off the tape with the memory of ``data``."""
        return data.detach().requires_grad_(requires_grad)


def _list(tensors: Any) -> Any:
    return None if tensors is None else [tensors] if _functions.is_tensor(tensors) else list(tensors)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds the gradients of ``tensors`` to those of the leaves, or only of ``inputs``."""
    lm.autograd.backward(
        _list(tensors),
        _list(grad_variables if grad_tensors is None else grad_tensors),
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        inputs=_list(inputs),
    )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Returns the gradients of ``outputs`` with respect to ``inputs``; ``only_inputs`` changes nothing."""
    return tuple(
        lm.autograd.grad(
            _list(outputs),
            _list(inputs),
            _list(grad_outputs),
            retain_graph=create_graph if retain_graph is None else retain_graph,
            create_graph=create_graph,
            allow_unused=allow_unused,
            is_grads_batched=is_grads_batched,
            materialize_grads=materialize_grads,
        )
    )


__getattr__ = close_module(__name__)
