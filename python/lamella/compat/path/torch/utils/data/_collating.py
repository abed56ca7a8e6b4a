"""Batches of samples: which function makes one of samples of a class."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella import data as _native

#: Kinds of numpy's arrays that no tensor has: text and objects.
np_str_obj_array_pattern = re.compile(r"[SaUO]")


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    """Returns tensors as one, with a new first axis."""
    return lm.stack(list(batch), axis=0)


#: Functions that make a batch, by the class of samples: ``fn(batch, collate_fn_map=map)``. Programs add theirs.
default_collate_fn_map: dict[Any, Callable[..., Any]] = {Tensor: collate_tensor_fn}


def is_extended() -> bool:
    """True if a program has added functions to the map."""
    return len(default_collate_fn_map) > 1 or default_collate_fn_map.get(Tensor) is not collate_tensor_fn


def collate(batch: Sequence[Any], *, collate_fn_map: Mapping[Any, Callable[..., Any]] | None = None) -> Any:
    """Makes a batch of samples: those that are containers become a container of batches.

    Args:
        batch: the samples.
        collate_fn_map: functions by the class of samples, or by tuples of classes; others are numbers, arrays or text.

    Raises:
        RuntimeError: samples have different lengths.
    """
    first = batch[0]
    known = collate_fn_map or {}
    exact = known.get(type(first))
    for kind, function in [(type(first), exact)] if exact is not None else known.items():
        if isinstance(first, kind):
            return function(batch, collate_fn_map=collate_fn_map)  # type: ignore[misc]
    if isinstance(first, Mapping):
        return {name: collate([each[name] for each in batch], collate_fn_map=collate_fn_map) for name in first}
    if isinstance(first, (list, tuple)):
        if any(len(each) != len(first) for each in batch):
            raise RuntimeError("[collate] each sample is of as many parts as the others")
        parts = [collate(each, collate_fn_map=collate_fn_map) for each in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    return _native.default_collate(list(batch))
