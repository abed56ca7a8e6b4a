"""Boxes of tensors: what is cut in any way is put together again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lamella as lm
from lamella.distributed._parts import Box, assemble

RNG = np.random.default_rng(8)
SHAPE = (5, 4, 3)
WHOLE = RNG.integers(0, 1000, SHAPE)


def boxes(cuts: tuple[int, ...], space: tuple[int, ...]) -> list[Box]:
    """Boxes that make up a space, cut into so many along each axis at random places."""
    edges = [
        [0, *sorted(RNG.choice(np.arange(1, size), n - 1, replace=False).tolist()), size]
        for n, size in zip(cuts, space, strict=True)
    ]
    ranges = [list(itertools.pairwise(one)) for one in edges]
    return [
        Box(SHAPE, space, tuple(a for a, _ in one), tuple(b - a for a, b in one)) for one in itertools.product(*ranges)
    ]


def values(box: Box) -> lm.Tensor:
    return lm.asarray(WHOLE.reshape(box.space)[box.slices].copy())


@pytest.mark.parametrize("cuts", [(1, 1, 1), (3, 1, 1), (2, 2, 3), (1, 4, 2), (1,), (2,), (7,)])
@pytest.mark.parametrize("wanted", [(1, 1, 1), (2, 1, 2), (5, 2, 1), (1,), (3,), (6,)])
def test_parts_are_put_together(cuts: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    flat = (WHOLE.size,)
    pieces = [(box, values(box)) for box in boxes(cuts, SHAPE if len(cuts) == 3 else flat)]
    pieces += pieces[:1]  # two processes have one part
    for box in boxes(wanted, SHAPE if len(wanted) == 3 else flat):
        expected = WHOLE.reshape(box.space)[box.slices]
        np.testing.assert_array_equal(assemble(pieces, box, "x").numpy(), expected)


def test_what_is_missing_is_named() -> None:
    first, *_ = boxes((2, 1, 1), SHAPE)
    whole = Box(SHAPE, SHAPE, (0, 0, 0), SHAPE)
    with pytest.raises(ValueError, match=r"the parts of 'w' have \d+ of the 60 elements"):
        assemble([(first, values(first))], whole, "w")
    row = Box(SHAPE, (60,), (0,), (60,))
    with pytest.raises(ValueError, match="'w' are cut in more than one way"):
        assemble([(first, values(first)), (row, values(row))], whole, "w")
