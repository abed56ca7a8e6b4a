"""Shapes and dtypes of the values of a graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import lamella as lm

from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """Facts about a tensor without its elements."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: lm.Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """Returns what is known of a tensor."""
    x: Any = result
    order = "contiguous_format" if include_contiguity and x.is_contiguous() else None
    return TensorMetadata(x.shape, x.dtype, x.requires_grad, tuple(x.stride()), order, False, {})


class ShapeProp(Interpreter):
    """Runs a graph on examples, and notes ``tensor_meta`` (shape, dtype and strides) and ``type`` in each node's meta.

    Args:
        gm: the module whose graph it is.
    """

    def __init__(self, gm: GraphModule) -> None:
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """Runs one node, and notes what its value is like."""
        result = super().run_node(n)
        found: list[Any] = []

        def meta_of(value: Any) -> Any:
            if not isinstance(value, lm.Tensor):
                return value
            found.append(value)
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, meta_of)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs the graph on examples of its inputs, and returns its output."""
        return self.run(*args)
