"""Random programs that write into views of views in ONNX, beside the eager numbers.

For more programs than the test has: `python -m export.test_onnx_views COUNT [FIRST]` in tests/python.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .running import check as onnx_check
from .running import compare

#: Views of a tensor with rows of 4.
OF_ROWS: list[Callable[[Any], Any]] = [
    lambda x: x[0],
    lambda x: x[-1:],
    lambda x: x[:, ::-1],
    lambda x: x[1:, :-1],
    lambda x: x[..., None],
    lambda x: x[: x.shape[0] - 1],
    lambda x: x[x.shape[0] // 2 :, 1:],
    lambda x: lm.flip(x, 0),
    lambda x: lm.narrow(x, 1, 1, 2),
    lambda x: lm.split(x, 2, axis=1)[1],
]
#: Views of a tensor with two axes.
OF_TWO: list[Callable[[Any], Any]] = [
    lambda x: x.mT,
    lambda x: lm.expand_dims(x, 0),
    lambda x: lm.swapaxes(x, 0, 1),
    lambda x: x[::-1],
    lambda x: x[:, : x.shape[0] // 2],
]
#: Views of a tensor with axes.
OF_ANY: list[Callable[[Any], Any]] = [lambda x: x[...], lambda x: x[None], lambda x: x[1:], lambda x: x[::2]]
WRITES: list[Callable[[Any, Any], Any]] = [
    lambda x, by: x.multiply_(by),
    lambda x, by: x.add_(by),
    lambda x, by: x.fill_(by),
    lambda x, by: x.copy_(x * by + 1),
    lambda x, by: x.__setitem__(slice(1, None), by),
    lambda x, by: x.__setitem__(..., x[...] * by - 1),
    lambda x, by: x.__iadd__(by),
    lambda x, by: x.tanh_(),
]


def program(seed: int) -> Callable[[lm.Tensor], Any]:
    """Returns a program that is the same in each call."""

    def call(x: lm.Tensor) -> Any:
        rng = random.Random(seed)
        base = x * 1
        held, read = [base], []
        for _ in range(rng.randint(4, 14)):
            one = rng.choice([held[-1], rng.choice(held)])
            kind = rng.random()
            if kind < 0.45:
                views = OF_ROWS if one is base else OF_TWO if one.ndim == 2 else OF_ANY
                held.append(rng.choice(views)(one) if one.ndim else base)
            elif kind < 0.95:
                rng.choice(WRITES)(one if one.ndim else base, rng.choice([0.25, 2.0, -1.5]))
            else:
                read.append(one + 1)
        return [*read, *(each * 1 for each in rng.sample(held, min(rng.randint(1, 3), len(held))))]

    return call


def check(seed: int) -> bool:
    """Compares one program; returns False for one that has more than an exported model can."""
    function = program(seed)
    draw = np.random.default_rng(seed).standard_normal
    some, more = (lm.asarray(draw((rows, 4)).astype("float32")) for rows in (4, 5))
    try:
        onnx_check(function, [some], opset_version=18)
        model = lm.onnx.export(function, (some,), opset_version=18, dynamic_axes={"x": [0]})
    except ValueError as error:
        if "which may share memory with" not in str(error):
            raise
        return False
    for x in (some, more):
        compare(function, [x], model)
    return True


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_random_views(first: int) -> None:
    assert sum(check(seed) for seed in range(first, first + 25)) >= 15


if __name__ == "__main__":
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    print(sum(check(seed) for seed in range(first, first + count)), "of", count)
