"""Operators of the OneFlow dialect as nodes of graphs: their sizes, and those without inputs."""

import numpy as np
import pytest

import lamella as lm
from lamella.user_op import numpy_op


def test_an_operator_without_inputs_is_a_node_that_runs_each_time():
    numbers = iter(range(100))
    count = numpy_op(
        "graph_counts",
        lambda args: np.float32([next(numbers)]),
        inputs=[],
        outputs=["out"],
        infer=lambda given: [((1,), lm.float32)],
    )
    graph = lm.graph.Graph()
    with lm.graph.recording(graph):
        assert lm.graph.recorded_graph() is graph
        y = count() * 10
        with lm.graph.not_recording():
            assert lm.graph.recorded_graph() is None
            assert count().tolist() == [0]
    assert lm.graph.recorded_graph() is None
    # Recording computes nothing.
    assert [graph.run({}, [y])[0].item() for _ in range(2)] == [10, 20]
    assert count().tolist() == [3]


def test_sizes_are_those_of_the_infer_function():
    calls = []

    def pairs(args):
        calls.append(args[0].shape)
        return np.concatenate([args[0], args[0]]), np.float64([args[0].sum()])

    twice = numpy_op(
        "graph_pairs",
        pairs,
        lambda args: args[1][: len(args[0])] + args[1][len(args[0]) :] + np.float32(args[2]),
        outputs=["y", "total"],
        infer=lambda given: [((2 * given[0][0][0], *given[0][0][1:]), given[0][1]), ((1,), lm.float64)],
    )
    graph = lm.graph.Graph()
    x = graph.input("x", lm.float32, [-1, 3])
    x.stop_gradient = False
    with lm.graph.recording(graph):
        y, total = twice(x)
        loss = lm.sum(y)
    assert (y.shape, y.dtype, total.shape, total.dtype) == ((-1, 3), lm.float32, (1,), lm.float64)
    assert not calls
    (dx,) = graph.gradients(loss, x)
    value, sums, slope = graph.run({"x": lm.ones([2, 3])}, [y, total, dx])
    assert value.shape == (4, 3) and sums.tolist() == [6] and slope.tolist() == [[2.0] * 3] * 2
    assert graph.run({"x": lm.ones([5, 3])}, [y])[0].shape == (10, 3)


def _first_two(args):
    return args[0][:2]


@lm.library.custom_op("graph::first_two", mutates_args=())
def _registered_first_two(x: lm.Tensor) -> lm.Tensor:
    return x[:2].clone()


@_registered_first_two.register_fake
def _(x):
    return lm.empty((min(2, x.shape[0]), *x.shape[1:]), dtype=x.dtype, device=x.device)


class _LayerOfFirstTwo(lm.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x[:2].clone()

    @staticmethod
    def backward(ctx, g):
        return g


def _shape_of_first_two(given):
    ((rows, *rest), dtype), *_ = given
    return [((min(rows, 2), *rest), dtype)]


def _shape_of_two_at_least(given):
    ((rows, *rest), dtype), *_ = given
    if rows < 2:
        raise ValueError("two rows are wanted")
    return [((2, *rest), dtype)]


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        (numpy_op("graph_first_two", _first_two, infer=_shape_of_first_two), -1),
        (numpy_op("graph_two_at_least", _first_two, infer=_shape_of_two_at_least), 2),
        (_registered_first_two, -1),
        (_LayerOfFirstTwo.apply, -1),
        (lambda x: x[:2], -1),
        (lambda x: x[:1], 1),
    ],
    ids=["user operator", "that refuses one row", "registered", "layer", "slice", "slice of one"],
)
def test_sizes_that_are_the_smaller_of_a_number_and_an_open_size(function, rows):
    graph = lm.graph.Graph()
    x = graph.input("x", lm.float32, [-1, 3])
    with lm.graph.recording(graph):
        y = function(x)
    assert y.shape == (rows, 3)
    for given in (1, 2, 5) if rows < 2 else (2, 5):
        value = lm.reshape(lm.arange(given * 3, dtype=lm.float32), [given, 3])
        limit = 1 if rows == 1 else 2
        assert graph.run({"x": value}, [y])[0].tolist() == value[:limit].tolist()
