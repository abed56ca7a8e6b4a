"""Attention as a layer."""

from __future__ import annotations

from typing import Any

import lamella as lm

from . import init
from .layers import Linear
from .module import Module
from .parameter import Parameter


class MultiheadAttention(Module):
    """Attention by several heads side by side, see :func:`lamella.scaled_dot_product_attention`.

    Source: Vaswani et al. 2017, "Attention is all you need".

    Args:
        embed_dim: size of queries and results, a multiple of ``num_heads``.
        num_heads: the number of heads, each of which sees ``embed_dim / num_heads`` of the projected sizes.
        dropout: the probability with which a weight of the attention is dropped in training.
        bias: False leaves the biases of the projections out.
        add_bias_kv: True adds a key and a value that are trained to those of every sequence.
        add_zero_attn: True adds a key and a value of zeros.
        kdim: size of keys; ``embed_dim`` by default.
        vdim: size of values; ``embed_dim`` by default.
        batch_first: whether the batch is axis 0 and the sequence axis 1, rather than the other way round.
        device: of the parameters.
        dtype: of the parameters.

    Attributes:
        q_proj, k_proj, v_proj, out_proj: the projections, :class:`Linear`.
        bias_k, bias_v: the key and value of ``add_bias_kv``, of shape ``(embed_dim,)``, or None.
    """

    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_heads < 1 or embed_dim < 1 or embed_dim % num_heads:
            raise ValueError(
                f"[MultiheadAttention] embed_dim must be a multiple of num_heads, got {embed_dim} and {num_heads}"
            )
        if not 0.0 <= dropout <= 1.0:
            raise ValueError(f"[MultiheadAttention] dropout is a probability, not {dropout}")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.q_proj = Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.k_proj = Linear(embed_dim if kdim is None else kdim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.v_proj = Linear(embed_dim if vdim is None else vdim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.add_zero_attn = add_zero_attn
        for name in ("bias_k", "bias_v"):
            extra = Parameter(lm.zeros((embed_dim,), dtype=dtype, device=device)) if add_bias_kv else None
            self.register_parameter(name, extra)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new starting values: Xavier-uniform weights, biases of 0, Xavier-normal added keys and values."""
        for layer in (self.q_proj, self.k_proj, self.v_proj):
            init.xavier_uniform_(layer.weight)
        for layer in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):
            if layer.bias is not None:
                init.zeros_(layer.bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.normal_(extra, 0.0, (2 / (1 + self.embed_dim)) ** 0.5)

    def forward(
        self,
        query: lm.Tensor,
        key: lm.Tensor,
        value: lm.Tensor,
        key_padding_mask: lm.Tensor | None = None,
        attn_mask: lm.Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        average_attn_weights: bool = True,
    ) -> tuple[lm.Tensor, lm.Tensor | None]:
        """Lets each query look at the keys.

        Args:
            query: ``(L, n, embed_dim)``, with ``batch_first`` ``(n, L, embed_dim)``, or ``(L, embed_dim)``.
            key: the same with S for L and ``kdim``.
            value: the same with S for L and ``vdim``.
            key_padding_mask: ``(n, S)`` or ``(S,)``, bool, true for keys that are not to be seen.
            attn_mask: ``(L, S)`` or ``(n * num_heads, L, S)``; bool, true for pairs that do not see each other, or
                numbers that are added to the scores.
            is_causal: each query sees the keys up to its own place only, and of these what masks leave.
            need_weights: True returns the attention's weights too; the whole matrix is then built.
            average_attn_weights: False returns the weights of each head, and not their mean.

        Returns:
            The result in ``query``'s layout, and the weights, ``(n, L, S)`` or ``(L, S)``, with an axis for the heads
            before L where they are not averaged, or None. Added keys are counted in S, behind the others.

        Raises:
            ValueError: shapes that do not fit.
        """
        batched = query.ndim == 3
        if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
            raise ValueError(
                "[MultiheadAttention] query, key and value have all two or all three axes, got the shapes "
                f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
            )
        parts = [self._heads(x, batched) for x in self._projected(query, key, value)]
        added = (self.bias_k is not None) + self.add_zero_attn
        if is_causal and (key_padding_mask is not None or attn_mask is not None or added):
            later = lm.triu(lm.ones((parts[0].shape[2], parts[1].shape[2]), dtype="bool", device=query.device), k=1)
            # Of a mask that hides the later places anyway this is the same mask.
            attn_mask = later if attn_mask is None else lm.where(later, *_hidden(attn_mask))
            is_causal = False
        mask = self._mask(parts[0], key_padding_mask, attn_mask)
        if added:
            parts[1:] = self._extended(parts[1], self.bias_k), self._extended(parts[2], self.bias_v)
            mask = None if mask is None else lm.pad(mask, (0, added))
        dropped = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = self._weights(parts[0], parts[1], mask, is_causal)
            weights = scores.mean(1) if average_attn_weights else scores
            weights = weights if batched else weights[0]
            y = lm.dropout(scores, dropped, self.training) @ parts[2]
        else:
            q, k, v = parts
            y = lm.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropped, is_causal=is_causal)
        y = lm.flatten(lm.swapaxes(y, 1, 2), 2)
        if not batched:
            return self.out_proj(y[0]), weights
        return self.out_proj(y if self.batch_first else lm.swapaxes(y, 0, 1)), weights

    def _projected(self, query: lm.Tensor, key: lm.Tensor, value: lm.Tensor) -> tuple[lm.Tensor, ...]:
        """Returns queries, keys and values of size ``embed_dim``."""
        return self.q_proj(query), self.k_proj(key), self.v_proj(value)

    def _heads(self, x: lm.Tensor, batched: bool) -> lm.Tensor:
        """``(n, heads, length, size of a head)``."""
        if not batched:
            x = lm.expand_dims(x, 0)
        elif not self.batch_first:
            x = lm.swapaxes(x, 0, 1)
        return lm.swapaxes(lm.unflatten(x, 2, (self.num_heads, self.embed_dim // self.num_heads)), 1, 2)

    def _extended(self, x: lm.Tensor, extra: lm.Tensor | None) -> lm.Tensor:
        """Returns keys or values, ``(n, heads, S, size of a head)``, with those behind them that are added."""
        shape = (x.shape[0], self.num_heads, 1, x.shape[-1])
        parts = [x]
        if extra is not None:
            parts.append(lm.broadcast_to(lm.reshape(extra, (1, *shape[1:])), shape))
        if self.add_zero_attn:
            parts.append(lm.zeros(shape, dtype=x.dtype, device=x.device))
        return lm.concat(parts, axis=2)

    def _mask(
        self, query: lm.Tensor, key_padding_mask: lm.Tensor | None, attn_mask: lm.Tensor | None
    ) -> lm.Tensor | None:
        """Both masks as one that is added to the scores, or None."""
        total = None
        if attn_mask is not None:
            if attn_mask.ndim == 3:
                attn_mask = lm.reshape(attn_mask, (query.shape[0], self.num_heads, *attn_mask.shape[1:]))
            total = _added(attn_mask, query)
        if key_padding_mask is not None:
            padding = _added(key_padding_mask, query)
            padding = lm.reshape(padding, (query.shape[0], 1, 1, padding.shape[-1]))
            total = padding if total is None else total + padding
        return total

    def _weights(self, query: lm.Tensor, key: lm.Tensor, mask: lm.Tensor | None, is_causal: bool) -> lm.Tensor:
        scores = query @ key.mT / (query.shape[-1] ** 0.5)
        if is_causal:
            place = [lm.arange(n, device=query.device) for n in scores.shape[-2:]]
            scores = lm.where(lm.expand_dims(place[0], 1) >= place[1], scores, float("-inf"))
        return lm.softmax(scores if mask is None else scores + mask)

    def _before_own_load(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Gives a state that PyTorch has written, with three projections in one tensor, the names of this class."""
        super()._before_own_load(state, prefix, *rest)
        for kind in ("weight", "bias"):
            joined = state.pop(f"{prefix}in_proj_{kind}", None)
            if joined is not None:
                parts = [joined[i * self.embed_dim : (i + 1) * self.embed_dim] for i in range(3)]
                state |= {f"{prefix}{name}_proj.{kind}": part for name, part in zip("qkv", parts, strict=True)}
        for name in "qkv":
            if (weight := state.pop(f"{prefix}{name}_proj_weight", None)) is not None:
                state[f"{prefix}{name}_proj.weight"] = weight
        for name in ("bias_k", "bias_v"):
            if (extra := state.get(prefix + name)) is not None:
                state[prefix + name] = extra.reshape(-1)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return (
            f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout}, "
            f"batch_first={self.batch_first}"
        )


def _hidden(mask: lm.Tensor) -> tuple[Any, lm.Tensor]:
    """Returns what stands in a mask for a pair that is hidden, and the mask."""
    return (True if mask.dtype == lm.bool else float("-inf")), mask


def _added(mask: lm.Tensor, like: lm.Tensor) -> lm.Tensor:
    """Returns a mask as numbers to add: minus infinity where a bool one is true."""
    if mask.dtype == lm.bool:
        return lm.where(mask, lm.full((), float("-inf"), dtype=like.dtype, device=like.device), 0.0)
    return mask.astype(like.dtype)
