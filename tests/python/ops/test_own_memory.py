"""Functions that change nothing of some arguments give memory of its own, so that writes do not reach the argument."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import lamella as lm

UNCHANGING: dict[str, Callable[[lm.Tensor], lm.Tensor]] = {
    "nan_to_num": lm.nan_to_num,
    "round": lambda x: lm.round(x, 2),
    "clip": lm.clip,
    "clip, wide": lambda x: lm.clip(x, -1000, 1000),
    "diff": lambda x: lm.diff(x, n=0),
    "matrix_power": lambda x: lm.linalg.matrix_power(x, 1),
    "floor": lm.floor,
    "abs": lm.abs,
    "sort": lm.sort,
    "sum": lambda x: lm.sum(x, axis=()),
    "max": lambda x: lm.max(x, axis=()),
    "repeat": lambda x: lm.repeat(x, 1),
    "tile": lambda x: lm.tile(x, (1, 1)),
    "roll": lambda x: lm.roll(x, 0),
    "pad": lambda x: lm.pad(x, (0, 0)),
    "concat": lambda x: lm.concat([x]),
    "tril": lambda x: lm.tril(x, k=5),
    "astype": lambda x: x.astype(x.dtype),
}


@pytest.mark.parametrize("name", UNCHANGING)
def test_a_write_into_the_result_does_not_reach_the_argument(name: str) -> None:
    for dtype in ("int32", "int8"):
        x = lm.asarray([[1, 2], [3, 4]], dtype=dtype)
        y = UNCHANGING[name](x)
        y.mul_(0)
        assert x.tolist() == [[1, 2], [3, 4]]
