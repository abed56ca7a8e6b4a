"""Nodes of the graph under PyTorch's names: ``name()``, and a class of its own for each operation."""

from __future__ import annotations

import functools
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella._attributes import replace
from lamella.autograd import graph
from lamella.autograd.graph import GradientEdge

from ._printing import node_name
from ._saved import attributes_of

_nodes: Any = lm.autograd.Node
_native_name: Any = _nodes.__dict__["name"]
_native_next: Any = _nodes.__dict__["next_functions"]
_native_grad_fn: Any = Tensor.__dict__["grad_fn"]


class _Name(str):
    """The name of a node, which PyTorch's programs call for; called, it is PyTorch's."""

    def __call__(self) -> str:
        return node_name(self)


@functools.cache
def _class_of(name: str) -> type:
    """Returns the class of the nodes of an operation."""
    names = {"__slots__": (), "__doc__": "A recorded operation.", "__module__": "torch", **attributes_of(name)}
    return type(node_name(name), (_nodes,), names)


def named(node: Any) -> Any:
    """Returns a node, which is of its operation's class from then on; None stays None."""
    if type(node) is _nodes:
        node.__class__ = _class_of(_native_name.__get__(node))
    return node


def _next_functions(self: Any) -> tuple[tuple[Any, int], ...]:
    return tuple((named(node), number) for node, number in _native_next.__get__(self))


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Returns the place where the gradient of a tensor arrives; ``RuntimeError`` for one that wants none."""
    edge = graph.get_gradient_edge(tensor)
    named(edge.node)
    return edge


_nodes.name = property(lambda self: _Name(_native_name.__get__(self)), doc="The name of the operation.")
_nodes.next_functions = property(_next_functions, doc="The nodes that gradients go to, with the number of an output.")
_nodes.__repr__ = lambda self: f"<{self.name()} object at {id(self):#x}>"
replace("grad_fn", property(lambda self: named(_native_grad_fn.__get__(self)), doc=_native_grad_fn.__doc__))
