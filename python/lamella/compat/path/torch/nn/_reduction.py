"""Reductions of losses by their numbers, and by what older programs say in place of their names."""

from __future__ import annotations

import warnings

from lamella.compat.front import close_module

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """Returns the number of a reduction: 0 for "none", 1 for "mean", 2 for "sum".

    Raises:
        ValueError: it is none of these.
    """
    if reduction not in _NUMBERS:
        raise ValueError(f"[get_enum] a reduction is none, mean or sum, not {reduction}")
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is an older name: write reduction='mean'", stacklevel=2)
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """Returns the reduction that ``size_average`` and ``reduce`` mean, by default "mean"."""
    divides, adds = size_average is None or size_average, reduce is None or reduce
    found = ("mean" if divides else "sum") if adds else "none"
    if emit_warning:
        warnings.warn(f"size_average and reduce are older words: write reduction={found!r}", stacklevel=2)
    return found


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """Returns the number of the reduction that ``size_average`` and ``reduce`` mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


__getattr__ = close_module(__name__)
