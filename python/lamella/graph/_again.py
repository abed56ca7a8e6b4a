"""Records a graph once more, as a part of another one: of a loaded program that is called while one is recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import lamella as lm
from lamella import _C
from lamella._C import Tensor

from ._control_flow import Body, ControlFlow
from ._graph import Graph, Node
from ._recorder import Recorder, _Operator, operator_named
from ._symbol import Symbol


def record_again(graph: Graph, given: Mapping[str, Tensor], outputs: Sequence[Symbol]) -> list[Tensor]:
    """Calls the operators of a graph one after the other, for a recorder to see.

    Args:
        graph: what is computed; what it has captured takes part as it is.
        given: a tensor for each of the inputs that are needed, by name.
        outputs: the results to return, values of the graph.

    Raises:
        RuntimeError: a step is a function of Python's, which no other graph can hold.
    """
    recorder = _C._recorder()
    # As values of the other graph: what is computed of parameters alone is computed in each run, too.
    kept = {name: recorder._symbol(x) if isinstance(recorder, Recorder) else x for name, x in graph.captured.items()}
    known: dict[str, Tensor] = {**kept, **given}
    functions = iter(graph._functions)
    for node in graph.nodes:
        function = next(functions) if node.kind == "function" else None
        with lm.no_grad() if node.no_grad else contextlib.nullcontext():
            made = _call(graph, node, function, known)
        for symbol, value in zip(node.results, made, strict=True):
            if symbol is not None:
                known[symbol.name] = value
    return [known[symbol.name] for symbol in outputs]


def _call(graph: Graph, node: Node, function: Any, known: Mapping[str, Tensor]) -> list[Any]:
    """Returns the results of a node, those of a list one after another."""

    def of(value: Any) -> Any:
        if isinstance(value, Symbol):
            return known[value.name]
        return [of(item) for item in value] if isinstance(value, list) else value

    if node.kind == "operator":
        op = _Operator(operator_named(node.op))
        values = [of(value) for _, value in node.arguments]
        recorder, kept = _C._recorder(), node.results[0] if node.results else None
        if node.op.startswith("lamella::dynamic_") and isinstance(recorder, Recorder) and kept is not None:
            # Its sizes are elements of a tensor, so that no samples of the operands tell them.
            type_ = graph._described(kept._id)
            samples = [recorder.graph._sample(type_.shape, type_.dtype, k) for k in range(2)]
            return [recorder._record(op, values, samples)]
        result = op.run(values)
        results = [result] if len(node.list_sizes) == 1 else list(result or ())
        return [x for one in results for x in (one if isinstance(one, (list, tuple)) else [one])]
    if not isinstance(function, ControlFlow):
        raise RuntimeError(
            f"[{graph.name}] the step '{node.op}' ({node.where}) is a function of Python's, which no other graph holds"
        )
    tensors = of(node.arguments[0][1])
    bodies = [
        _Again(body, [tensors[i] for i in takes]) for body, takes in zip(function.bodies, function.takes, strict=True)
    ]
    if function.kind == "cond":
        return list(lm.cond(tensors[0], bodies[0], bodies[1]))
    carry = tensors[: function.count]
    for body, takes in zip(bodies, function.takes, strict=True):
        body.carried = [(k, place) for k, place in enumerate(takes) if place < function.count]
    return list(lm.while_loop(lambda *now: bodies[0](*now)[0], bodies[1], carry))


class _Again:
    """A branch, or a function of a loop, that is recorded again.

    Args:
        body: the graph of it.
        tensors: what it takes.
    """

    def __init__(self, body: Body, tensors: list[Tensor]) -> None:
        self._body = body
        self._tensors = tensors
        #: Positions among what it takes of the loop's parts, and their positions there.
        self.carried: list[tuple[int, int]] = []

    def __call__(self, *now: Tensor) -> tuple[Tensor, ...]:
        tensors = list(self._tensors)
        for k, place in self.carried:
            tensors[k] = now[place]
        given = {symbol.name: x for symbol, x in zip(self._body.inputs, tensors, strict=True)}
        return tuple(record_again(self._body.graph, given, self._body.outputs))
