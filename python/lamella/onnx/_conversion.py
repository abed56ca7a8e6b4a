"""Converting the nodes of a graph into those of an ONNX graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from lamella import DType, Tensor, int64
from lamella import bool as bool_
from lamella.graph import Graph, Node, Symbol
from lamella.graph._control_flow import Body, ControlFlow, control_flow_of
from lamella.graph._sizes import plain_sizes

from ._aliases import Aliases, moves, schema_of, written
from ._builder import Builder, Value, building, cast, op, reshape, sizes, tensor_proto
from ._registry import Converter, converters
from .converters.indexing import places_of

#: Layer and arguments of calls of custom layers, by the name of the first result.
Calls = dict[str, tuple[Any, Sequence[Any], dict[str, Any]]]


class Meta(NamedTuple):
    """Dtype and shape of a result, -1 for sizes that are known only when the model runs."""

    dtype: DType
    shape: tuple[int, ...]


def _meta(x: Tensor) -> Meta:
    return Meta(x.dtype, plain_sizes(x.shape))


class Conversion:
    """The conversion of a graph's nodes, in order."""

    def __init__(
        self,
        graph: Graph,
        builder: Builder,
        layers: Calls,
        dims: dict[str, list[int | str | None]],
    ) -> None:
        self.graph = graph
        self.builder = builder
        self.layers = layers
        self.captured = graph.captured
        self.values: dict[str, Value] = {}
        #: Node, number of the result and first argument of values that are views of others.
        self.views: dict[str, tuple[Node, int, str]] = {}
        for x in graph.inputs:
            self.values[x.name] = builder.value(x.name, x.dtype, dims.get(x.name, list(x.shape)))

    def run(self, outputs: Sequence[Symbol]) -> list[Value]:
        """Converts the nodes that the outputs need, and returns the outputs' values."""
        nodes = self.graph.nodes
        aliases = Aliases(nodes, {x.name for x in outputs}, set(self.captured))
        for i, node in enumerate(nodes):
            aliases.check(i, node)
        with building(self.builder):
            for i, node in enumerate(nodes):
                if i in aliases.needed:
                    self._convert(node)
                    for name in written(node):
                        self._write(name, node, aliases, i)
                    if moves(node):
                        base = node.arguments[0][1].name
                        self.views.update(
                            {x.name: (node, k, base) for k, x in enumerate(node.results) if x is not None}
                        )
            return [self._value(x) for x in outputs]

    def _write(self, name: str, node: Node, aliases: Aliases, i: int) -> None:
        """Gives a value that was written to, and those that share its memory, their new contents."""
        if not node.op.startswith("lamella::"):
            raise NotImplementedError(
                f"[onnx.export] {node.op} ({node.where}) writes to {name!r}, an argument: export knows custom "
                "operators that return new tensors"
            )
        result: Any = node.results[0]
        new = self.values[result.name]
        root = self._root(name)
        self.values[name] = new
        family = {root, *(view for view in self.views if self._root(view) == root)}
        # A view that is made later may be written to, and is then part of the whole again.
        if not (aliases.viewed_after(name, i) or any(aliases.used_after(x, i) for x in family - {name})):
            return
        if name != root:
            whole = self.values[root]
            flat = [reshape(x, [-1]) for x in (whole, self._places(name), new)]
            self.values[root] = reshape(op("ScatterElements", *flat, axis=0), sizes(whole))
        for view, (origin, k, base) in self.views.items():
            if view in family and view != name:
                self.values[view] = self._move(origin, k, self.values[base])

    def _root(self, name: str) -> str:
        while name in self.views:
            name = self.views[name][2]
        return name

    def _places(self, name: str) -> Value:
        """Returns where in its memory the elements of a value stand, as numbers in row-major order."""
        if name not in self.views:
            return places_of(self.values[name])
        node, k, base = self.views[name]
        return self._move(node, k, self._places(base))

    def _move(self, node: Node, k: int, value: Value) -> Value:
        """Returns result ``k`` of an operator that moves elements, of another argument."""
        name = node.arguments[0][1].name
        before, self.values[name] = self.values[name], value
        moved: Value = _flat(self._call(node, [x for x in node.results if x is not None]))[k]
        self.values[name] = before
        return moved

    def _value(self, x: Symbol) -> Value:
        if x.name not in self.values:
            tensor = self.captured[x.name]
            _check_dtype(x, x.name, "")
            self.values[x.name] = self.builder.initializer(tensor_proto(tensor, ""), x.name)
        return self.values[x.name]

    def _argument(self, x: Any) -> Any:
        if isinstance(x, Symbol):
            return self._value(x)
        if isinstance(x, (list, tuple)):
            return [self._argument(item) for item in x]
        return self.builder.constant(x) if isinstance(x, Tensor) else x

    def _convert(self, node: Node) -> None:
        builder = self.builder
        results = [x for x in node.results if x is not None]
        for x in results:
            _check_dtype(x, node.op, node.where)
        builder.source, builder.where = re.sub(r"\W+", "_", node.op.removeprefix("lamella::")), node.where
        builder.outputs = [_meta(x) for x in results]
        produced = self._call(node, results)
        values = _flat(produced)
        if len(values) != len(results):
            raise ValueError(
                f"[onnx.export] the converter of {node.op} returned {len(values)} values, and the operator has "
                f"{len(results)} results"
            )
        for x, value in zip(results, values, strict=True):
            if not isinstance(value, Value):
                raise TypeError(
                    f"[onnx.export] the converter of {node.op} returned {type(value).__name__}, not a Value"
                )
            # Only the rank of the graph's shape is used: a slice, x[:8], has fewer elements where the axis is shorter.
            self.values[x.name] = cast(value, x.dtype).refine([-1] * x.ndim)

    def _call(self, node: Node, results: list[Symbol]) -> Any:
        if node.kind == "gradients":
            raise NotImplementedError(
                f"[onnx.export] the gradients at {node.where} are computed on the tape: a model is exported for "
                "inference"
            )
        if node.kind == "function":
            flow = control_flow_of(self.graph, node.op)
            if flow is not None:
                return self._branches(flow, node) if flow.kind == "cond" else self._loop(flow, node)
            call = self.layers.get(results[0].name) if results else None
            if call is None:
                raise NotImplementedError(
                    f"[onnx.export] {node.op} ({node.where}) is a function that computes in Python, and ONNX cannot "
                    "call it: write it with operators"
                )
            layer, args, kwargs = call
            return self._apply(converters[layer], layer.__name__, results, list(args), dict(kwargs))
        arguments = [(name, self._argument(x)) for name, x in node.arguments]
        converter = converters.get(node.op) or converters.get(node.op.partition(".")[0])
        namespace, _, name = node.op.partition("::")
        if converter is None:
            if namespace in self.builder.custom_opsets:
                return self._custom_node(namespace, name, arguments, node)
            raise NotImplementedError(_without_converter(node))
        keyword_only = _keyword_only(node.op)
        positional = [x for name, x in arguments if name not in keyword_only]
        named = {name: x for name, x in arguments if name in keyword_only}
        if converter.keywords is not None:
            named = {name: x for name, x in named.items() if name in converter.keywords}
        return self._apply(converter, node.op, results, positional, named)

    def _body(self, body: Body, given: Sequence[Value]) -> list[Value]:
        """Converts a branch, or a function of a loop, into nodes of the subgraph that is being built."""
        inner = Conversion(body.graph, self.builder, self.layers, {})
        for x, value in zip(body.inputs, given, strict=True):
            inner.values[x.name] = value
        return inner.run(body.outputs)

    def _branches(self, flow: ControlFlow, node: Node) -> list[Value]:
        builder, outputs = self.builder, self.builder.outputs
        given = self._argument(node.arguments[0][1])
        branches = []
        for body, takes in zip(flow.bodies, flow.takes, strict=True):
            with builder.subgraph(f"{node.op}_branch") as part:
                part.finish(self._body(body, [given[i] for i in takes]))
            branches.append(part.proto)
        predicate = cast(reshape(given[0], []), bool_)
        attributes = {"then_branch": branches[0], "else_branch": branches[1]}
        return builder.emit_flow("If", [predicate], outputs, attributes)

    def _loop(self, flow: ControlFlow, node: Node) -> list[Value]:
        builder, outputs = self.builder, self.builder.outputs
        given = self._argument(node.arguments[0][1])
        carry = given[: flow.count]

        def run(k: int, values: Sequence[Value]) -> list[Value]:
            tensors = [*values, *given[flow.count :]]
            return self._body(flow.bodies[k], [tensors[i] for i in flow.takes[k]])

        def goes_on(values: Sequence[Value]) -> Value:
            return cast(reshape(run(0, values)[0], []), bool_)

        begin = goes_on(carry)
        with builder.subgraph(f"{node.op}_body") as part:
            part.take("iteration", int64, [])
            part.take("condition", bool_, [])
            inner = [part.take("carry", x.dtype, x.shape) for x in outputs]
            after = run(1, inner)
            part.finish([goes_on(after), *after])
        return builder.emit_flow("Loop", [None, begin, *carry], outputs, {"body": part.proto})

    def _apply(
        self, converter: Converter, name: str, results: list[Symbol], args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        args = [self._argument(x) for x in args]
        kwargs = {key: self._argument(x) for key, x in kwargs.items()}
        if converter.takes_outputs:
            outputs = [_meta(x) for x in results]
            kwargs["meta_outputs"] = outputs[0] if len(outputs) == 1 else outputs
        try:
            return converter.function(*args, **kwargs)
        except (ValueError, TypeError, NotImplementedError) as error:
            error.add_note(f"[onnx.export] while {name} ({self.builder.where}) was converted")
            raise

    def _custom_node(self, domain: str, name: str, arguments: list[tuple[str, Any]], node: Node) -> list[Value]:
        """Writes an operator as a node of its own operator set: tensors are inputs, others attributes."""
        inputs: list[Any] = []
        attributes: dict[str, Any] = {}
        for key, x in arguments:
            several = isinstance(x, list) and any(isinstance(item, Value) for item in x)
            if several or isinstance(x, Value):
                inputs += x if several else [x]
            elif isinstance(x, (int, float, str)) or (isinstance(x, list) and x):
                attributes[key] = int(x) if isinstance(x, bool) else x
            elif x is not None and x != []:
                raise TypeError(f"[onnx.export] {node.op}: {key}={x!r} cannot be an attribute of an ONNX node")
        return list(self.builder.emit(name, inputs, len(self.builder.outputs), domain, attributes))


def _keyword_only(op: str) -> set[str]:
    return {argument[0] for argument in schema_of(op) if argument[4]}


def _without_converter(node: Node) -> str:
    if node.op.startswith("lamella::"):
        return (
            f"[onnx.export] {node.op} ({node.where}) has no counterpart in ONNX: compute it outside of the model, or "
            f'register a converter: @lm.onnx.register_converter("{node.op}")'
        )
    namespace = node.op.partition("::")[0]
    return (
        f"[onnx.export] the custom operator {node.op} ({node.where}) has no converter: register one by "
        f'@lm.onnx.register_converter("{node.op}"), or pass custom_opsets={{"{namespace}": 1}} to make it a node of an '
        "operator set of its own"
    )


def _check_dtype(x: Tensor, name: str, where: str) -> None:
    if x.dtype.name.startswith("complex"):
        place = f" ({where})" if where else ""
        raise ValueError(
            f"[onnx.export] {name}{place} is {x.dtype.name}, and ONNX has no operators for complex numbers"
        )


def _flat(produced: Any) -> list[Any]:
    if isinstance(produced, (list, tuple)):
        return [x for item in produced for x in _flat(item)]
    return [] if produced is None else [produced]
