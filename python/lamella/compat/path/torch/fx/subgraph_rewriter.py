"""Replacing parts of graphs that look like a pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lamella.nn import Module

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Node

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """A part of a graph that looks like a pattern.

    Attributes:
        anchor: the node that gives its result.
        nodes_map: the nodes of the graph by those of the pattern.
    """

    anchor: Node
    nodes_map: dict[Node, Any]


def _graph_of(pattern: Callable[..., Any] | Graph | GraphModule) -> Graph:
    if isinstance(pattern, GraphModule):
        return pattern.graph
    return pattern if isinstance(pattern, Graph) else symbolic_trace(pattern).graph


class _Matcher:
    """Compares parts of a graph with a pattern."""

    def __init__(self, pattern: Graph) -> None:
        self.output = pattern.output_node().args[0]
        if not isinstance(self.output, Node):
            raise NotImplementedError("[replace_pattern] a pattern returns the result of one step")

    def match(self, anchor: Node) -> Match | None:
        """Returns the part that ends in a node, or None."""
        found: dict[Node, Any] = {}
        if not self._same_node(self.output, anchor, found):
            return None
        inner = {node for pattern, node in found.items() if pattern.op not in ("placeholder", "get_attr")}
        for pattern, node in found.items():
            hidden = pattern.op not in ("placeholder", "get_attr") and node is not anchor
            if hidden and any(user not in inner for user in node.users):
                return None  # something else needs what the replacement does not compute
        return Match(anchor, found)

    def _same(self, pattern: Any, value: Any, found: dict[Node, Any]) -> bool:
        if isinstance(pattern, Node):
            return self._same_node(pattern, value, found)
        if isinstance(pattern, (list, tuple)):
            same = isinstance(value, (list, tuple)) and len(value) == len(pattern)
            return same and all(self._same(a, b, found) for a, b in zip(pattern, value, strict=True))
        if isinstance(pattern, dict):
            same = isinstance(value, dict) and value.keys() == pattern.keys()
            return same and all(self._same(each, value[name], found) for name, each in pattern.items())
        if isinstance(pattern, slice):
            return isinstance(value, slice) and self._same(_parts(pattern), _parts(value), found)
        return type(pattern) is type(value) and bool(pattern == value)

    def _same_node(self, pattern: Node, value: Any, found: dict[Node, Any]) -> bool:
        if pattern in found:
            return found[pattern] is value
        if pattern.op == "placeholder":  # stands for whatever is there
            found[pattern] = value
            return True
        if not isinstance(value, Node) or (pattern.op, pattern.target) != (value.op, value.target):
            return False
        found[pattern] = value
        return self._same(pattern.args, value.args, found) and self._same(pattern.kwargs, value.kwargs, found)


def _parts(each: slice) -> tuple[Any, Any, Any]:
    return each.start, each.stop, each.step


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule,
) -> list[Match]:
    """Replaces all parts of a module's graph that look like a pattern, where they do not overlap.

    Args:
        gm: the module, whose code is made anew.
        pattern: what to look for: a function, a module or a graph. Its inputs stand for anything, and its steps for
            those with the same targets and arguments.
        replacement: what to put there, with as many inputs.

    Returns:
        What was replaced.

    Raises:
        ValueError: the replacement has another number of inputs than the pattern.
        NotImplementedError: the pattern returns something else than the result of one step.
    """
    wanted, given = _graph_of(pattern), _graph_of(replacement)
    inputs = [each for each in wanted.nodes if each.op == "placeholder"]
    places = [each for each in given.nodes if each.op == "placeholder"]
    if len(inputs) != len(places):
        raise ValueError(f"[replace_pattern] the pattern has {len(inputs)} inputs, and the replacement {len(places)}")
    matcher = _Matcher(wanted)
    matches: list[Match] = []
    taken: set[Node] = set()
    for node in gm.graph.nodes:
        match = matcher.match(node) if node.op not in ("placeholder", "output") else None
        if match is None:
            continue
        own = {value for each, value in match.nodes_map.items() if each.op not in ("placeholder", "get_attr")}
        if own.isdisjoint(taken):
            taken |= own
            matches.append(match)
    exchanged: dict[Node, Any] = {}
    for match in matches:
        values = [match.nodes_map.get(each) for each in inputs]
        # An input may be the result of a part that was replaced before.
        values = [exchanged.get(each, each) if isinstance(each, Node) else each for each in values]
        exchanged[match.anchor] = _replace(gm.graph, match, given, dict(zip(places, values, strict=True)))
    if isinstance(replacement, Module):
        for each in given.nodes:
            if each.op in ("get_attr", "call_module"):
                _copy_attr(replacement, gm, str(each.target))
    gm.recompile()
    return matches


def _replace(graph: Graph, match: Match, replacement: Graph, values: dict[Node, Any]) -> Any:
    """Puts a replacement in the place of one part, and returns its result."""
    with graph.inserting_before(match.anchor):
        result = graph.graph_copy(replacement, values)
    if isinstance(result, Node):
        match.anchor.replace_all_uses_with(result)
    inner = [value for each, value in match.nodes_map.items() if each.op != "placeholder" and not value._erased]
    for node in sorted(inner, reverse=True):
        if not node.users:
            graph.erase_node(node)
    return result
