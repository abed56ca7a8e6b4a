"""Norms of gradients that lie over several processes."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    with _C.no_grad():
        for group in groups:
            if math.isinf(norm_type):
                total = _C.distributed_all_reduce(total, op="max", group=group)
            else:
                total = _C.distributed_all_reduce(total**norm_type, group=group) ** (1.0 / norm_type)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total
