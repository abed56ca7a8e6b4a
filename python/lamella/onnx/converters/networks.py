"""Attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import lamella as lm

from .._builder import (
    Value,
    cast,
    constant,
    op,
    range_value,
    reduce,
    reshape,
    shape_value,
    size,
    sizes,
    swap,
    unsqueeze,
    where,
)
from .._registry import builtin


def _repeated_heads(x: Value, query: Value) -> Value:
    """Returns keys or values with each head as often as queries' heads need it."""
    heads, wanted = size(x, -3), size(query, -3)
    if isinstance(heads, int) and heads == wanted:
        return x
    times = wanted // heads if isinstance(heads, int) and isinstance(wanted, int) else op("Div", wanted, heads)
    shape = sizes(x)
    wide = op("Expand", unsqueeze(x, x.ndim - 2), shape_value([*[1] * (x.ndim - 2), times, 1, 1]))
    return reshape(wide, [*shape[:-3], wanted, *shape[-2:]])


def _causal(rows: int | Value, columns: int | Value) -> Value:
    """Returns which keys each query sees."""
    if isinstance(rows, int) and isinstance(columns, int):
        return constant(np.tri(rows, columns, dtype=bool))
    return unsqueeze(range_value(columns), 0) <= unsqueeze(range_value(rows), 1)


@builtin("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    meta_outputs: Any = None,
) -> Value:
    """The softmax of the scores of queries and keys, times the values."""
    dtype = meta_outputs.dtype
    q, k, v = (cast(x, dtype) for x in (query, key, value))
    if enable_gqa:
        k, v = _repeated_heads(k, q), _repeated_heads(v, q)
    width = q.shape[-1]
    if scale is None and width < 0:
        raise NotImplementedError("[scaled_dot_product_attention] an exported model needs the size of a query")
    scores = op("MatMul", q * (1.0 / math.sqrt(width) if scale is None else scale), swap(k, -1, -2))
    masked = is_causal or attn_mask is not None
    if is_causal:
        scores = where(_causal(size(q, -2), size(k, -2)), scores, -math.inf)
    if attn_mask is not None:
        seen = attn_mask.dtype == lm.bool
        scores = where(attn_mask, scores, -math.inf) if seen else scores + cast(attn_mask, dtype)
    weights = op("Softmax", scores, axis=-1)
    if masked:
        # A query that sees no key gives 0.
        blind = reduce("ReduceMax", scores, [scores.ndim - 1], keepdims=True).eq(-math.inf)
        weights = where(blind, 0.0, weights)
    if dropout_p > 0.0:
        weights = op("Dropout", weights, cast(dropout_p, dtype), cast(True, lm.bool))
    return op("MatMul", weights, v)
