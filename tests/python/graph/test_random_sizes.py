"""Random programs that compute with open sizes: recorded once, and as eager ones for every size.

For more programs than the test has: `python -m graph.test_random_sizes COUNT [FIRST]` in tests/python.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.graph import Graph

#: Sizes of the input, both of them open.
SIZES = [(2, 3), (1, 1), (4, 2), (3, 5)]


def some_size(rng: random.Random, sizes: list[Any]) -> Any:
    one, other = rng.choice(sizes), rng.choice(sizes)
    forms: list[Callable[[], Any]] = [
        *(lambda: one, lambda: one + 2, lambda: 3 * one, lambda: one // 2, lambda: one + other, lambda: one * other),
        *(lambda: one, lambda: one % 3 + 1),
    ]
    return rng.choice(forms)()


def some_slice(rng: random.Random, size: Any) -> slice:
    return rng.choice(
        [slice(None, size), slice(size, None), slice(None, None, -1), slice(size, 0, -1), slice(-size, None)]
    )


def step(rng: random.Random, x: Any, sizes: list[Any], others: list[Any]) -> Any:
    """Returns the result of a random operator, or x itself where it makes something else."""
    size, axis = some_size(rng, sizes), rng.randrange(x.ndim)
    before, behind = list(x.shape[:axis]), list(x.shape[axis + 1 :])
    kind = rng.randrange(11)
    if kind == 0:
        return x[(*[slice(None)] * axis, some_slice(rng, size))]
    if kind == 1:
        return lm.concat([x, x * 2], axis=axis)
    if kind == 2:
        return x + lm.arange(x.shape[-1])
    if kind == 3:
        return lm.reshape(x, [x.shape[-1], *x.shape[:-1]])
    if kind == 4:
        return lm.broadcast_to(lm.expand_dims(x, axis), [*before, size, x.shape[axis], *behind])
    if kind == 5:
        return lm.tile(x, [size] + [1] * (x.ndim - 1))
    if kind == 6:
        return x * size / (size + 1)
    if kind == 7:
        others += [lm.zeros([size, 2]) + size, lm.arange(size, size + some_size(rng, sizes), rng.choice([1, 2]))]
    if kind == 8:
        sizes.append(x.shape[axis])
    if kind == 9:
        return lm.reshape(lm.swapaxes(x, 0, axis), [-1])
    if kind == 10:
        x = x * 1
        x[(*[slice(None)] * axis, slice(None, size))] = 1.5
    return x


def program(seed: int) -> Callable[[Any], list[Any]]:
    """Returns a program that is the same in each call."""

    def call(x: Any) -> list[Any]:
        rng = random.Random(seed)
        sizes, others = list(x.shape), []
        for _ in range(rng.randint(2, 7)):
            x = step(rng, x, sizes, others)
        return [x, *others]

    return call


def check(seed: int) -> None:
    function = program(seed)
    graph = Graph("sizes")
    x = graph.input("x", "float32", [-1, -1])
    with lm.graph.recording(graph):
        results = function(x)
    for sizes in SIZES:
        given = lm.asarray(np.random.default_rng(seed).standard_normal(sizes).astype("float32"))
        for want, found in zip(function(given), graph.run({"x": given}, results), strict=True):
            assert found.shape == want.shape and found.dtype == want.dtype, (seed, sizes)
            np.testing.assert_allclose(found.numpy(), want.numpy(), 1e-5, 1e-5, err_msg=f"{seed}, {sizes}")


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)


if __name__ == "__main__":
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for seed in range(first, first + count):
        check(seed)
    print(count, "programs, 0 that differ")
