"""Which tensors gradients reach that do not flow through certain others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamella import Tensor


def reached(ends: Sequence[Tensor], wanted: Sequence[Tensor], stopped: Sequence[Tensor]) -> list[bool]:
    """Returns of each wanted tensor whether a gradient gets from ``ends`` to it past the stopped ones."""
    passed = {each.grad_fn for each in stopped} - {None}
    waiting: list[Any] = [each.grad_fn for each in ends]
    nodes: set[Any] = set()
    leaves = {id(each) for each in ends}
    while waiting:
        node = waiting.pop()
        if node is None or node in passed or node in nodes:
            continue
        nodes.add(node)
        leaves.add(id(getattr(node, "variable", None)))
        waiting.extend(before for before, _ in node.next_functions)
    return [id(each) in leaves if each.grad_fn is None else each.grad_fn in nodes for each in wanted]
