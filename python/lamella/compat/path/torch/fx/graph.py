"""Graphs: the steps of a function, in order."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

import lamella as lm

from .._exchange import LOCK
from ._code import Namespace, PythonCode, Writer
from .node import Argument, Node, Target, map_arg, name_of

__all__ = ["Graph", "PythonCode"]


class _Nodes:
    """The nodes of a graph in order: counted, iterated from both ends, and changed while that happens."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self._graph = graph
        self._direction = direction

    def __len__(self) -> int:
        return self._graph._count

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node = getattr(root, self._direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self._direction)

    def __reversed__(self) -> _Nodes:
        return _Nodes(self._graph, "_prev" if self._direction == "_next" else "_next")


class Graph:
    """The steps of a function: inputs, calls of functions, methods and modules, and the output.

    Args:
        owning_module: the :class:`~torch.fx.GraphModule` that runs it, or None.
        tracer_cls: the class of the tracer that made it, or None.
        tracer_extras: not used.
    """

    def __init__(
        self, owning_module: Any = None, tracer_cls: type | None = None, tracer_extras: dict[str, Any] | None = None
    ) -> None:
        self._namespace = Namespace()
        self._root = Node(self, "", "output", "output", (), {})
        self._count = 0
        # New nodes go in front of this one.
        self._place = self._root
        self._tracer_cls = tracer_cls
        self.owning_module = owning_module

    @property
    def nodes(self) -> _Nodes:
        """The nodes in order."""
        return _Nodes(self)

    def output_node(self) -> Node:
        """Returns the output.

        Raises:
            RuntimeError: there is none.
        """
        for node in reversed(self.nodes):
            if node.op == "output":
                return node
        raise RuntimeError("[output_node] the graph has no output")

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """Returns the nodes of an operation, all or those of one target."""
        return [each for each in self.nodes if each.op == op and (target is None or each.target == target)]

    # ---- new nodes

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Makes a node at the place where the graph takes new ones: the end, or that of :meth:`inserting_before`.

        Args:
            op: "placeholder", "get_attr", "call_function", "call_method", "call_module" or "output".
            target: see :class:`Node`.
            args: what the call is given by position.
            kwargs: what the call is given by name.
            name: the node's name; by default like the target's. It gets a number where it is there already.
            type_expr: what annotations say of its value.

        Raises:
            ValueError: ``op`` is none of these, or the target is no target of it.
        """
        wanted = _default_name(op, target) if name is None else name
        node = Node(self, wanted, op, target, args or (), kwargs or {}, type_expr)
        node.name = self._namespace.new(wanted)
        self._place.prepend(node)
        self._count += 1
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Makes an input, with a default value or without."""
        return self.create_node(
            "placeholder", name, () if default_value is ... else (default_value,), type_expr=type_expr
        )

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Makes a node for a parameter, a buffer or another attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple[Argument, ...] | None = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """Makes a call of a module below the graph's own."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: tuple[Argument, ...] | None = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """Makes a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: Any = None,
        type_expr: Any = None,
    ) -> Node:
        """Makes a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Makes the output, which returns ``result``."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node) -> Node:
        """Copies a node of another graph into this one.

        Args:
            node: the node.
            arg_transform: returns this graph's argument for each node that it is given.
        """
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copies the nodes of another graph into this one.

        Args:
            g: the other graph.
            val_map: this graph's nodes by those of ``g``: nodes that are there already are not copied; copies are
                added.
            return_output_node: True returns the other graph's output beside its value.

        Returns:
            This graph's value of the other one's output, which is not copied itself; None without one.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], val_map.__getitem__)
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        nodes: dict[Node, Node] = {}
        for node in self.nodes:
            nodes[node] = made.node_copy(node, nodes.__getitem__)
        return made

    # ---- changes

    def erase_node(self, to_erase: Node) -> None:
        """Takes a node out of the graph.

        Raises:
            RuntimeError: its value is used, or it stands in another graph.
        """
        if to_erase.graph is not self or to_erase._erased:
            raise RuntimeError(f"[erase_node] {to_erase.name} is no node of the graph")
        if to_erase.users:
            raise RuntimeError(f"[erase_node] {to_erase.name} is used by {', '.join(map(repr, to_erase.users))}")
        to_erase._erased = True
        to_erase._set((), {})
        before, behind = to_erase._prev, to_erase._next
        before._next, behind._prev = behind, before
        if self._place is to_erase:
            self._place = behind
        self._count -= 1

    def inserting_before(self, n: Node | None = None) -> contextlib.AbstractContextManager[None]:
        """Puts new nodes in front of a node, or of all; for a ``with`` block, or from now on."""
        return self._inserting(self._root._next if n is None else n)

    def inserting_after(self, n: Node | None = None) -> contextlib.AbstractContextManager[None]:
        """Puts new nodes behind a node, or behind all; for a ``with`` block, or from now on."""
        return self._inserting(self._root if n is None else n._next)

    def _inserting(self, place: Node) -> contextlib.AbstractContextManager[None]:
        if place.graph is not self:
            raise RuntimeError(f"[inserting_before] {place.name} is a node of another graph")
        previous, self._place = self._place, place

        @contextlib.contextmanager
        def block() -> Iterator[None]:
            try:
                yield
            finally:
                self._place = previous

        return block()

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erases the nodes whose values nobody uses and that do nothing else; True if there were any.

        Args:
            is_impure_node: returns True for nodes to keep; by default :meth:`Node.is_impure`.
        """
        self.lint()
        before = len(self.nodes)
        for node in reversed(self.nodes):
            if not node.users and not (node.is_impure() if is_impure_node is None else is_impure_node(node)):
                self.erase_node(node)
        return len(self.nodes) != before

    def lint(self) -> None:
        """Checks that the graph can run.

        Raises:
            RuntimeError: a name stands there twice, a node is given one of another graph or one that comes later, or
                the owning module lacks a module or attribute.
        """
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            for each in node.all_input_nodes:
                if each.graph is not self or each._erased:
                    raise RuntimeError(f"[lint] {node.name} is given {each.name}, which is no node of its graph")
                if each not in seen:
                    raise RuntimeError(f"[lint] {node.name} is given {each.name}, which comes later")
            if node.name in names:
                raise RuntimeError(f"[lint] two nodes have the name {node.name}")
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._lint_target(node)
            names.add(node.name)
            seen.add(node)

    def _lint_target(self, node: Node) -> None:
        value: Any = self.owning_module
        for part in str(node.target).split("."):
            value = getattr(value, part, None)
        if value is None:
            raise RuntimeError(f"[lint] {node.name} wants '{node.target}', which the module does not have")
        if node.op == "call_module" and not isinstance(value, lm.nn.Module):
            raise RuntimeError(f"[lint] {node.name} calls '{node.target}', which is no module")

    # ---- forms

    def python_code(self, root_module: str, *, verbose: bool = False, **options: Any) -> PythonCode:
        """Returns the code of the graph, a function ``forward``, in which ``root_module`` is the module."""
        with LOCK:  # what another thread traces has other functions under the names for a while
            return Writer(self, root_module).code()

    def print_tabular(self) -> None:
        """Prints the nodes as a table."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[n.op, n.name, name_of(n.target), str(n.args), str(dict(n.kwargs))] for n in self.nodes]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        rows.insert(1, ["-" * width for width in widths])
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def __str__(self) -> str:
        names: list[str] = []
        lines = [node.format_node(names) for node in self.nodes]
        return "".join([f"graph({', '.join(f'%{name}' for name in names)}):", *(f"\n    {line}" for line in lines)])


def _default_name(op: str, target: Target) -> str:
    """Returns the name of a node without one: its target's, in lower case, words apart."""
    if isinstance(target, str):
        return target.lstrip("*")
    name: str = getattr(target, "__name__", type(target).__name__)
    if name.startswith("__") and name.endswith("__"):
        name = name.strip("_")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
