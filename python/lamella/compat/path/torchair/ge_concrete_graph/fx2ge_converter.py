"""Registering converters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import lamella as lm
from lamella.compat.front import close_module

F = TypeVar("F", bound=Callable[..., Any])

#: Converter of each operator.
converters: dict[Any, Callable[..., Any]] = {}


def register_fx_node_ge_converter(op: Any) -> Callable[[F], F]:
    """Keeps the decorated function as the converter of ``op``, also for ONNX, and returns it as it is."""

    def keep(converter: F) -> F:
        converters[op] = converter
        lm.onnx.register_converter(op)(converter)
        return converter

    return keep


__getattr__ = close_module(__name__)
