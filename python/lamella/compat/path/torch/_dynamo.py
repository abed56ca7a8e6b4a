"""Names of PyTorch's compiler beside ``torch.compile``."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

from lamella._compile._module import CompiledModule
from lamella.compat.front import add_paths, close_module

from . import compiler
from ._compile import compile

#: Settings, which may be set, and change nothing.
config: Any = SimpleNamespace(suppress_errors=False, verbose=False, cache_size_limit=8, dynamic_shapes=True)
allow_in_graph = compiler.allow_in_graph
assume_constant_result = compiler.assume_constant_result
disable = compiler.disable
is_compiling = compiler.is_compiling

#: The class of modules that ``torch.compile`` returns.
OptimizedModule = CompiledModule
_compiled: Any = CompiledModule
_compiled._orig_mod = property(lambda self: self._compiled._function, doc="The module that is compiled.")


def is_dynamo_supported() -> bool:
    """True."""
    return True


def is_compile_supported(device_type: Any) -> bool:
    """True for the CPU and GPUs."""
    return str(device_type).partition(":")[0] in ("cpu", "cuda")


def reset() -> None:
    """Does nothing: a compiled function has its own graphs."""


def optimize(backend: Any = "inductor", **options: Any) -> Any:
    """Returns a decorator: ``torch.compile``."""
    return lambda function: compile(function)


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Does nothing: graphs read tensors where they are."""


def mark_dynamic(t: Any, index: Any = None, **options: Any) -> None:
    """Does nothing: sizes that vary are found."""


mark_static = maybe_mark_dynamic = mark_dynamic


class TransformGetItemToIndex(contextlib.nullcontext[None]):
    """A block in which ``vmap`` takes its numbers for indices, as it does everywhere here."""


__getattr__ = close_module(__name__)
add_paths("torch", {f"{__name__}.eval_frame": {__name__: "OptimizedModule is_dynamo_supported"}})
add_paths("torch", {f"{__name__}.utils": {__name__: "is_compile_supported"}})
add_paths("torch", {f"{__name__}._trace_wrapped_higher_order_op": {__name__: "TransformGetItemToIndex"}})
