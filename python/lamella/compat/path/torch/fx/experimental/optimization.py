"""Passes that make models faster for inference."""

from __future__ import annotations

import copy
from typing import Any

import lamella as lm
from lamella.nn import Module
from lamella.nn.utils import fuse_conv_bn_eval

from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule, _assign_attr
from ..node import Node

_PAIRS = (
    (lm.nn.Conv1d, lm.nn.BatchNorm1d),
    (lm.nn.Conv2d, lm.nn.BatchNorm2d),
    (lm.nn.Conv3d, lm.nn.BatchNorm3d),
)


def matches_module_pattern(pattern: Any, node: Node, modules: dict[str, Module]) -> bool:
    """True if a node calls a module of the second class with the result of one of the first."""
    calls = [node.args[0] if node.args else None, node]
    return all(
        isinstance(each, Node)
        and each.op == "call_module"
        and isinstance(modules.get(str(each.target)), getattr(kind, "_native", kind))
        for kind, each in zip(pattern, calls, strict=True)
    )


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> GraphModule:
    """Returns a module in which convolutions have taken over the batch norms behind them.

    Args:
        model: a module in evaluation mode.
        inplace: True lets the new module share the layers of ``model``.
        no_trace: True if ``model`` is a graph already.
    """
    made: Any = model if inplace else copy.deepcopy(model)
    if not no_trace:
        made = symbolic_trace(made)
    modules = dict(made.named_modules())
    for pattern in _PAIRS:
        for node in made.graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            conv: Node = node.args[0]
            norm = modules[str(node.target)]
            if len(conv.users) > 1 or not norm.track_running_stats:
                continue
            fused = fuse_conv_bn_eval(modules[str(conv.target)], norm)
            _assign_attr(fused, made, str(conv.target))
            modules[str(conv.target)] = fused
            node.replace_all_uses_with(conv)
            made.graph.erase_node(node)
    made.graph.lint()
    made.recompile()
    made.delete_all_unused_submodules()
    return made  # type: ignore[no-any-return]


def remove_dropout(model: Module) -> GraphModule:
    """Returns a module without its dropouts."""
    made = symbolic_trace(copy.deepcopy(model))
    kinds = (lm.nn.Dropout, lm.nn.Dropout1d, lm.nn.Dropout2d, lm.nn.Dropout3d)
    for node in made.graph.nodes:
        if node.op == "call_module" and isinstance(made.get_submodule(str(node.target)), kinds):
            node.replace_all_uses_with(node.args[0])
            made.graph.erase_node(node)
    made.recompile()
    made.delete_all_unused_submodules()
    return made
