"""Modules with other tensors in the place of their parameters, by the older names."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import lamella as lm
from lamella.compat.front import close_module

from ...func import functional_call, reparametrized  # noqa: F401


def _reparametrize_module(
    module: lm.nn.Module,
    parameters_and_buffers: Mapping[str, lm.Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> contextlib.AbstractContextManager[None]:
    """Puts tensors in the place of a module's own for a block; ``stack_weights`` changes the order of puts only."""
    return reparametrized(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict)


__getattr__ = close_module(__name__)
