"""Counts of the operations of products, by their rules."""

from __future__ import annotations

from collections.abc import Sequence

from lamella._C import Tensor

from . import attention, convolutions, products
from .registry import rule_of

_PRODUCTS = frozenset([products.product, products.linear, products.inner, products.vecdot])


def flops_of(name: str, tensors: Sequence[Tensor], result: Tensor) -> float:
    """Returns the multiplications and additions of a call; 0 for operators that are no products."""
    rule = rule_of(name)
    if rule in _PRODUCTS:
        return 2.0 * result.size * tensors[0].shape[-1]
    if rule is products.added_product:
        return 2.0 * result.size * tensors[1].shape[-1]
    if rule is convolutions.convolution:
        return 2.0 * result.size * tensors[1].size / tensors[1].shape[0]
    if rule is convolutions.transposed_convolution:
        return 2.0 * tensors[0].size * tensors[1].size / tensors[1].shape[0]
    if rule is attention.attention:
        query, key, value = tensors[:3]
        return 2.0 * query.size * key.shape[-2] + 2.0 * query.size / query.shape[-1] * key.shape[-2] * value.shape[-1]
    return 0.0
