"""Calls of operators that are composed of others, for the tests of all kinds of derivatives and of vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm

from .moving import index, x

SEVERAL = index([1, -1, 0], [2, 0, -1])


def parts(z: lm.Tensor) -> list[lm.Tensor]:
    return [lm.real(z), lm.imag(z)]


def unpooled(axes: int) -> Callable[..., lm.Tensor]:
    function = getattr(lm, f"max_unpool{axes}d")
    places = lm.asarray(np.array([1, 2**axes]).reshape([1, 1, 2] + [1] * (axes - 1)))
    return lambda a: function(a * a, places, 2)


def pooled(axes: int) -> tuple[int, ...]:
    return (1, 1, 2) + (1,) * (axes - 1)


#: With arguments that have to be varied, as test_gradients and test_forward_mode want them.
CALLS: dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]] = {
    "dstack": [(lambda a, b: lm.dstack([a * a, b]), [x(2, 3), x(2, 3)])],
    "column_stack": [(lambda a, b: lm.column_stack([a * a, b]), [x(2), x(2, 3)])],
    "hsplit": [(lambda a: lm.hsplit(a * a, 2), [x(3, 4)])],
    "vsplit": [(lambda a: lm.vsplit(a * a, [1, 3]), [x(4, 2)])],
    "dsplit": [(lambda a: lm.dsplit(a * a, 2), [x(1, 2, 4)])],
    "fliplr": [(lambda a: lm.fliplr(a * a), [x(2, 3)])],
    "flipud": [(lambda a: lm.flipud(a * a), [x(3, 2)])],
    "rot90": [(lambda a, k=k: lm.rot90(a * a, k), [x(2, 3)]) for k in range(4)],
    "ravel": [(lambda a: lm.ravel(a * a), [x(2, 3)])],
    "unflatten": [(lambda a: lm.unflatten(a * a, 1, [2, -1]), [x(2, 4)])],
    "dynamic_reshape": [(lambda a: lm.dynamic_reshape(a * a, lm.asarray([-1, 4])), [x(2, 6)])],
    "dynamic_broadcast": [(lambda a: lm.dynamic_broadcast(a * a, lm.asarray([2, 3])), [x(2, 1)])],
    "dynamic_slice": [
        (lambda a: lm.dynamic_slice(a * a, lm.asarray(1), lm.asarray([-1]), axis=1), [x(2, 4)]),
        (lambda a: lm.dynamic_slice(a * a, lm.asarray(9), lm.asarray(-9), step=-2), [x(4)]),
    ],
    "sliding_window": [
        (lambda a: lm.sliding_window(a * a, 0, 3, 2), [x(7, 2)]),
        (lambda a: lm.sliding_window(a * a, 1, 2), [x(2, 4)]),
    ],
    "block_diag": [(lambda a, b: lm.block_diag(a * a, b), [x(2, 1), x(2)])],
    "cartesian_prod": [(lambda a, b: lm.cartesian_prod(a * a, b), [x(2), x(3)])],
    "combinations": [(lambda a: lm.combinations(a * a, 3, with_replacement=True), [x(3)])],
    "mm": [(lm.mm, [x(2, 3), x(3, 2)])],
    "mv": [(lm.mv, [x(2, 3), x(3)])],
    "bmm": [(lm.bmm, [x(2, 2, 3), x(2, 3, 1)])],
    "inner": [(lm.inner, [x(2, 3), x(2, 2, 3)]), (lm.inner, [x(2, 3), x()])],
    "addmm": [(lambda a, b, c: lm.addmm(a, b, c, beta=2, alpha=0.5), [x(2), x(3, 2), x(2, 2)])],
    "addmv": [(lambda a, b, c: lm.addmv(a, b, c, beta=0, alpha=0.5), [x(2), x(2, 3), x(3)])],
    "addr": [(lm.addr, [x(2, 1), x(2), x(3)])],
    "baddbmm": [(lambda a, b, c: lm.baddbmm(a, b, c, alpha=2), [x(2), x(2, 3, 2), x(2, 2, 2)])],
    "addbmm": [(lambda a, b, c: lm.addbmm(a, b, c, beta=2), [x(3, 1), x(2, 3, 2), x(2, 2, 2)])],
    "diag": [(lambda a: lm.diag(a * a, k=-1), [x(3)]), (lambda a: lm.diag(a * a, k=1), [x(3, 4)])],
    "diag_embed": [
        (lambda a: lm.diag_embed(a * a, offset=1), [x(2, 3)]),
        (lambda a: lm.diag_embed(a * a, offset=-2, axis1=0, axis2=1), [x(2, 3)]),
    ],
    "diagflat": [(lambda a: lm.diagflat(a * a, k=1), [x(2, 2)])],
    "diagonal_scatter": [
        (lambda a, s: lm.diagonal_scatter(a * a, s * s, offset=-1), [x(4, 3), x(3)]),
        (lambda a, s: lm.diagonal_scatter(a * a, s * s, axis1=2, axis2=0), [x(2, 2, 3), x(2, 2)]),
    ],
    "select_scatter": [(lambda a, s: lm.select_scatter(a * a, s * s, 1, -1), [x(2, 3), x(2)])],
    "slice_scatter": [(lambda a, s: lm.slice_scatter(a * a, s * s, 1, 0, None, 2), [x(2, 3), x(2, 2)])],
    "put": [
        (lambda a, s: lm.put(a * a, index(3, 0, 3), s * s, accumulate=True), [x(2, 3), x(3)]),
        (lambda a, s: lm.put(a * a, index(3, 0), s * s), [x(2, 3), x(2)]),
    ],
    "index_reduce": [
        (lambda a, s, r=r: lm.index_reduce(a * a, 1, index(2, 0, 2), s * s * s, r), [x(2, 3), x(2, 3, low=0.5)])
        for r in ("amax", "amin", "mean")
    ],
    "var_mean": [(lambda a: lm.var_mean(a * a, 1, 1.0), [x(2, 3)])],
    "std_mean": [(lambda a: lm.std_mean(a * a, 1), [x(2, 3)])],
    "aminmax": [(lambda a: lm.aminmax(a * a * a, axis=1), [x(2, 3)])],
    "trapezoid": [
        (lambda y, t: lm.trapezoid(y * y, t), [x(2, 3), x(3)]),
        (lambda y: lm.trapezoid(y * y, dx=0.5, axis=0), [x(2, 3)]),
    ],
    "cumulative_trapezoid": [(lambda y, t: lm.cumulative_trapezoid(y * y, t, axis=0), [x(3, 2), x(3, 2)])],
    "cov": [
        (lm.cov, [x(2, 3)]),
        (lambda a, w: lm.cov(a, fweights=index(1, 3, 2), aweights=w * w, correction=1), [x(2, 3), x(3, low=0.5)]),
        (lambda a: lm.cov(a, correction=0), [x(4)]),
    ],
    "corrcoef": [(lm.corrcoef, [x(3, 4)])],
    "xlog1py": [(lm.xlog1py, [x(2, 3), x(3, low=-0.5)])],
    "entr": [(lm.entr, [x(3, low=0.2)])],
    "ndtr": [(lm.ndtr, [x(4)])],
    "mvlgamma": [(lambda a: lm.mvlgamma(a, 3), [x(4, low=1.5, high=4.0)])],
    "ldexp": [(lambda a, b: lm.ldexp(a, b), [x(2, 3), x(3)])],
    "float_power": [(lm.float_power, [x(2, 3, low=0.3), x(3, low=-1.7)])],
    "complex": [(lambda a, b: parts(lm.square(lm.complex(a, b))), [x(2, 3), x(3)])],
    "polar": [(lambda a, b: parts(lm.square(lm.polar(a, b))), [x(2, 3, low=0.5), x(3)])],
    "real": [(lambda a, b: lm.real(lm.square(lm.complex(a, b))), [x(2, 3), x(3)])],
    "imag": [(lambda a, b: lm.imag(lm.square(lm.complex(a, b))), [x(2, 3), x(3)])],
    "view_as_real": [(lambda a, b: lm.view_as_real(lm.square(lm.complex(a, b))), [x(2, 3), x(2, 3)])],
    "view_as_complex": [
        (lambda a: parts(lm.square(lm.view_as_complex(a))), [x(3, 2)]),
        (lambda a: parts(lm.square(lm.view_as_complex(lm.swapaxes(lm.square(a), 0, 1)))), [x(3, 2, 2)]),
    ],
    "cdist": [(lambda a, b, p=p: lm.cdist(a, b, p), [x(2, 3), x(4, 3, low=-1.7)]) for p in (1.0, 2.0, 3.0)],
    "pdist": [(lambda a, p=p: lm.pdist(a, p), [x(4, 3)]) for p in (2.0, 3.0)],
    "dist": [(lambda a, b, p=p: lm.dist(a, b, p), [x(2, 3), x(3, low=-1.7)]) for p in (2.0, 3.0)],
    "normalize": [(lambda a: lm.normalize(a * a), [x(2, 3)]), (lambda a: lm.normalize(a, 3.0, 0), [x(2, 3)])],
    "renorm": [(lambda a: lm.renorm(a * a, 2.0, 0, 1.5), [x(3, 2)])],
    "multilabel_margin_loss": [(lambda a: lm.multilabel_margin_loss(a * a * a, SEVERAL), [x(2, 3)])],
    "multilabel_soft_margin_loss": [
        (lambda a, t, w: lm.multilabel_soft_margin_loss(a, t, w), [x(2, 3), x(2, 3, low=0.2, high=0.8), x(3)])
    ],
    "bilinear": [(lm.bilinear, [x(2, 3), x(2, 2), x(2, 3, 2), x(2)])],
    "channel_shuffle": [(lambda a: lm.channel_shuffle(a * a, 2), [x(1, 4, 2)])],
    **{f"max_unpool{axes}d": [(unpooled(axes), [x(*pooled(axes))])] for axes in (1, 2, 3)},
    "gradient": [(lambda a: lm.gradient(a * a, spacing=0.5, edge_order=2), [x(3, 4)])],
    "frexp": [(lambda a: lm.frexp(a * a + 0.3)[0] * a, [x(2, 3)])],
    "unique_consecutive": [(lambda a: lm.unique_consecutive(a * a, axis=0), [x(3, 2)])],
    "nanquantile": [(lambda a: lm.nanquantile(a * a * a, 0.3, 1), [x(2, 4)])],
    "percentile": [(lambda a: lm.percentile(a * a * a, 30.0, 1), [x(2, 4)])],
    "nanpercentile": [(lambda a: lm.nanpercentile(a * a * a, index(10.0, 60.0), 0), [x(3, 2)])],
}

WITHOUT_GRADIENT = {
    *("tril_indices", "triu_indices", "argwhere", "isposinf", "isneginf", "isreal", "gcd", "lcm", "bucketize"),
    *("unravel_index", "ravel_multi_index", "histc", "histogramdd", "nonzero_static", "shape_of", "dynamic_shape"),
}

#: A function and the shapes of its arguments for one example, as test_vmap has them.
CASES: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "dstack": [(lambda a, b: lm.dstack([a, b]), ((2, 3), (2, 3)))],
    "column_stack": [(lambda a, b: lm.column_stack([a, b]), ((2,), (2, 3)))],
    "hsplit": [(lambda a: lm.hsplit(a, 2), ((3, 4),))],
    "vsplit": [(lambda a: lm.vsplit(a, [1, 3]), ((4, 2),))],
    "dsplit": [(lambda a: lm.dsplit(a, 2), ((1, 2, 4),))],
    "fliplr": [(lm.fliplr, ((2, 3),))],
    "flipud": [(lm.flipud, ((3, 2),))],
    "rot90": [(lambda a: lm.rot90(a, 3), ((2, 3),))],
    "ravel": [(lm.ravel, ((2, 3),))],
    "unflatten": [(lambda a: lm.unflatten(a, 1, [2, -1]), ((2, 4),))],
    "sliding_window": [(lambda a: lm.sliding_window(a, 1, 3, 2), ((2, 7),))],
    "block_diag": [(lambda a, b: lm.block_diag(a, b), ((2, 1), (2,)))],
    "cartesian_prod": [(lambda a, b: lm.cartesian_prod(a, b), ((2,), (3,)))],
    "combinations": [(lambda a: lm.combinations(a), ((4,),))],
    "mm": [(lm.mm, ((2, 3), (3, 2)))],
    "mv": [(lm.mv, ((2, 3), (3,)))],
    "bmm": [(lm.bmm, ((2, 2, 3), (2, 3, 1)))],
    "inner": [(lm.inner, ((2, 3), (4, 3)))],
    "addmm": [(lambda a, b, c: lm.addmm(a, b, c, beta=2), ((2,), (3, 2), (2, 2)))],
    "addmv": [(lm.addmv, ((2,), (2, 3), (3,)))],
    "addr": [(lm.addr, ((2, 1), (2,), (3,)))],
    "baddbmm": [(lm.baddbmm, ((2,), (2, 3, 2), (2, 2, 2)))],
    "addbmm": [(lm.addbmm, ((2,), (2, 3, 2), (2, 2, 2)))],
    "diag": [(lambda a: lm.diag(a, k=1), ((3,),)), (lm.diag, ((3, 4),))],
    "diag_embed": [(lambda a: lm.diag_embed(a, offset=-1, axis1=0), ((2, 3),))],
    "diagflat": [(lm.diagflat, ((2, 2),))],
    "diagonal_scatter": [(lambda a, s: lm.diagonal_scatter(a, s, offset=1), ((3, 3), (2,)))],
    "select_scatter": [(lambda a, s: lm.select_scatter(a, s, 1, 0), ((2, 3), (2,)))],
    "slice_scatter": [(lambda a, s: lm.slice_scatter(a, s, 1, 1), ((2, 3), (2, 2)))],
    "put": [(lambda a, s, i: lm.put(a, i, s, accumulate=True), ((2, 3), (4,), ((4,), 0, 6)))],
    "index_reduce": [(lambda a, s, i: lm.index_reduce(a, 1, i, s, "amax"), ((2, 3), (2, 4), ((4,), 0, 3)))],
    "var_mean": [(lambda a: lm.var_mean(a, 1), ((2, 3),))],
    "std_mean": [(lambda a: lm.std_mean(a, 1), ((2, 3),))],
    "aminmax": [(lambda a: lm.aminmax(a, axis=1), ((2, 3),))],
    "trapezoid": [(lambda y, t: lm.trapezoid(y, t), ((2, 3), (3,)))],
    "cumulative_trapezoid": [(lambda y: lm.cumulative_trapezoid(y, dx=0.5), ((2, 3),))],
    "cov": [(lm.cov, ((2, 3),))],
    "corrcoef": [(lm.corrcoef, ((2, 4),))],
    "shape_of": [(lambda a: lm.shape_of(a), ((2, 3),))],
    "dynamic_shape": [(lambda a: lm.dynamic_shape([lm.shape_of(a)[1]], [-2, 2]), ((2, 3),))],
    "dynamic_reshape": [(lambda a: lm.dynamic_reshape(a, lm.asarray([3, -1])), ((2, 3),))],
    "dynamic_broadcast": [(lambda a: lm.dynamic_broadcast(a, lm.asarray([2, 3])), ((3,),))],
    "dynamic_slice": [(lambda a: lm.dynamic_slice(a, lm.asarray(1), 3, axis=1), ((2, 4),))],
    "dynamic_interpolate": [
        (lambda a: lm.dynamic_interpolate(a, lm.asarray([3, 5]), mode="bilinear"), ((1, 2, 2, 3),))
    ],
    "bucketize": [(lambda a: lm.bucketize(a, lm.asarray([-1.0, 0.0, 1.0], dtype="float64")), ((2, 3),))],
    "isposinf": [(lm.isposinf, ((2, 3),))],
    "isneginf": [(lm.isneginf, ((2, 3),))],
    "isreal": [(lm.isreal, ((2, 3),))],
    "gcd": [(lm.gcd, (((2, 3), -9, 9), ((3,), -9, 9)))],
    "lcm": [(lm.lcm, (((2, 3), -9, 9), ((3,), -9, 9)))],
    "xlog1py": [(lambda a, b: lm.xlog1py(a, b * b), ((2, 3), (3,)))],
    "entr": [(lambda a: lm.entr(a * a), ((2, 3),))],
    "ndtr": [(lm.ndtr, ((2, 3),))],
    "mvlgamma": [(lambda a: lm.mvlgamma(a * a + 1, 2), ((2, 3),))],
    "ldexp": [(lm.ldexp, ((2, 3), (3,)))],
    "float_power": [(lambda a, b: lm.float_power(a * a, b), ((2, 3), (3,)))],
    "complex": [(lambda a, b: parts(lm.complex(a, b)), ((2, 3), (3,)))],
    "polar": [(lambda a, b: parts(lm.polar(a, b)), ((2, 3), (3,)))],
    "real": [(lambda a, b: lm.real(lm.square(lm.complex(a, b))), ((2, 3), (2, 3)))],
    "imag": [(lambda a, b: lm.imag(lm.square(lm.complex(a, b))), ((2, 3), (2, 3)))],
    "view_as_real": [(lambda a, b: lm.view_as_real(lm.complex(a, b)), ((2, 3), (2, 3)))],
    "view_as_complex": [(lambda a: parts(lm.view_as_complex(lm.clone(a))), ((3, 2),))],
    "cdist": [(lm.cdist, ((2, 3), (4, 3)))],
    "pdist": [(lm.pdist, ((4, 3),))],
    "dist": [(lm.dist, ((2, 3), (3,)))],
    "normalize": [(lm.normalize, ((2, 3),))],
    "renorm": [(lambda a: lm.renorm(a, 2.0, 0, 1.5), ((3, 2),))],
    "multilabel_margin_loss": [(lambda a: lm.multilabel_margin_loss(a, SEVERAL), ((2, 3),))],
    "multilabel_soft_margin_loss": [(lm.multilabel_soft_margin_loss, ((2, 3), (2, 3)))],
    "bilinear": [(lm.bilinear, ((2, 3), (2, 2), (2, 3, 2)))],
    "channel_shuffle": [(lambda a: lm.channel_shuffle(a, 2), ((1, 4, 2),))],
    **{f"max_unpool{axes}d": [(unpooled(axes), (pooled(axes),))] for axes in (1, 2, 3)},
    "gradient": [(lambda a, p: lm.gradient(a, spacing=[2.0, lm.cumsum(p * p + 1, 0)]), ((2, 3), (3,)))],
    "frexp": [(lm.frexp, ((2, 3),))],
    "nonzero_static": [
        (lambda a: lm.nonzero_static(a > 0, size=4), ((2, 3),)),
        (lambda a: lm.nonzero_static(a, size=9, fill_value=5), ((2, 3),)),
        (lambda a: lm.nonzero_static(a, size=1), ((0, 3),)),
    ],
    "unravel_index": [(lambda i: lm.unravel_index(i, (2, 3)), (((4,), 0, 6),))],
    "ravel_multi_index": [(lambda i, j: lm.ravel_multi_index([i, j], (2, 3)), (((4,), 0, 2), ((2, 1), 0, 3)))],
    "nanquantile": [(lambda a: lm.nanquantile(a, 0.3, 1), ((2, 4),))],
    "percentile": [(lambda a: lm.percentile(a, 30.0, 1), ((2, 4),))],
    "nanpercentile": [(lambda a: lm.nanpercentile(a, 60.0, 0), ((3, 2),))],
}
