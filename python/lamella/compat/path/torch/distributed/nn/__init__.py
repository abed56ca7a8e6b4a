"""Collective operations with gradients: those of :mod:`lamella.distributed` by PyTorch's names."""

from __future__ import annotations

from lamella.compat.front import close_module

from .functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]
__getattr__ = close_module(__name__)
