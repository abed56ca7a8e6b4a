"""Derivatives of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _like(value: Any, parts: Any) -> Any:
    """Returns parts as a tuple where ``value`` is a sequence, else the only one."""
    return tuple(parts) if isinstance(value, (list, tuple)) else parts[0]


def vjp(func: Callable[..., Any], xs: Any, v: Any = None) -> tuple[Any, Any]:
    """Returns ``func`` of ``xs``, and the gradients of its sum with the weights ``v``, which are ones by default."""
    inputs = [x.detach().requires_grad_() for x in _listed(xs)]
    ys = func(*inputs)
    begin = [lm.ones_like(y) for y in _listed(ys)] if v is None else _listed(v)
    found = lm.autograd.grad(_listed(ys), inputs, begin, create_graph=True, materialize_grads=True)
    return ys, _like(xs, list(found))


def jvp(func: Callable[..., Any], xs: Any, v: Any = None) -> tuple[Any, Any]:
    """Returns ``func`` of ``xs``, and its derivatives in the direction ``v``, which is ones by default.

    These are gradients of gradients: those of ``u`` of the sum of ``u`` times the derivatives.
    """
    inputs = [x.detach().requires_grad_() for x in _listed(xs)]
    ys = func(*inputs)
    outputs = _listed(ys)
    way = [lm.ones_like(x) for x in inputs] if v is None else _listed(v)
    weights = [lm.zeros_like(y).requires_grad_() for y in outputs]
    slopes = lm.autograd.grad(outputs, inputs, weights, create_graph=True, materialize_grads=True)
    found = lm.autograd.grad(list(slopes), weights, way, create_graph=True, materialize_grads=True)
    return ys, _like(ys, list(found))


class Jacobian:
    """The derivatives of the elements of a function's results for those of its arguments: a matrix.

    Args:
        func: a function of tensors.
        xs: a tensor, or several, whose elements are the columns one behind the other.
        is_batched: the first axis of arguments and results is one of examples, and of the matrices.
    """

    def __init__(self, func: Callable[..., Any], xs: Any, is_batched: bool = False) -> None:
        self._inputs = [x.detach().requires_grad_() for x in _listed(xs)]
        ys = func(*self._inputs)
        lead = 1 if is_batched else 0
        first = tuple(self._inputs[0].shape)[:lead]
        self._rows = lm.concat([lm.reshape(y, (*first, -1)) for y in _listed(ys)], axis=-1)
        self._lead = first
        self._matrix: Tensor | None = None

    @property
    def matrix(self) -> Tensor:
        """The whole matrix, ``(rows, columns)`` or ``(n, rows, columns)``."""
        if self._matrix is None:
            made = []
            for row in lm.unstack(self._rows, axis=-1):
                begin = [lm.ones_like(row)]
                slopes = lm.autograd.grad(
                    [row], self._inputs, begin, retain_graph=True, create_graph=True, materialize_grads=True
                )
                made.append(lm.concat([lm.reshape(each, (*self._lead, -1)) for each in slopes], axis=-1))
            self._matrix = lm.stack(made, axis=len(self._lead))
        return self._matrix

    @property
    def shape(self) -> list[int]:
        """The sizes of the matrix."""
        return list(self.matrix.shape)

    def __getitem__(self, places: Any) -> Tensor:
        return self.matrix[places]


class Hessian(Jacobian):
    """The second derivatives of a function with one result, see :class:`Jacobian`."""

    def __init__(self, func: Callable[..., Any], xs: Any, is_batched: bool = False) -> None:
        def slopes(*inputs: Tensor) -> list[Tensor]:
            y = func(*inputs)
            found = lm.autograd.grad([y], list(inputs), [lm.ones_like(y)], create_graph=True, materialize_grads=True)
            return list(found)

        super().__init__(slopes, xs, is_batched)


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None) -> Any:
    """Returns the gradients of ``outputs`` for ``inputs``, which can be differentiated again."""
    begin = None if grad_outputs is None else _listed(grad_outputs)
    found = lm.autograd.grad(_listed(outputs), _listed(inputs), begin, create_graph=True, materialize_grads=True)
    return list(found) if isinstance(inputs, (list, tuple)) else found[0]


def forward_grad(outputs: Any, inputs: Any, grad_inputs: Any = None) -> Any:
    """Returns the derivatives of ``outputs``, which have been computed from ``inputs``, in a direction.

    Args:
        outputs: tensors on the tape.
        inputs: tensors that they depend on.
        grad_inputs: the direction, ones by default.
    """
    ends, begins = _listed(outputs), _listed(inputs)
    way = [lm.ones_like(x) for x in begins] if grad_inputs is None else _listed(grad_inputs)
    weights = [lm.zeros_like(y).requires_grad_() for y in ends]
    slopes = lm.autograd.grad(ends, begins, weights, retain_graph=True, create_graph=True, materialize_grads=True)
    found = lm.autograd.grad(list(slopes), weights, way, create_graph=True, materialize_grads=True)
    return list(found) if isinstance(outputs, (list, tuple)) else found[0]


def enable_prim() -> None:
    """Changes nothing: derivatives of all orders are there."""


def disable_prim() -> None:
    """Changes nothing, see :func:`enable_prim`."""


__getattr__ = close_module(__name__)
