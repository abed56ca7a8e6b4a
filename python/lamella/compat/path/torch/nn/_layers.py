"""Layers of tensors of programs, on the memory of these, and layers of old states."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.nn.norm import _BatchNorm

from ._module import Parameter


def _from_pretrained(cls: Any, embeddings: lm.Tensor, freeze: bool = True, *settings: Any, **named: Any) -> Any:
    """Makes a layer whose table is a tensor, in the memory of which rows are limited and trained.

    Args:
        cls: the class of the layer.
        embeddings: the table, of shape ``(rows, size)``.
        freeze: False lets it be trained.
        settings: arguments of the class behind its sizes.
        named: arguments of the class by their names.

    Raises:
        ValueError: the table has not two axes.
    """
    if embeddings.ndim != 2:
        raise ValueError(f"[{cls.__name__}] a table has two axes, not the shape {list(embeddings.shape)}")
    made = cls(*embeddings.shape, *settings, device="meta", **named)
    made.weight = Parameter(embeddings, requires_grad=not freeze)
    return made


for _kind in (lm.nn.Embedding, lm.nn.EmbeddingBag):
    _any: Any = _kind
    _any.from_pretrained = classmethod(_from_pretrained)

_native_before_load: Any = _BatchNorm._before_own_load


def _before_own_load(self: Any, state: dict[str, Any], prefix: str, *told: Any) -> None:
    """Takes states of before batches were counted, too."""
    _native_before_load(self, state, prefix, *told)
    if self.num_batches_tracked is not None and f"{prefix}running_mean" in state:
        state.setdefault(f"{prefix}num_batches_tracked", self.num_batches_tracked)


_norms: Any = _BatchNorm
_norms._before_own_load = _before_own_load
