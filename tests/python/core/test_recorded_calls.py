"""What a graph's recorder takes for a node, and what it does not."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.library import custom_op
from support.layers import Cube


def recorded(f: Any, *shapes: list[int]) -> tuple[lm.graph.Graph, Any]:
    graph = lm.graph.Graph()
    symbols = [graph.input(f"x{i}", lm.float32, shape) for i, shape in enumerate(shapes)]
    with lm.graph.recording(graph):
        results = f(*symbols)
    return graph, results


def test_shapes_that_depend_on_elements_leave_no_trace() -> None:
    """They are found by calls on samples, in which tensors that the graph has captured take part."""

    def f(x: lm.Tensor) -> lm.Tensor:
        y = x * 1
        y[y > 0] = 0.0
        return y

    graph, y = recorded(f, [3, 4])
    assert [node.op for node in graph.nodes] == [f"lamella::{name}" for name in ("multiply", "greater", "set_index_")]
    x = lm.randn([3, 4])
    [got] = graph.run({"x0": x}, [y])
    assert got.tolist() == f(x).tolist()


def test_a_generator_among_the_arguments() -> None:
    graph, _ = recorded(lambda x: lm.dropout(x, 0.5, generator=lm.Generator(seed=1)), [4])
    [node] = graph.nodes
    assert dict(node.arguments)["generator"] is None and "generator=Generator" in graph.text()


def test_an_operator_without_results() -> None:
    @custom_op("recorded_test::fill_with", mutates_args={"x"})
    def fill_with(x: lm.Tensor, value: float) -> None:
        x.fill_(value)

    @fill_with.register_fake
    def _(x: lm.Tensor, value: float) -> None:
        return None

    def f(x: lm.Tensor) -> lm.Tensor:
        y = x * 1
        assert fill_with(y, 2.0) is None
        return y + 1

    graph, y = recorded(f, [2])
    assert graph.run({"x0": lm.ones([2])}, [y], prune=True)[0].tolist() == [3, 3]


def test_layers_that_are_recorded_by_their_operators() -> None:
    graph = lm.graph.Graph()
    x = graph.input("x", lm.float32, [2])
    calls = []

    def inline(layer: Any, args: Any, kwargs: Any) -> Any:
        calls.append((layer, kwargs))
        return args[0] * 3

    graph._recorder.inline_layer = inline
    with lm.graph.recording(graph):
        Cube.apply(x)
    assert calls == [(Cube, {})]
    graph._recorder.inline_layer = None
    with lm.graph.recording(graph):
        Cube.apply(x)
    assert [node.kind for node in graph.nodes] == ["operator", "function"]


def test_recurrent_networks_of_any_batch() -> None:
    lstm, cell = lm.nn.LSTM(3, 4, num_layers=2), lm.nn.GRUCell(3, 4)
    graph, results = recorded(lambda x: (lstm(x)[0], cell(x[0])), [5, -1, 3])
    for n in (1, 6):
        x = lm.randn([5, n, 3])
        states, h = graph.run({"x0": x}, list(results))
        assert states.tolist() == lstm(x)[0].tolist() and h.tolist() == cell(x[0]).tolist()
