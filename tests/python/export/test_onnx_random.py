"""Random programs of 3 to 30 operators in ONNX, beside the eager numbers, with a number of rows that varies.

For more programs than the test has: `python -m export.test_onnx_random COUNT [FIRST]` in tests/python.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import numpy as np
import pytest

import lamella as lm

from .running import compare

Op = Callable[..., lm.Tensor]
#: Operators that keep the shape [rows, 4], all of them continuous: rounding may not decide what they give.
UNARY: list[Op] = [
    *(lm.tanh, lm.sigmoid, lm.relu, lm.abs, lm.negative, lm.square, lm.sin, lm.erf, lm.exp2, lm.atan, lm.silu),
    *(lm.gelu, lm.softsign, lm.mish, lm.softmax, lm.log_softmax, lm.elu, lm.hardswish, lm.softplus, lm.clone),
    lambda x: lm.sqrt(lm.abs(x) + 0.1),
    lambda x: lm.clip(x, -1.0, 0.5),
    lambda x: lm.cumsum(x, 1),
    lambda x: lm.sort(x, axis=1),
    lambda x: lm.flip(x, 1),
    lambda x: lm.roll(x, 1, 1),
    lambda x: lm.layer_norm(x, 4),
    lambda x: x - lm.mean(x, axis=1, keepdims=True),
    lambda x: x / (1 + lm.max(lm.abs(x), axis=0)),
    lambda x: x * lm.var(x, axis=1)[:, None],
    lambda x: lm.concat([x[:, 2:], x[:, :2]], axis=1),
    lambda x: lm.reshape(lm.swapaxes(lm.reshape(x, [-1, 2, 2]), 1, 2), [-1, 4]),
    lambda x: lm.take(x, lm.asarray([3, 0, 0, 1]), axis=1),
    lambda x: lm.pad(x, (1, 1))[:, :-2],
    lambda x: lm.where(x > 0.2, x, 0.2),
    lambda x: lm.stack([x, -x], axis=1).sum(1) + x,
    lambda x: lm.tril(x) + lm.triu(x, k=1),
    lambda x: lm.tile(x[:, :2], [1, 2]),
    lambda x: lm.quantile(x, 0.3, axis=1, keepdims=True) + x,
    lambda x: lm.logsumexp(x, axis=0) * 0.1 + x,
    lambda x: x[:, [1, 0, 3, 2]],
    lambda x: x @ lm.asarray(np.linspace(-0.5, 0.5, 16, dtype="float32").reshape(4, 4)),
]
BINARY: list[Op] = [
    *(lm.add, lm.subtract, lm.multiply, lm.maximum, lm.minimum, lm.fmax, lm.hypot, lm.logaddexp, lm.squared_difference),
    lambda a, b: a / (lm.abs(b) + 0.5),
    lambda a, b: lm.where(a < b, a, b),
    lambda a, b: a * lm.relu(b) * (b > 0),
    lambda a, b: lm.concat([a[:, :1], b[:, 1:]], axis=1),
    lambda a, b: a @ (b.mT @ b) / 8,
    lambda a, b: lm.lerp(a, b, 0.3),
    lambda a, b: lm.einsum("ij,ij->i", a, b)[:, None] + a,
]


def write(rng: random.Random, x: lm.Tensor, y: lm.Tensor) -> None:
    """Writes into x, or a part of it."""
    kind = rng.randrange(6)
    if kind == 0:
        x[:, rng.randrange(4)] = y[:, 0]
    elif kind == 1:
        x[0] += 1.5
    elif kind == 2:
        x.mul_(0.5)
    elif kind == 3:
        x.T[1:3].sub_(0.25)
    elif kind == 4:
        x[x > 1] = 1.0
    else:
        x[:, 1:3].copy_(y[:, 2:])


def program(seed: int) -> Callable[[lm.Tensor, lm.Tensor], list[lm.Tensor]]:
    """A program of two matrices: the same operators in each call."""

    def run(a: lm.Tensor, b: lm.Tensor) -> list[lm.Tensor]:
        rng = random.Random(seed)
        values = [a, b]
        for _ in range(rng.randint(3, 30)):
            kind = rng.random()
            if kind < 0.5:
                values.append(rng.choice(UNARY)(rng.choice(values)))
            elif kind < 0.9:
                values.append(rng.choice(BINARY)(rng.choice(values), rng.choice(values)))
            else:
                target, source = rng.choice(values) * 1, rng.choice(values)
                write(rng, target, source)
                values.append(target)
            # Sizes of the numbers stay where float32 tells them apart.
            values[-1] = lm.clip(values[-1], -8.0, 8.0)
        return [values[-1], *rng.sample(values, 2)]

    return run


def check(seed: int) -> None:
    f = program(seed)
    rng = np.random.default_rng(seed)
    inputs = [[lm.asarray(rng.normal(size=(n, 4)).astype("float32")) for _ in range(2)] for n in (5, 2)]
    model = lm.onnx.export(f, tuple(inputs[0]), dynamic_axes={"a": {0: "rows"}, "b": {0: "rows"}})
    for given in inputs:
        compare(f, given, model, {"rtol": 2e-3, "atol": 2e-3})


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)


def main(count: int, first: int = 0) -> None:
    """Checks that many programs and prints those that differ."""
    for seed in range(first, first + count):
        try:
            check(seed)
        except Exception as error:
            print(seed, type(error).__name__, *str(error).splitlines()[:12])


if __name__ == "__main__":
    main(*(int(x) for x in sys.argv[1:]))
