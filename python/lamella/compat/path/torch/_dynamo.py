"""Names of PyTorch's compiler beside ``torch.compile``."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

from lamella.compat.front import add_paths, close_module

from . import compiler
from ._compile import compile

#: Settings, which may be set, and change nothing.
config: Any = SimpleNamespace(suppress_errors=False, verbose=False, cache_size_limit=8, dynamic_shapes=True)
disable = compiler.disable
is_compiling = compiler.is_compiling


def reset() -> None:
    """Does nothing: a compiled function has its own graphs."""


def optimize(backend: Any = "inductor", **options: Any) -> Any:
    """Returns a decorator: ``torch.compile``."""
    return lambda function: compile(function)


class TransformGetItemToIndex(contextlib.nullcontext[None]):
    """A block in which ``vmap`` takes its numbers for indices, as it does everywhere here."""


__getattr__ = close_module(__name__)
add_paths("torch", {f"{__name__}._trace_wrapped_higher_order_op": {__name__: "TransformGetItemToIndex"}})
