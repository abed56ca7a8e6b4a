"""Nodes of the graph under PyTorch's names: ``name()``, and a class of its own for each operation."""

from __future__ import annotations

import functools
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella._attributes import replace
from lamella.autograd import graph
from lamella.autograd.graph import GradientEdge

from ._node_names import shown
from ._saved import attributes_of

_nodes: Any = lm.autograd.Node
_native_name: Any = _nodes.__dict__["name"]
_native_next: Any = _nodes.__dict__["next_functions"]
_native_grad_fn: Any = Tensor.__dict__["grad_fn"]


class _Name(str):
    """The name of a node, which PyTorch's programs call for; called, it is PyTorch's."""

    shown: str

    def __call__(self) -> str:
        return f"torch::autograd::{self.shown}" if self.shown == "AccumulateGrad" else self.shown


def _name_of(node: Any) -> _Name:
    name = _Name(_native_name.__get__(node))
    name.shown = shown(node)
    return name


@functools.cache
def _class_of(name: str, called: str) -> type:
    """Returns the class of the nodes of an operation, by its name and PyTorch's."""
    names = {"__slots__": (), "__doc__": "A recorded operation.", "__module__": "torch", **attributes_of(name)}
    return type(called, (_nodes,), names)


@functools.cache
def _class_of_layer(name: str, called: str) -> type:
    """Returns the class of the nodes of a layer, in which a call's ``ctx`` is found."""
    return type(called, (_LayerNode,), {"__slots__": (), "__module__": "torch"})


class _LayerNode(_nodes):  # type: ignore[misc]
    """A call of a layer. To PyTorch's programs the call's ``ctx`` is the node: one has the attributes of the other."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self.context, name)
        except AttributeError:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.context, name, value)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors that forward saved; ``RuntimeError`` where the graph was freed."""
        return self.context.saved_tensors  # type: ignore[no-any-return]


class _OfNode:
    """An attribute that a ``ctx`` has of its call's node, unless the program has set one of this name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, ctx: Any, owner: type) -> Any:
        node = None if ctx is None else named(ctx.node)
        if node is None:
            raise AttributeError(
                f"a ctx has '{self._name}' of its call's node, and has no node where nothing is recorded"
            )
        return getattr(node, self._name)


def named(node: Any) -> Any:
    """Returns a node, which is of its operation's class from then on; None stays None."""
    if type(node) is _nodes:
        kind = _class_of if node.context is None else _class_of_layer
        node.__class__ = kind(_native_name.__get__(node), shown(node))
    return node


def _next_functions(self: Any) -> tuple[tuple[Any, int], ...]:
    return tuple((named(node), number) for node, number in _native_next.__get__(self))


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Returns the place where the gradient of a tensor arrives; ``RuntimeError`` for one that wants none."""
    edge = graph.get_gradient_edge(tensor)
    named(edge.node)
    return edge


_nodes.name = property(_name_of, doc="The name of the operation.")
_nodes.next_functions = property(_next_functions, doc="The nodes that gradients go to, with the number of an output.")
_nodes._sequence_nr = lambda self: self.sequence_nr
_nodes.__repr__ = lambda self: f"<{self.name()} object at {id(self):#x}>"
replace("grad_fn", property(lambda self: named(_native_grad_fn.__get__(self)), doc=_native_grad_fn.__doc__))
for _name in ("name", "next_functions", "metadata", "register_hook", "register_prehook", "_sequence_nr"):
    setattr(lm.autograd.PyLayerContext, _name, _OfNode(_name))
