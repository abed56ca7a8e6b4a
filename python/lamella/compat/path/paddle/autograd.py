"""Paddle's custom layers: PyLayer in Paddle's dialect."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.autograd import PyLayerContext, saved_tensors_hooks  # noqa: F401
from lamella.compat.front import close_module

from ._functions import ones_for_none


class PyLayer(lm.PyLayer):
    """A layer whose forward and backward are static methods; see :class:`lamella.PyLayer`.

    Paddle's dialect differs in that an input returned as an output counts as changed in place, that a gradient for an
    input with ``stop_gradient=True`` is an error, and that integer outputs pass gradients on through casts.
    """

    _dialect = "paddle"


Function = PyLayer


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool = False) -> None:
    """Computes the gradients of all leaves that ``tensors`` depend on; those that want none are passed over."""
    tensors = [tensors] if isinstance(tensors, lm.Tensor) else list(tensors)
    given = [grad_tensors] if isinstance(grad_tensors, lm.Tensor) else grad_tensors
    if given is not None and len(given) != len(tensors):
        raise ValueError(f"[backward] {len(tensors)} tensors, {len(given)} gradients")
    wanted = [i for i, tensor in enumerate(tensors) if not tensor.stop_gradient]
    if wanted:
        weights = [None if given is None else given[i] for i in wanted]
        ends = [tensors[i] for i in wanted]
        lm.autograd.backward(ends, ones_for_none(ends, weights), retain_graph)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def jacobian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """Returns the derivatives of each element of ``ys`` for each of ``xs``, which it has been computed from.

    Args:
        ys: a tensor ``(m,)``, or with a batch axis ``(n, m)``, or several.
        xs: a tensor ``(k,)``, or ``(n, k)``, or several.
        batch_axis: 0 where examples are apart.

    Returns:
        ``(m, k)``, or ``(n, m, k)``; for several tensors, a tuple of these.
    """

    def of(y: Any, x: Any) -> Any:
        parts = lm.unstack(y, axis=y.ndim - 1) if y.ndim else [y]
        rows = [_gradient(part, x) for part in parts]
        return lm.stack(rows, axis=batch_axis + 1 if batch_axis is not None else 0) if y.ndim else rows[0]

    def for_all(y: Any) -> Any:
        return tuple(of(y, x) for x in xs) if isinstance(xs, (list, tuple)) else of(y, xs)

    return tuple(map(for_all, ys)) if isinstance(ys, (list, tuple)) else for_all(ys)


def _gradient(y: Any, x: Any) -> Any:
    if y.stop_gradient:  # no function of x
        return lm.zeros_like(x)
    begin = [lm.ones_like(y)]
    return lm.autograd.grad([y], [x], begin, retain_graph=True, create_graph=True, materialize_grads=True)[0]


def hessian(ys: lm.Tensor, xs: Any, batch_axis: int | None = None) -> Any:
    """Returns the second derivatives of one number, or with a batch axis of ``(n, 1)``, for ``xs``."""
    y = lm.squeeze(ys, -1) if batch_axis is not None and ys.ndim == 2 else ys
    firsts = [_gradient(y, x) for x in _as_list(xs)]
    seconds = [jacobian(first, xs, batch_axis) for first in firsts]
    return tuple(seconds) if isinstance(xs, (list, tuple)) else seconds[0]


__getattr__ = close_module(__name__)
