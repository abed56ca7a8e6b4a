"""Bounds on gradients, between ``backward()`` and an optimizer's step."""

from __future__ import annotations

import math
from collections.abc import Iterable

import lamella as lm


def get_total_norm(
    tensors: lm.Tensor | Iterable[lm.Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> lm.Tensor:
    """Returns the norm of all tensors as of one long vector.

    Args:
        tensors: real or complex floating tensors of any shapes, or one.
        norm_type: the order ``p`` of ``sum(abs(x) ** p) ** (1 / p)``; ``inf`` for the largest absolute value.
        error_if_nonfinite: raises where the norm is infinite or NaN.

    Returns:
        A tensor of no axes, on the device of the first tensor; 0 if there are none.

    Raises:
        TypeError: the order is no number, or something is no tensor.
        ValueError: the order is not above 0.
        RuntimeError: the norm is not finite, where that is asked for.
    """
    listed = tensors_of("get_total_norm", tensors)
    _check_order("get_total_norm", norm_type)
    return norm_of("get_total_norm", listed, norm_type, error_if_nonfinite)


def clip_grads_with_norm_(parameters: lm.Tensor | Iterable[lm.Tensor], max_norm: float, total_norm: lm.Tensor) -> None:
    """Scales the gradients of ``parameters``, in place, by ``min(max_norm / (total_norm + 1e-6), 1)``.

    Args:
        parameters: tensors, or one; those without a gradient are left alone.
        max_norm: the largest norm.
        total_norm: the norm of all gradients, as :func:`get_total_norm` gives it.

    Raises:
        TypeError: ``max_norm`` is no number, or something is no tensor.
        ValueError: ``max_norm`` is below 0 or NaN.
    """
    gradients = _gradients("clip_grads_with_norm_", parameters)
    _check_bound("clip_grads_with_norm_", "max_norm", max_norm)
    _scale(gradients, max_norm, total_norm)


def clip_grad_norm_(
    parameters: lm.Tensor | Iterable[lm.Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> lm.Tensor:
    """Scales the gradients of all ``parameters`` by one factor, in place, so that their norm is at most ``max_norm``.

    The factor is ``min(max_norm / (norm + 1e-6), 1)``.

    Source: Pascanu et al. 2013, "On the difficulty of training recurrent neural networks", algorithm 1.

    Args:
        parameters: tensors, or one; those without a gradient are left alone.
        max_norm: the largest norm.
        norm_type: the order of the norm, see :func:`get_total_norm`.
        error_if_nonfinite: raises, and leaves the gradients as they are, where the norm is infinite or NaN.

    Returns:
        The norm before, a tensor of no axes.

    Raises:
        TypeError: a number is none, or something is no tensor.
        ValueError: ``max_norm`` is below 0 or NaN, or the order is not above 0.
        RuntimeError: the norm is not finite, where that is asked for; or parameters are shards, of which each process
            has other ones, and whose model has a ``clip_grad_norm_`` of its own.
    """
    _check_order("clip_grad_norm_", norm_type)
    return clip_to_norm(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_to_norm(
    parameters: lm.Tensor | Iterable[lm.Tensor], max_norm: float, order: float, error_if_nonfinite: bool
) -> lm.Tensor:
    """Implements :func:`clip_grad_norm_`, for orders of 0 and below, too: these are of the tensors' norms."""
    parameters = tensors_of("clip_grad_norm_", parameters)
    if any(getattr(parameter, "is_shard", False) for parameter in parameters):
        raise RuntimeError("[clip_grad_norm_] the parameters are this process's shards: call model.clip_grad_norm_()")
    gradients = _gradients("clip_grad_norm_", parameters)
    _check_bound("clip_grad_norm_", "max_norm", max_norm)
    total = norm_of("clip_grad_norm_", gradients, order, error_if_nonfinite)
    _scale(gradients, max_norm, total)
    return total


def clip_grad_value_(parameters: lm.Tensor | Iterable[lm.Tensor], clip_value: float) -> None:
    """Brings every element of the gradients of ``parameters`` into ``[-clip_value, clip_value]``, in place.

    Args:
        parameters: tensors, or one; those without a gradient are left alone.
        clip_value: the largest absolute value.

    Raises:
        TypeError: ``clip_value`` is no number, or something is no tensor.
        ValueError: ``clip_value`` is below 0 or NaN.
    """
    gradients = _gradients("clip_grad_value_", parameters)
    _check_bound("clip_grad_value_", "clip_value", clip_value)
    with lm.no_grad():
        for gradient in gradients:
            gradient.clip_(-clip_value, clip_value)


def tensors_of(op: str, tensors: lm.Tensor | Iterable[lm.Tensor]) -> list[lm.Tensor]:
    """Returns the tensors, or the one; TypeError naming what is no tensor."""
    found = [tensors] if isinstance(tensors, lm.Tensor) else list(tensors)
    for index, tensor in enumerate(found):
        if not isinstance(tensor, lm.Tensor):
            raise TypeError(f"[{op}] item {index} is {type(tensor).__name__}, not a Tensor")
    return found


def _gradients(op: str, parameters: lm.Tensor | Iterable[lm.Tensor]) -> list[lm.Tensor]:
    found = [parameter.grad for parameter in tensors_of(op, parameters)]
    return [gradient for gradient in found if gradient is not None]


def _check_bound(op: str, name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"[{op}] {name} is a number, not {type(value).__name__}")
    if not value >= 0:
        raise ValueError(f"[{op}] {name} is at least 0, not {value}")


def _check_order(op: str, order: float) -> None:
    if isinstance(order, bool) or not isinstance(order, (int, float)):
        raise TypeError(f"[{op}] norm_type is a number, not {type(order).__name__}")
    if not order > 0:
        raise ValueError(f"[{op}] norm_type is above 0, not {order}")


def norm_of(op: str, tensors: list[lm.Tensor], order: float, check: bool) -> lm.Tensor:
    """Returns the norm of all tensors."""
    tensors = [x for x in tensors if x.size]
    if not tensors:
        return lm.zeros(())
    with lm.no_grad():
        parts = [lm.linalg.vector_norm(x, ord=order).to(tensors[0].device) for x in tensors]
        if len({getattr(x, "_placement", None) for x in parts} - {None}) > 1:
            # Of global tensors over different processes, each process knows the norms.
            parts = [x.whole() if hasattr(x, "whole") else x for x in parts]
        total = lm.linalg.vector_norm(lm.stack(parts), ord=order)
        if check and not math.isfinite(float(total)):
            raise RuntimeError(f"[{op}] the norm of order {order:g} is {float(total)}, not finite")
    return total


def _scale(gradients: list[lm.Tensor], largest: float, total: lm.Tensor) -> None:
    with lm.no_grad():
        factor = lm.minimum(largest / (total + 1e-6), 1.0)
        for gradient in gradients:
            gradient.mul_(factor.to(gradient.device))
