"""Fused elementwise operators: what is joined, what is not, and derivatives of every order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm


def record(f: Callable[..., Any], *shapes: list[int], dtype: str = "float64") -> tuple[lm.graph.Graph, list[Any], Any]:
    graph = lm.graph.Graph("fusion")
    inputs = [graph.input(f"x{i}", dtype, shape) for i, shape in enumerate(shapes)]
    for x in inputs:
        x.stop_gradient = False
    with lm.graph.recording(graph):
        return graph, inputs, f(*inputs)


def kinds(graph: lm.graph.Graph, *fetches: Any) -> list[str]:
    return [node.op for node in graph.fused(list(fetches)).nodes]


def chain(x: Any) -> Any:
    return lm.sigmoid(lm.tanh(x * 2 + 1)) - x


def test_a_chain_becomes_one_node() -> None:
    graph, _, y = record(chain, [-1, 3])
    assert kinds(graph, y) == ["fused multiply-add-tanh-sigmoid-subtract"]


def test_what_is_read_elsewhere_is_computed_too() -> None:
    graph, _, (y, z) = record(lambda x: (lm.exp(x) + 1, lm.exp(x).sum()), [4])
    a = lm.tensor([0.0, 1.0, 2.0, 3.0], dtype="float64")
    got = graph.run({"x0": a}, [y, z])
    np.testing.assert_array_equal(got[0].numpy(), (lm.exp(a) + 1).numpy())
    np.testing.assert_array_equal(got[1].numpy(), lm.exp(a).sum().numpy())


@pytest.mark.parametrize(
    ("f", "nodes"),
    [
        (lambda x: lm.exp(x.sum() * 2.0 + 1.0), 4),  # single numbers are not worth it
        (lambda x: lm.exp((x * 2).astype("float32")), 3),  # another dtype
        (lambda x: (x * 2)[:, None] + x[:, None] * lm.ones([3], dtype="float64"), 5),  # another shape
        (lambda x: lm.hardtanh(lm.hardtanh(x)), 2),  # settings that a call checks
    ],
)
def test_what_is_not_joined(f: Callable[..., Any], nodes: int) -> None:
    graph, _, y = record(f, [4])
    assert len(kinds(graph, y)) == nodes


def test_a_write_between_two_operators_keeps_its_place() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        z = lm.exp(y)
        y.add_(1)
        return z + lm.tanh(y)

    graph, _, y = record(f, [3])
    a = lm.tensor([0.1, 0.2, 0.3], dtype="float64")
    np.testing.assert_array_equal(graph.run({"x0": a}, [y])[0].numpy(), (lm.exp(a * 2) + lm.tanh(a * 2 + 1)).numpy())


def test_a_write_after_a_chain_spoils_no_gradient() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        z = lm.exp(y * 2)  # its gradient needs z, and not y
        y.add_(1)
        return (z * y).sum()

    graph, (x,), total = record(f, [3])
    grad: Any = graph.gradients(total, x)[0]
    leaf = lm.tensor([0.1, 0.2, 0.3], dtype="float64", stop_gradient=False)
    (want,) = lm.grad([f(leaf)], [leaf])
    np.testing.assert_array_equal(graph.run({"x0": leaf.detach()}, [grad])[0].numpy(), want.numpy())


@pytest.mark.parametrize("size", [1, 7, 255, 4096, 100_003])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sizes(size: int, dtype: str) -> None:
    graph, (x,), y = record(lambda x: lm.where(chain(x) > 0.2, chain(x), -x), [-1], dtype=dtype)
    grad: Any = graph.gradients(y, x, [lm.ones([size], dtype=dtype)])[0]
    a = lm.asarray(np.random.default_rng(1).normal(size=size).astype(dtype))
    for k, (got, want) in enumerate(
        zip(graph.run({"x0": a}, [y, grad]), graph.run({"x0": a}, [y, grad], fuse=False), strict=True)
    ):
        close = 0 if k == 0 else 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), close, close)


def test_second_and_third_derivatives() -> None:
    graph, (x,), y = record(chain, [5])
    with lm.graph.recording(graph):
        total: Any = y.sum()
    found: list[Any] = []
    for _ in range(3):
        slope: Any = graph.gradients(total, x)[0]
        found.append(slope)
        with lm.graph.recording(graph):
            total = (slope * slope).sum()
    a = lm.asarray(np.linspace(-1, 1, 5))
    want = graph.run({"x0": a}, found, fuse=False)
    for got, expected in zip(graph.run({"x0": a}, found), want, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), 1e-12, 1e-12)
    leaf = lm.tensor(a.numpy(), stop_gradient=False)
    (first,) = lm.grad([chain(leaf).sum()], [leaf], create_graph=True)
    (second,) = lm.grad([(first * first).sum()], [leaf])
    np.testing.assert_allclose(want[1].detach().numpy(), second.numpy(), 1e-12)


def test_operands_that_the_program_cannot_take_are_called_one_by_one() -> None:
    graph, _, y = record(lambda a, b: lm.tanh(a * b) + a, [-1, 3], [-1, 3])
    a = lm.asarray(np.arange(6.0).reshape(2, 3))
    b = lm.asarray(np.arange(3.0).reshape(1, 3))  # its unknown size turns out to be broadcast
    np.testing.assert_array_equal(graph.run({"x0": a, "x1": b}, [y])[0].numpy(), (lm.tanh(a * b) + a).numpy())
    t = lm.asarray(np.arange(6.0).reshape(3, 2)).T
    np.testing.assert_array_equal(graph.run({"x0": t, "x1": a}, [y])[0].numpy(), (lm.tanh(t * a) + t).numpy())


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics_are_read_before_they_are_updated(name: str) -> None:
    def run(x: lm.Tensor, mean: lm.Tensor, var: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
        y = lm.tanh(mean) * 2
        if name == "batch_norm":
            z = lm.batch_norm(x, mean, var, training=True)
        else:
            z = lm.instance_norm(x, running_mean=mean, running_var=var)
        return lm.sin(y) + mean, z

    given = [np.random.default_rng(k).normal(size=size) for k, size in enumerate([(2, 4, 3), (4,), (4,)])]
    results = []
    for recorded in (False, True):
        x, mean, var = (lm.tensor(array) for array in given)
        if recorded:
            graph = lm.graph.Graph()
            symbol = graph.input("x", lm.float64, [2, 4, 3])
            with lm.graph.recording(graph):
                values: Any = run(symbol, mean, var)
            results.append([y.numpy() for y in graph.run({"x": x}, list(values))])
        else:
            results.append([y.numpy() for y in run(x, mean, var)])
    for got, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(got, expected)
