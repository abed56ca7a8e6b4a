"""Running graphs node by node."""

from __future__ import annotations

from typing import Any

from lamella.nn import Module

from .._exchange import LOCK
from ._patching import functions_ask
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import Proxy


class Interpreter:
    """Runs a graph node by node; subclasses change what a node does.

    Args:
        module: the module that has what the graph names.
        garbage_collect_values: True drops values once no node needs them.
        graph: the graph, by default the module's.
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.garbage_collect_values = garbage_collect_values
        #: The values of nodes that have run.
        self.env: dict[Node, Any] = {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Runs the graph, and returns its output.

        Args:
            args: its inputs, in order.
            initial_env: values of nodes, which do not run.
            enable_io_processing: not used.
        """
        self.env = dict(initial_env or {})
        self._inputs = iter(args)
        last_uses = self._last_uses() if self.garbage_collect_values else {}
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                error.add_note(f"while the node {node.format_node()} ran")
                raise
            if node.op == "output":
                return self.env[node]
            for each in last_uses.get(node, ()):
                del self.env[each]
        return None

    def _last_uses(self) -> dict[Node, list[Node]]:
        found: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for node in reversed(self.graph.nodes):
            for each in node.all_input_nodes:
                if each not in seen:
                    seen.add(each)
                    found.setdefault(node, []).append(each)
        return found

    def run_node(self, n: Node) -> Any:
        """Runs one node, and returns its value."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Returns the next input, or the default value of this one.

        Raises:
            RuntimeError: it is not given and has no default.
        """
        if isinstance(target, str) and target.startswith("*"):
            return list(self._inputs)
        for given in self._inputs:
            return given
        if not args:
            raise RuntimeError(f"[Interpreter] the input '{target}' is not given")
        return args[0]

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Returns an attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a function."""
        function: Any = target
        return function(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a method of the first argument."""
        owner, *rest = args
        return getattr(owner, str(target))(*rest, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a module."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Returns the output."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Returns what a dotted name of the module means."""
        value: Any = self.module
        for part in target.split("."):
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments of a node, with values in place of nodes."""
        return self.map_nodes_to_values(n.args, n), dict(self.map_nodes_to_values(n.kwargs, n))

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """Returns an argument of a node with values in place of nodes."""
        return _plain(map_arg(args, self.env.__getitem__))


def _plain(a: Any) -> Any:
    """Returns lists and dicts that may be changed in place of those of nodes."""
    if isinstance(a, tuple):
        parts = [_plain(each) for each in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return [_plain(each) for each in a]
    return {name: _plain(each) for name, each in a.items()} if isinstance(a, dict) else a


class _TransformerTracer(Tracer):
    """Makes nodes for a transformer: every module is one step, and its tensors stay where they are."""

    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__()
        self.graph = graph
        self.root = root

    def create_arg(self, a: Any) -> Argument:
        """Returns a value as an argument of a node."""
        return map_aggregate(a, lambda each: each.node if isinstance(each, Proxy) else each)


class Transformer(Interpreter):
    """Makes a new graph of a graph, node by node; subclasses change what becomes of a node.

    Args:
        module: the module whose graph it is.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=module.graph._tracer_cls)
        self.tracer = _TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Makes an input of the new graph."""
        return self.tracer.create_proxy("placeholder", target, args[:1], {})

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Makes a node for an attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Makes a node of a call of a function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Makes a node of a call of a method."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Makes a node of a call of a module."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Returns a module with the new graph."""
        with LOCK, functions_ask():
            result = self.run()
        if result is not None:
            self.new_graph.output(self.tracer.create_arg(result))
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)
