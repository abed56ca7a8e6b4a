"""Rules: how operators may be split over processes. One table, from which calls on global tensors choose."""

from __future__ import annotations

import functools

import lamella as lm

from . import (
    attention,
    axes,
    convolutions,
    elementwise,
    indexing,
    losses,
    norms,
    products,
    recurrent,
    reductions,
    shapes,
)
from .call import Call, Pieces
from .registry import Rule, composition_of, register_sbp, rule_of, ruled
from .spec import Spec, Way, equation

__all__ = ["Call", "Pieces", "Rule", "Spec", "Way", "equation", "find", "register_sbp", "ruled"]
__all__ += ["composition_of"]


@functools.cache
def _derived(name: str) -> Rule | None:
    """Returns the rule that the list of operators tells: from its kind and from its parameters."""
    if name in elementwise.elementwise_names():
        return elementwise.elementwise
    if name in axes.OTHERWISE or name.startswith("distributed_") or not hasattr(lm.ops.lamella, name):
        return None
    parameters = {argument[0] for argument in getattr(lm.ops.lamella, name).arguments}
    if {"axis", "keepdims"} <= parameters:
        return reductions.reduction
    return axes.along_axis if parameters & {"axis", "axes"} else None


def find(name: str) -> Rule | None:
    """Returns the rule of an operator: its own, or that of its family."""
    return rule_of(name) or _derived(name)
