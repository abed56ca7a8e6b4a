"""Calls of the operators that move and pick elements, for the tests of all kinds of derivatives and of vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm


def x(*shape: int, low: float = -2.0, high: float = 2.0) -> lm.Tensor:
    """A leaf of distinct values, in an order that no formula follows."""
    values = np.linspace(low, high, int(np.prod(shape)))
    return lm.tensor(np.random.default_rng(3).permutation(values).reshape(shape), stop_gradient=False)


def index(*values: Any) -> lm.Tensor:
    return lm.asarray(np.array(values))


MASK = index([True, False, True], [False, True, True])
#: Numbers along axis 1 of [2, 3], with one that comes twice.
ALONG = index([2, 0, 2], [1, 1, 0])


def reduced(reduce: str, include_self: bool) -> Callable[..., lm.Tensor]:
    return lambda a, s: lm.scatter_reduce(a * a * a, 1, ALONG, s * s * s, reduce, include_self=include_self)


#: With arguments that have to be varied, as test_gradients and test_forward_mode want them.
CALLS: dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]] = {
    "gather": [
        (lambda a: lm.gather(a * a, 1, ALONG), [x(2, 3)]),
        (lambda a: lm.gather(a * a, 0, index([1, 0], [1, 1])), [x(2, 3)]),
    ],
    "scatter": [
        (lambda a, s: lm.scatter(a * a, 1, ALONG, s * s), [x(2, 3), x(2, 4, low=0.5)]),
        (lambda a: lm.scatter(a * a, 0, index([1, 0]), 2.0), [x(2, 3)]),
    ],
    "scatter_add": [(lambda a, s: lm.scatter_add(a * a, 1, ALONG, s * s), [x(2, 3), x(2, 4, low=0.5)])],
    "scatter_reduce": [
        (reduced(reduce, include_self), [x(2, 3), x(2, 3, low=-1.9, high=2.3)])
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for include_self in (True, False)
    ],
    "put_along_axis": [
        (lambda a, s: lm.put_along_axis(a * a, ALONG, s * s, 1, "add"), [x(2, 3), x(1, 3, low=0.5)]),
        (lambda a, s: lm.put_along_axis(a * a, index([-1], [0]), s * s, 1), [x(2, 3), x(2, 1, low=0.5)]),
    ],
    "index_select": [(lambda a: lm.index_select(a * a, 1, index(2, 0, 2)), [x(2, 3)])],
    "index_add": [
        (lambda a, s: lm.index_add(a * a, 1, index(2, 0, 2), s * s, alpha=3), [x(2, 3), x(2, 3, low=0.5)]),
        (lambda a, s: lm.index_add(a * a, 0, index(1, 1), s * s), [x(2, 3), x(2, 3, low=0.5)]),
    ],
    "index_copy": [(lambda a, s: lm.index_copy(a * a, 1, index(2, 0, 2), s * s), [x(2, 3), x(2, 3, low=0.5)])],
    "index_fill": [
        (lambda a, v: lm.index_fill(a * a, 1, index(2, 0), v * v), [x(2, 3), x()]),
        (lambda a: lm.index_fill(a * a, 0, index(1), 2.0), [x(2, 3)]),
    ],
    "index_put": [
        (lambda a, s: lm.index_put(a * a, [index(1, 0, 1), index(2, 0, 2)], s * s, accumulate=True), [x(2, 3), x(3)]),
        (lambda a, s: lm.index_put(a * a, [index(1, 0, 1), index(2, 0, 2)], s * s), [x(2, 3), x(3)]),
        (lambda a, s: lm.index_put(a * a, [MASK], s * s, accumulate=True), [x(2, 3), x(4)]),
    ],
    "masked_select": [(lambda a: lm.masked_select(a * a, MASK), [x(2, 3)])],
    "masked_scatter": [(lambda a, s: lm.masked_scatter(a * a, MASK, s * s), [x(2, 3), x(5)])],
    "masked_fill": [(lambda a, v: lm.masked_fill(a * a, MASK, v * v), [x(2, 3), x()])],
    "moveaxis": [(lambda a: lm.moveaxis(a * a, [0, 2], [1, 0]), [x(2, 3, 2)])],
    "repeat": [
        (lambda a: lm.repeat(a * a, 2, axis=1), [x(2, 3)]),
        (lambda a: lm.repeat(a * a, index(2, 0, 1), axis=1), [x(2, 3)]),
        (lambda a: lm.repeat(a * a, 3), [x(2, 2)]),
    ],
    "tile": [(lambda a: lm.tile(a * a, [2, 1, 2]), [x(2, 3)])],
    "unstack": [(lambda a: lm.unstack(a * a, axis=1), [x(2, 3)])],
    "chunk": [(lambda a: lm.chunk(a * a, 2, axis=1), [x(2, 3)])],
    "tensor_split": [(lambda a: lm.tensor_split(a * a, [1, 3], axis=1), [x(2, 4)])],
    "narrow": [(lambda a: lm.narrow(a * a, 1, 1, 2), [x(2, 3)])],
    "select": [(lambda a: lm.select(a * a, 1, -1), [x(2, 3)])],
    "hstack": [(lambda a, b: lm.hstack([a * a, b]), [x(2, 3), x(2, 1)])],
    "vstack": [(lambda a, b: lm.vstack([a * a, b]), [x(3), x(2, 3)])],
    "atleast_1d": [(lambda a: lm.atleast_1d(a * a), [x()])],
    "atleast_2d": [(lambda a: lm.atleast_2d(a * a), [x(3)])],
    "atleast_3d": [(lambda a: lm.atleast_3d(a * a), [x(3)])],
    "broadcast_arrays": [(lambda a, b: lm.broadcast_arrays(a * a, b), [x(2, 1), x(3)])],
    "meshgrid": [(lambda a, b: lm.meshgrid(a * a, b), [x(2), x(3)])],
}

#: A function and the shapes of its arguments for one example, as test_vmap has them.
CASES: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "gather": [(lambda a, i: lm.gather(a, 1, i), ((2, 3), ((2, 4), 0, 3)))],
    "scatter": [(lambda a, s, i: lm.scatter(a, 0, i, s), ((3,), (4,), ((4,), 0, 3)))],
    "scatter_add": [(lambda a, s, i: lm.scatter_add(a, 1, i, s), ((2, 3), (2, 4), ((2, 4), 0, 3)))],
    "scatter_reduce": [
        (lambda a, s, i, r=r: lm.scatter_reduce(a, 1, i, s, r), ((2, 3), (2, 2), ((2, 2), 0, 3)))
        for r in ("sum", "prod", "mean", "amax")
    ],
    "put_along_axis": [(lambda a, s, i: lm.put_along_axis(a, i, s, 0), ((3, 2), (1, 2), ((1, 2), 0, 3)))],
    "index_select": [(lambda a, i: lm.index_select(a, 1, i), ((2, 3), ((4,), 0, 3)))],
    "index_add": [(lambda a, s, i: lm.index_add(a, 1, i, s), ((2, 3), (2, 4), ((4,), 0, 3)))],
    "index_copy": [(lambda a, s, i: lm.index_copy(a, 0, i, s), ((3, 2), (4, 2), ((4,), 0, 3)))],
    "index_fill": [(lambda a, v, i: lm.index_fill(a, 0, i, v), ((3, 2), (), ((2,), 0, 3)))],
    "index_put": [
        (lambda a, s, i: lm.index_put(a, [i, i], s, accumulate=True), ((3, 3), (4,), ((4,), 0, 3))),
        (lambda a, s, i: lm.index_put(a, [i], s), ((3, 2), (2,), ((4,), 0, 3))),
    ],
    "masked_select": [(lambda a: lm.masked_select(a, MASK), ((2, 3),))],
    "masked_scatter": [(lambda a, s: lm.masked_scatter(a, MASK, s), ((2, 3), (4,)))],
    "masked_fill": [(lambda a, m, v: lm.masked_fill(a, m, v), ((2, 3), ((3,), "bool"), ()))],
    "moveaxis": [(lambda a: lm.moveaxis(a, 0, -1), ((2, 3, 2),))],
    "repeat": [
        (lambda a: lm.repeat(a, 2, axis=1), ((2, 3),)),
        (lambda a: lm.repeat(a, index(2, 0, 1), axis=1), ((2, 3),)),
    ],
    "tile": [(lambda a: lm.tile(a, [2, 1, 2]), ((2, 3),))],
    "unstack": [(lambda a: lm.unstack(a, axis=1), ((2, 3),))],
    "chunk": [(lambda a: lm.chunk(a, 2, axis=1), ((2, 3),))],
    "tensor_split": [(lambda a: lm.tensor_split(a, 2, axis=1), ((2, 3),))],
    "narrow": [(lambda a: lm.narrow(a, 1, 1, 2), ((2, 3),))],
    "select": [(lambda a: lm.select(a, 0, 1), ((2, 3),))],
    "hstack": [(lambda a, b: lm.hstack([a, b]), ((2, 3), (2, 1)))],
    "vstack": [(lambda a, b: lm.vstack([a, b]), ((3,), (2, 3)))],
    "atleast_1d": [(lm.atleast_1d, ((),))],
    "atleast_2d": [(lm.atleast_2d, ((3,),))],
    "atleast_3d": [(lm.atleast_3d, ((2, 3),))],
    "broadcast_arrays": [(lambda a, b: lm.broadcast_arrays(a, b), ((2, 1), (3,)))],
    "meshgrid": [(lambda a, b: lm.meshgrid(a, b), ((2,), (3,)))],
}
