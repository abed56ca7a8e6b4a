"""Norms of gradients that lie over several processes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .. import _C
from .._C import Tensor
from ..nn.utils import clip_grads_with_norm_, get_total_norm
from .global_tensor import GlobalTensor


def clip_over(parameters: Sequence[Tensor], max_norm: float, norm_type: float, groups: Sequence[str]) -> Tensor:
    """Scales gradients, of which each process has others, by one factor so that their norm is at most ``max_norm``.

    Args:
        parameters: This process's.
        max_norm: The largest norm.
        norm_type: The order of the norm.
        groups: The names of the groups over which the gradients lie, such as that of a pipeline and that of a stage.

    Returns:
        The norm before, a tensor of no axes.
    """
    total = get_total_norm([p.grad for p in parameters if p.grad is not None], norm_type)
    if isinstance(total, GlobalTensor):
        total = total.whole()
    total = _joined(total, norm_type, groups)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_over_some(
    split: Mapping[tuple[str, ...], Sequence[Tensor]], max_norm: float, norm_type: float, groups: Sequence[str]
) -> Tensor:
    """Does what :func:`clip_over` does where some gradients lie over more groups than others.

    Args:
        split: This process's parameters, by the names of the groups over which only their gradients lie.
        max_norm: The largest norm.
        norm_type: The order of the norm.
        groups: The names of the groups over which all gradients lie.
    """
    norms = []
    for own, parameters in split.items():
        total = get_total_norm([p.grad for p in parameters if p.grad is not None], norm_type)
        norms.append(_joined(total, norm_type, own))
    total = _joined(get_total_norm(norms, norm_type), norm_type, groups)
    clip_grads_with_norm_([p for parameters in split.values() for p in parameters], max_norm, total)
    return total


def _joined(norm: Tensor, norm_type: float, groups: Sequence[str]) -> Tensor:
    """Returns the norm of what lies over groups, of this process's."""
    with _C.no_grad():
        for group in groups:
            if math.isinf(norm_type):
                norm = _C.distributed_all_reduce(norm, op="max", group=group)
            else:
                norm = _C.distributed_all_reduce(norm**norm_type, group=group) ** (1.0 / norm_type)
    return norm
