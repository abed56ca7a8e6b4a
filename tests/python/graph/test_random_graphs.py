"""Random programs, eager, as graphs, fused and not, read from the graph's text, and compiled: the same bits.

Only the gradients of fused graphs may be rounded otherwise, as they are summed in another order.

For more programs than the test has: `python tests/python/graph/test_random_graphs.py COUNT [FIRST]`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lamella as lm

Values = list[lm.Tensor]
Step = Callable[[Values], lm.Tensor]


class Square(lm.PyLayer):
    """x * x by a layer of its own, in the middle of a graph."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: lm.Tensor) -> lm.Tensor:
        (x,) = ctx.saved_tensor()
        return 2 * grad * x


UNARY: list[Callable[..., Any]] = [
    *(lm.tanh, lm.sigmoid, lm.exp, lm.sin, lm.cos, lm.relu, lm.abs, lm.square, lm.negative, lm.atan, lm.softplus),
    *(lm.silu, lm.expm1, lm.erf, lm.sign, lm.floor, lm.gelu, lm.asinh, lm.clone),
]
BINARY: list[Callable[..., Any]] = [
    lm.add,
    lm.subtract,
    lm.multiply,
    lm.maximum,
    lm.minimum,
    lm.atan2,
    lm.hypot,
    lm.logaddexp,
]
COMPARISONS: list[Callable[..., Any]] = [lm.less, lm.greater_equal, lm.equal, lm.not_equal]


def shrink(x: lm.Tensor) -> lm.Tensor:
    """Keeps numbers near 0, so that no program overflows."""
    return x / (1 + lm.abs(x))


def step(rng: random.Random) -> Step:
    """Draws a step: it computes a tensor of shape (4, 6) from tensors of that shape."""
    kind = rng.randrange(17)
    at = [rng.random() for _ in range(3)]

    def pick(values: Values, k: int) -> lm.Tensor:
        return values[int(at[k] * len(values))]

    if kind < 5:
        unary = rng.choice(UNARY)
        return lambda values: shrink(unary(pick(values, 0)))
    if kind < 8:
        binary = rng.choice(BINARY)
        return lambda values: shrink(binary(pick(values, 0), pick(values, 1)))
    number = round(rng.uniform(-2, 2), 3)
    compare = rng.choice(COMPARISONS)
    axis = rng.randrange(2)
    steps: list[Step] = [
        lambda values: pick(values, 0) * number + 0.5,
        lambda values: lm.where(compare(pick(values, 0), number), pick(values, 1), pick(values, 2)),
        lambda values: pick(values, 0) - lm.mean(pick(values, 1), axis=axis, keepdims=True),
        lambda values: lm.softmax(pick(values, 0), axis=axis),
        lambda values: shrink((pick(values, 0) @ pick(values, 1).T) @ pick(values, 2)),
        lambda values: lm.concat([pick(values, 0)[:, :2], pick(values, 1)[:, 2:]], axis=1),
        lambda values: (
            pick(values, 0)[::-1].reshape([-1, 2, 3]).permute_dims((0, 2, 1)).reshape([-1, 6]) + pick(values, 1)
        ),
        lambda values: Square.apply(pick(values, 0)),
        lambda values: (pick(values, 0) * 1).add_(pick(values, 1)).mul_(0.5),
    ]
    return rng.choice(steps)


def program(seed: int) -> tuple[Callable[[Sequence[lm.Tensor]], list[lm.Tensor]], list[np.ndarray]]:
    """A function of three tensors that returns two, and arguments for it."""
    rng = random.Random(seed)
    steps = [step(rng) for _ in range(rng.randint(3, 30))]
    dtype = rng.choice(["float32", "float64"])
    arrays = [np.random.default_rng(seed + k).normal(size=(4, 6)).astype(dtype) for k in range(3)]

    def f(inputs: Sequence[lm.Tensor]) -> list[lm.Tensor]:
        values = list(inputs)
        for one in steps:
            values.append(one(values))
        return values[-2:]

    return f, arrays


