"""Nodes of the graph, edges, and hooks on several of its tensors."""

from __future__ import annotations

from typing import NamedTuple

from .._C import HookHandle, Node, Tensor, _gradient_edge, register_multi_grad_hook

__all__ = ["GradientEdge", "HookHandle", "Node", "get_gradient_edge", "register_multi_grad_hook"]


class GradientEdge(NamedTuple):
    """A place on the tape: one output of a recorded operation, or a leaf.

    ``grad`` and ``backward`` take it among their inputs in the place of the tensor, which need not exist any more.
    """

    #: Node of the operation, or for a leaf the node that accumulates its gradient.
    node: Node
    #: Index of the node's output.
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Returns the place where the gradient of ``tensor`` arrives.

    ``RuntimeError`` for a tensor that wants none::

        h = x * 2
        y = h.exp().sum()
        edge = lm.autograd.graph.get_gradient_edge(h)
        del h
        lm.grad(y, edge)  # dy/dh
    """
    return GradientEdge(*_gradient_edge(tensor))
