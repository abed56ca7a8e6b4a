"""Transforms that later became part of ``torch.func``, and maps over a batch in pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, cond  # type: ignore[import-not-found]
from torch.func import (  # type: ignore[import-not-found]
    functionalize,
    hessian,
    jacfwd,
    jvp,
    replace_all_batch_norm_modules_,
    vmap,
)
from torch.utils._pytree import tree_flatten  # type: ignore[import-not-found]

__all__ = [
    "chunk_vmap",
    "cond",
    "functionalize",
    "hessian",
    "jacfwd",
    "jvp",
    "replace_all_batch_norm_modules_",
]


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """Returns a function that computes ``func`` for each example of a batch, which goes in pieces.

    Args:
        func: takes one example.
        in_dims: the axis of each argument along which the examples lie: as ``vmap``'s.
        out_dims: where they lie in the results.
        randomness: as ``vmap``'s.
        chunks: the number of pieces, at least 1; the last ones may be smaller.
    """
    if chunks < 1:
        raise ValueError(f"[chunk_vmap] chunks is a number of at least 1, not {chunks}")

    def call(*args: Any, **kwargs: Any) -> Any:
        mapped = vmap(func, in_dims, out_dims, randomness, chunk_size=-(-_batch_size(args, in_dims) // chunks) or None)
        return mapped(*args, **kwargs)

    return call


def _batch_size(args: tuple[Any, ...], in_dims: Any) -> int:
    """Returns the number of examples: the length of the first axis that is mapped over."""
    dims = in_dims if isinstance(in_dims, (tuple, list)) else [in_dims] * len(args)
    for arg, dim in zip(args, dims, strict=False):
        leaves, places = tree_flatten(arg)[0], tree_flatten(dim)[0]
        for leaf, place in zip(leaves, places * len(leaves) if len(places) == 1 else places, strict=False):
            if isinstance(leaf, Tensor) and place is not None:
                return int(leaf.shape[place])
    return 0