def check(seed: int) -> None:
    f, arrays = program(seed)
    inputs = [lm.tensor(a, stop_gradient=False) for a in arrays]
    expected = f(inputs)
    targets = [y.sum() for y in expected]
    differentiable = [y for y in targets if not y.stop_gradient]
    grads = lm.grad(differentiable, inputs, materialize_grads=True)
    graph = lm.graph.Graph(f"program {seed}")
    symbols = [graph.input(f"x{k}", x.dtype, [-1, 6] if seed % 2 else x.shape) for k, x in enumerate(inputs)]
    for symbol in symbols:
        symbol.stop_gradient = False
    with lm.graph.recording(graph):
        results: list[Any] = list(f(symbols))
        sums: list[Any] = [y.sum() for y in results]
    wanted = graph.gradients([s for s, y in zip(sums, targets, strict=True) if not y.stop_gradient], symbols)
    feeds = {f"x{k}": x.detach() for k, x in enumerate(inputs)}
    fetches = [*results, *[g for g in wanted if g is not None]]
    answers = [*expected, *[g for g, symbol in zip(grads, wanted, strict=True) if symbol is not None]]
    assert all(not g.any() for g, symbol in zip(grads, wanted, strict=True) if symbol is None)
    close = 1e-4 if arrays[0].dtype == np.float32 else 1e-11
    for fuse in (True, False):
        for k, (got, answer) in enumerate(zip(graph.run(feeds, fetches, fuse=fuse), answers, strict=True)):
            tolerance = close if fuse and k >= len(results) else 0.0
            np.testing.assert_allclose(
                got.detach().numpy(), answer.detach().numpy(), tolerance, tolerance, err_msg=f"{seed} fuse={fuse}"
            )
    values = graph.run(feeds, results, prune=True)
    for got, answer in zip(values, expected, strict=True):
        np.testing.assert_array_equal(got.detach().numpy(), answer.detach().numpy(), f"{seed} alone")
    if "function" not in graph.text():
        parsed = lm.graph.Graph.parse(graph.text(), graph.captured)
        for got, answer in zip(parsed.run(feeds, [x.name for x in fetches], fuse=False), answers, strict=True):
            np.testing.assert_array_equal(got.detach().numpy(), answer.detach().numpy(), f"{seed} parsed")

    check_compiled(seed, f, arrays, expected, grads, close)


def check_compiled(
    seed: int,
    f: Callable[[Sequence[lm.Tensor]], list[lm.Tensor]],
    arrays: list[np.ndarray],
    expected: Sequence[lm.Tensor],
    grads: Sequence[lm.Tensor],
    close: float,
) -> None:
    compiled = lm.compile(f)
    for call in range(4):
        inputs = [lm.tensor(a, stop_gradient=False) for a in arrays]
        results = compiled(inputs)
        for got, answer in zip(results, expected, strict=True):
            np.testing.assert_array_equal(got.detach().numpy(), answer.detach().numpy(), f"{seed} call {call}")
        targets = [y.sum() for y in results if not y.stop_gradient]
        for got, answer in zip(lm.grad(targets, inputs, materialize_grads=True), grads, strict=True):
            np.testing.assert_allclose(got.numpy(), answer.numpy(), close, close, err_msg=f"{seed} call {call}")
    explanation = lm.compile.explain(compiled)
    assert len(explanation.graphs) == 1 and not explanation.breaks, f"{seed}: {explanation}"


def check_gradients_within(seed: int) -> None:
    """The compiled function takes gradients itself: of some results, with seeds that are there before, made on the way
    or ones, with respect to inputs and to other results."""
    f, arrays = program(seed)
    rng = np.random.default_rng(seed)
    expected = f([lm.tensor(a, stop_gradient=False) for a in arrays])
    reached = [k for k, y in enumerate(expected) if not y.stop_gradient and y.dtype.name.startswith("float")]
    if not reached:
        return
    targets = [int(k) for k in rng.choice(reached, rng.integers(1, len(reached) + 1), replace=False)]
    asked = [k for k in reached if rng.integers(3) == 0]
    ways = rng.integers(0, 3, len(targets))
    seeds = [rng.standard_normal(expected[k].shape).astype(expected[k].dtype.name) for k in targets]

    def function(inputs: list[lm.Tensor], given: list[lm.Tensor]) -> list[lm.Tensor]:
        results = f(inputs)
        seeds = [
            seed if way == 0 else seed * 2 if way == 1 else lm.ones_like(seed)
            for seed, way in zip(given, ways, strict=True)
        ]
        sources = [*inputs, *(results[k] for k in asked)]
        return [*results, *lm.grad([results[k] for k in targets], sources, seeds, materialize_grads=True)]

    close = 1e-4 if arrays[0].dtype == np.float32 else 1e-11
    compiled = lm.compile(function)
    for call in range(4):
        answers = [
            run([lm.tensor(a, stop_gradient=False) for a in arrays], [lm.tensor(a) for a in seeds])
            for run in (compiled, function)
        ]
        for got, answer in zip(*answers, strict=True):
            np.testing.assert_allclose(
                got.detach().numpy(), answer.detach().numpy(), close, close, err_msg=f"{seed} within, call {call}"
            )


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_random_programs_with_gradients_within(first: int) -> None:
    for seed in range(first, first + 50):
        check_gradients_within(seed)


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + 50):
        check(seed)


if __name__ == "__main__":
    count = int(sys.argv[1])
    begin = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failures = 0
    for number in range(begin, begin + count):
        try:
            check(number)
            check_gradients_within(number)
        except Exception as error:  # every failure is counted, whatever it is
            failures += 1
            print(number, type(error).__name__, str(error).splitlines()[0][:200], flush=True)
    print(count, "programs,", failures, "that differ")
    sys.exit(failures > 0)
