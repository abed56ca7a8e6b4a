"""Rules: how operators may be split over processes. One table, from which calls on global tensors choose."""

from __future__ import annotations

import functools
import importlib

from lamella import _C

from . import axes, elementwise, reductions
from .call import Call, Pieces
from .registry import Rule, composition_of, register_sbp, rule_of, ruled
from .spec import Spec, Way, equation

#: The modules whose rules belong to operators by name.
for _module in ("attention", "convolutions", "indexing", "losses", "norms", "products", "recurrent", "shapes"):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["Call", "Pieces", "Rule", "Spec", "Way", "composition_of", "equation", "find", "register_sbp", "ruled"]


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(operator["name"] for operator in _C.operators())


@functools.cache
def _derived(name: str) -> Rule | None:
    """Returns the rule that the list of operators tells: from its kind and from its parameters."""
    if name in elementwise.elementwise_names():
        return elementwise.elementwise
    if name not in _names() or name in axes.OTHERWISE or name.startswith("distributed_"):
        return None
    parameters = {argument[0] for argument in _C._find_operator(f"lamella::{name}").arguments}
    if {"axis", "keepdims"} <= parameters:
        return reductions.reduction
    return axes.along_axis if parameters & {"axis", "axes"} else None


def find(name: str) -> Rule | None:
    """Returns the rule of an operator: its own, or that of its family."""
    return rule_of(name) or _derived(name)
