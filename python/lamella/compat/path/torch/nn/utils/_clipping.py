"""Bounds on the norms of gradients, of any order."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.nn.utils import clip_grad as _native


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> lm.Tensor:
    """Returns the norm of the norms of tensors, of any order.

    Raises:
        RuntimeError: the norm is not finite, where that is asked for.
    """
    name = "get_total_norm"
    return _native.norm_of(name, _native.tensors_of(name, tensors), float(norm_type), error_if_nonfinite)


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> lm.Tensor:
    """Scales the gradients of parameters so that the norm of their norms, which is returned, is at most ``max_norm``.

    Raises:
        RuntimeError: the norm is not finite, where that is asked for.
    """
    return _native.clip_to_norm(parameters, float(max_norm), float(norm_type), error_if_nonfinite)


#: Older name.
clip_grad_norm = clip_grad_norm_
