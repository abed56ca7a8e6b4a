"""Names that Paddle keeps apart until they are settled."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import add_paths, close_module

from ..geometric import segment_max, segment_mean, segment_min, segment_sum, send_u_recv  # noqa: F401
from . import autograd, nn, optimizer  # noqa: F401
from .optimizer import LookAhead, ModelAverage  # noqa: F401


def graph_send_recv(
    x: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    pool_type: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Tensor:
    """Older name of :func:`paddle.geometric.send_u_recv`."""
    return send_u_recv(x, src_index, dst_index, pool_type, out_size)


def softmax_mask_fuse(x: Tensor, mask: Tensor, name: str | None = None) -> Tensor:
    """The softmax along the last axis of ``x + mask``."""
    return lm.softmax(x + mask, axis=-1)


def softmax_mask_fuse_upper_triangle(x: Tensor) -> Tensor:
    """The softmax along the last axis of the elements on and below the diagonal of matrices; 0 for the others."""
    rows, columns = tuple(x.shape)[-2:]
    hidden = lm.arange(columns) > lm.reshape(lm.arange(rows), (-1, 1))
    return lm.softmax(lm.where(hidden, lm.full_like(x, -float("inf")), x), axis=-1)


def identity_loss(x: Tensor, reduction: Any = "none") -> Tensor:
    """The elements of ``x``, their mean or their sum: "none", "mean" and "sum", or 2, 1 and 0.

    Raises:
        ValueError: ``reduction`` is something else.
    """
    words = {0: "sum", 1: "mean", 2: "none"}
    word = reduction.lower() if isinstance(reduction, str) else words.get(reduction)
    if word not in words.values():
        raise ValueError(f"[identity_loss] reduction is 'none', 'mean' or 'sum', not {reduction!r}")
    return x.clone() if word == "none" else lm.mean(x) if word == "mean" else lm.sum(x)


__getattr__ = close_module(__name__)
add_paths(
    "paddle",
    {
        f"{__name__}.distributed": {},
        f"{__name__}.distributed.fleet": {"paddle._recompute": "recompute_sequential"},
    },
)
