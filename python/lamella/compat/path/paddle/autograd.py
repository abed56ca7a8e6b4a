"""Paddle's custom layers: PyLayer in Paddle's dialect."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.autograd import PyLayerContext, saved_tensors_hooks  # noqa: F401
from lamella.compat.front import close_module


class PyLayer(lm.PyLayer):
    """A layer whose forward and backward are static methods; see :class:`lamella.PyLayer`.

    Paddle's dialect differs in that an input returned as an output counts as changed in place, that a gradient for an
    input with ``stop_gradient=True`` is an error, and that integer outputs pass gradients on through casts.
    """

    _dialect = "paddle"


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool = False) -> None:
    """Computes the gradients of all leaves that ``tensors`` depend on; those that want none are passed over."""
    tensors = [tensors] if isinstance(tensors, lm.Tensor) else list(tensors)
    given = [grad_tensors] if isinstance(grad_tensors, lm.Tensor) else grad_tensors
    if given is not None and len(given) != len(tensors):
        raise ValueError(f"[backward] {len(tensors)} tensors, {len(given)} gradients")
    wanted = [i for i, tensor in enumerate(tensors) if not tensor.stop_gradient]
    if wanted:
        begin = None if given is None else [given[i] for i in wanted]
        lm.autograd.backward([tensors[i] for i in wanted], begin, retain_graph)


__getattr__ = close_module(__name__)
