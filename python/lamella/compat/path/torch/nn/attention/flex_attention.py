"""Attention whose scores a function changes, or a mask of a function leaves out."""

# Arguments have PyTorch's names.
# ruff: noqa: N803

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.compat.front import close_module

#: Size of the blocks that PyTorch's kernels skip; masks are whole here.
_DEFAULT_SPARSE_BLOCK_SIZE = 128


class BlockMask:
    """The elements of attention that count.

    Attributes:
        mask: ``[batch, heads, queries, keys]``, True for those that do.
        mask_mod: the function that says so.
    """

    def __init__(self, mask: lm.Tensor, mask_mod: Callable[..., lm.Tensor]) -> None:
        self.mask = mask
        self.mask_mod = mask_mod

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the mask."""
        return self.mask.shape

    def to_dense(self) -> lm.Tensor:
        """Returns the mask."""
        return self.mask

    def sparsity(self) -> float:
        """Returns the share of elements that do not count, in percent."""
        return 100.0 * (1.0 - float(self.mask.astype("float32").mean().item()))


def _places(*sizes: int) -> list[lm.Tensor]:
    """Returns the numbers of batches, heads, queries and keys, each along its own axis of four."""
    return [
        lm.reshape(lm.arange(size), tuple(size if axis == at else 1 for axis in range(4)))
        for at, size in enumerate(sizes)
    ]


def create_mask(
    mod_fn: Callable[..., lm.Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cpu"
) -> lm.Tensor:
    """Returns ``mod_fn(batch, head, query, key)`` of all numbers of these, ``[batch, heads, queries, keys]``."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    return lm.broadcast_to(mod_fn(*_places(*sizes)), sizes)


def create_block_mask(
    mask_mod: Callable[..., lm.Tensor],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = "cpu",
    BLOCK_SIZE: Any = 128,
    _compile: bool = False,
) -> BlockMask:
    """Returns the elements that ``mask_mod(batch, head, query, key)`` lets count."""
    return BlockMask(create_mask(mask_mod, B, H, Q_LEN, KV_LEN), mask_mod)


def and_masks(*mask_mods: Callable[..., lm.Tensor]) -> Callable[..., lm.Tensor]:
    """Returns the function of a mask that lets count what all functions do."""
    return lambda b, h, q, k: math.prod(mod(b, h, q, k).astype("int64") for mod in mask_mods) != 0  # type: ignore[return-value]


def or_masks(*mask_mods: Callable[..., lm.Tensor]) -> Callable[..., lm.Tensor]:
    """Returns the function of a mask that lets count what one of the functions does."""
    return lambda b, h, q, k: sum(mod(b, h, q, k).astype("int64") for mod in mask_mods) != 0  # type: ignore[return-value]


def noop_mask(batch: lm.Tensor, head: lm.Tensor, token_q: lm.Tensor, token_kv: lm.Tensor) -> lm.Tensor:
    """Lets everything count."""
    return lm.ones_like(batch + head + token_q + token_kv) != 0


def flex_attention(
    query: lm.Tensor,
    key: lm.Tensor,
    value: lm.Tensor,
    score_mod: Callable[..., lm.Tensor] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
) -> Any:
    """Attention over ``softmax(score_mod(scale * query @ key^T))`` (Dong et al. 2024, "Flex Attention").

    ``score_mod(score, batch, head, query, key)`` is called once: with all scores, and the numbers of their places along
    four axes.

    Args:
        query: ``[batch, heads, queries, size]``.
        key: ``[batch, heads, keys, size]``; with ``enable_gqa``, fewer heads, each for several of the queries'.
        value: of the same shape but for the size.
        score_mod: changes the scores.
        block_mask: what counts; see :func:`create_block_mask`.
        scale: factor of the scores; ``1 / sqrt(size)`` if None.
        enable_gqa: lets heads of keys and values serve several of the queries.
        return_lse: returns the logarithms of the softmax's sums, too, ``[batch, heads, queries]``.
        kernel_options: not used.
    """
    if enable_gqa:
        times = query.shape[1] // key.shape[1]
        key, value = (lm.repeat(x, times, axis=1) for x in (key, value))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = lm.matmul(query, key.mT) * factor
    if score_mod is not None:
        scores = score_mod(scores, *_places(*scores.shape))
    if block_mask is not None:
        mask = block_mask.mask[..., : scores.shape[2], : scores.shape[3]]
        scores = lm.where(mask, scores, lm.asarray(-math.inf, dtype=scores.dtype))
    weights = lm.softmax(scores, -1)
    if block_mask is not None:  # a query that nothing counts for gets zeros
        weights = lm.where(lm.any(mask, axis=-1, keepdims=True), weights, lm.zeros((), dtype=weights.dtype))
    output = lm.matmul(weights, value)
    return (output, lm.logsumexp(scores, axis=-1)) if return_lse else output


__getattr__ = close_module(__name__)
