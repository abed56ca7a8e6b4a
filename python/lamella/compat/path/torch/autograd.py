"""PyTorch's custom layers and gradients."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import lamella as lm
from lamella.autograd import (  # noqa: F401
    GradcheckError,
    detect_anomaly,
    enable_grad,
    forward_ad,
    inference_mode,
    no_grad,
    once_differentiable,
    set_detect_anomaly,
    set_grad_enabled,
)
from lamella.autograd import PyLayerContext as FunctionCtx  # noqa: F401
from lamella.autograd.graph import GradientEdge
from lamella.compat.front import close_module

from . import _functions
from ._gradcheck import gradcheck, gradgradcheck  # noqa: F401
from ._layers import Function, InplaceFunction  # noqa: F401
from ._printing import node_name


class _Name(str):
    """The name of a node, which PyTorch's programs call for; called, it is PyTorch's."""

    def __call__(self) -> str:
        return node_name(self)


_nodes: Any = lm.autograd.Node
_native_name: Any = _nodes.__dict__["name"]
_nodes.name = property(lambda self: _Name(_native_name.__get__(self)), doc="The name of the operation.")


def _variable(self: Any) -> lm.Tensor:
    """Returns the leaf whose gradient the node adds to; other nodes do not have the attribute."""
    leaf: lm.Tensor | None = self.leaf
    if leaf is None:
        raise AttributeError(f"'{self.name()}' object has no attribute 'variable'", name="variable", obj=self)
    return leaf


_nodes.variable = property(_variable)
_nodes.__repr__ = lambda self: f"<{self.name()} object at {id(self):#x}>"


class _VariableType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, lm.Tensor)


class Variable(metaclass=_VariableType):
    """Older name of tensors on the tape: ``Variable(data, requires_grad)`` is a tensor on the memory of ``data``.

    Every tensor is an instance.
    """

    #: What has a function called when the backward pass that runs at the moment ends.
    _execution_engine = SimpleNamespace(queue_callback=lm.autograd.queue_callback)

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:  # type: ignore[misc]
        """Returns a tensor off the tape with the memory of ``data``."""
        return data.detach().requires_grad_(requires_grad)


class set_multithreading_enabled(contextlib.ContextDecorator):  # noqa: N801 (PyTorch's name)
    """A block, or from here on: accepted, as a backward pass runs on the thread that calls it."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def increment_version(tensor: Any) -> None:
    """Counts a write into tensors' memory that the tape could not see: what saved them for backward is told.

    Args:
        tensor: a tensor, or several.
    """
    for each in _list(tensor):
        if not each.is_inference():
            each.detach().reshape(-1)[:0].zero_()


def _list(tensors: Any) -> Any:
    """Returns what is given as a list: a tensor and a place on the tape, which is a tuple, stand for themselves."""
    if tensors is None:
        return None
    return [tensors] if isinstance(tensors, GradientEdge) or _functions.is_tensor(tensors) else list(tensors)


def _refuse_complex(op: str, outputs: list[Any], seeds: list[Any] | None) -> None:
    """Raises ``RuntimeError`` for a complex output without a gradient to begin with."""
    for i, y in enumerate(outputs):
        seeded = seeds is not None and (i >= len(seeds) or seeds[i] is not None)
        if not seeded and getattr(y, "dtype", None) in (lm.complex64, lm.complex128):
            raise RuntimeError(f"[{op}] output {i} is complex, and has no gradient to begin with: give one")


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds the gradients of ``tensors`` to those of the leaves, or only of ``inputs``."""
    outputs, seeds = _list(tensors), _list(grad_variables if grad_tensors is None else grad_tensors)
    _refuse_complex("backward", outputs, seeds)
    lm.autograd.backward(
        outputs,
        seeds,
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
    """Returns the gradients of ``outputs`` with respect to ``inputs``; ``only_inputs`` changes nothing.

    Args:
        outputs: a tensor, or several.
        inputs: a tensor, or several; places on the tape (:class:`torch.autograd.graph.GradientEdge`) stand for theirs.
        grad_outputs: the gradients to begin with: None for that of a number, which is one.
        retain_graph: keep what backward needs for another pass; by default with ``create_graph`` only.
        create_graph: record the pass, so that the gradients can be differentiated.
        only_inputs: True.
        allow_unused: None for an input that the outputs do not depend on, in place of an error.
        is_grads_batched: the gradients to begin with are batches of such, along a first axis.
        materialize_grads: zeros in place of None; with ``create_graph`` they are on the tape as the gradients are.

    Raises:
        ValueError: ``materialize_grads`` with ``allow_unused=False``.
        RuntimeError: there is nothing to differentiate, or an input is not used.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "[grad] materialize_grads=True gives zeros for unused inputs: allow_unused is True or not given"
        )
    wanted, results, seeds = _list(inputs), _list(outputs), _list(grad_outputs)
    _refuse_complex("grad", results, seeds)
    found = lm.autograd.grad(
        results,
        wanted,
        seeds,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        allow_unused=True if materialize_grads else allow_unused,
        is_grads_batched=is_grads_batched,
        materialize_grads=materialize_grads and not create_graph,
    )
    if materialize_grads and create_graph:
        return tuple(_zeros_for(x) if dx is None else dx for x, dx in zip(wanted, found, strict=True))
    return tuple(found)


def _zeros_for(x: Any) -> Any:
    if not _functions.is_tensor(x):
        raise RuntimeError("[grad] materialize_grads needs tensors as inputs: an edge has no shape")
    return lm.zeros_like(x).requires_grad_(True)


__getattr__ = close_module(__name__)
