"""Operators whose sizes are known only when the model runs, among them sizes of 0 and 1: the eager numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .running import compare

F = lm.nn.functional


def x(*shape: int) -> lm.Tensor:
    return lm.asarray(np.random.default_rng(sum(shape)).normal(size=shape).astype("float32"))


def i(*numbers: Any) -> lm.Tensor:
    return lm.asarray(np.array(numbers))


#: A function, and inputs of which the first are those of the example. Axes whose sizes differ among them are open.
Case = tuple[Callable[..., Any], list[list[lm.Tensor]]]

LOSSES: dict[str, Case] = {
    **{
        f"cross_entropy {reduction}": (
            lambda a, t, reduction=reduction: F.cross_entropy(a, t, label_smoothing=0.2, reduction=reduction),
            [[x(4, 3), i(0, 1, 2, 1)], [x(5, 6), i(5, 0, 3, 2, 1)], [x(1, 2), i(1)]],
        )
        for reduction in ("mean", "sum", "none")
    },
    "cross_entropy with weights": (
        lambda a, t, w: F.cross_entropy(a, t, lm.exp(w), label_smoothing=0.2),
        [[x(4, 3), i(0, 1, 2, 1), x(3)], [x(5, 6), i(5, 0, 3, 2, 1), x(6)]],
    ),
    "cross_entropy of probabilities": (
        lambda a, t: F.cross_entropy(a, lm.softmax(t, 1), label_smoothing=0.2),
        [[x(4, 3), x(4, 3)], [x(5, 6), x(5, 6)]],
    ),
    "cross_entropy of sequences": (
        lambda a, t: F.cross_entropy(a, t, label_smoothing=0.1),
        [[x(2, 5, 3), i([0, 1, 4], [3, 2, 1])], [x(1, 2, 4), i([0, 1, 1, 0])]],
    ),
    "multi_margin_loss": (F.multi_margin_loss, [[x(4, 3), i(0, 1, 2, 1)], [x(5, 6), i(5, 0, 3, 2, 1)]]),
    "multilabel_margin_loss": (
        F.multilabel_margin_loss,
        [[x(2, 3), i([2, 0, -1], [1, -1, 0])], [x(3, 4), i([0, 1, 2, 3], [-1, 0, 0, 0], [2, -1, 0, 0])]],
    ),
    "kl_div": (lambda a: F.kl_div(a, lm.sigmoid(a), reduction="batchmean"), [[x(4, 3)], [x(2, 5)]]),
    "mse_loss of nothing": (lambda a: F.mse_loss(a, a * 2), [[x(4, 3)], [x(0, 3)]]),
    "multilabel_soft_margin_loss": (
        lambda a: F.multilabel_soft_margin_loss(a, lm.sigmoid(a)),
        [[x(4, 3)], [x(2, 5)], [x(0, 3)]],
    ),
}
EMPTY: list[list[lm.Tensor]] = [[x(4, 3)], [x(0, 3)], [x(1, 3)], [x(2, 0)]]
REDUCTIONS: dict[str, Case] = {
    **{
        f"{name} of axis {axis}": (lambda a, name=name, axis=axis: getattr(lm, name)(a, axis=axis), EMPTY)
        for name in ("any", "all", "mean", "sum", "prod", "logsumexp", "count_nonzero", "var", "nansum", "nanmean")
        for axis in (None, 0, 1, (0, 1))
        if (name, axis) != ("prod", (0, 1))
    },
    "any of bools": (lambda a: lm.any(a > 0, axis=0, keepdims=True), EMPTY),
    "all of bools": (lambda a: lm.all(a > 0, axis=1), EMPTY),
    "max of bools": (lambda a: lm.max(a > 0, axis=0), [[x(4, 3)], [x(2, 5)]]),
    "allclose": (lambda a: lm.allclose(a, a), EMPTY),
    "isin": (lm.isin, [[x(4, 3), x(3)], [x(0, 3), x(2)], [x(2, 3), x(0)]]),
    **{
        f"variance, correction {c}": (
            lambda a, c=c: [lm.var(a, axis=0, correction=c), lm.std(a, correction=c), *lm.var_mean(a, 1, correction=c)],
            [[x(4, 3)], [x(1, 3)], [x(2, 3)], [x(1, 1)], [x(0, 3)]],
        )
        for c in (0, 1, 2, 5)
    },
    **{
        f"covariance, correction {c}": (
            lambda a, w, c=c: [lm.cov(a, correction=c), lm.cov(a, correction=c, fweights=w)],
            [[x(2, 3), i(1, 2, 1)], [x(2, 1), i(1)], [x(2, 2), i(1, 1)]],
        )
        for c in (1, 2, 5)
    },
}
SHAPES: dict[str, Case] = {
    **{
        f"diagonal {k}": (lambda a, k=k: lm.diagonal(a, offset=k), [[x(3, 3)], [x(2, 4)], [x(5, 2)], [x(0, 3)]])
        for k in (-2, 0, 1, 5)
    },
    "trace": (lm.trace, [[x(3, 3)], [x(2, 4)], [x(4, 2)]]),
    "inner": (lm.inner, [[x(2, 3), x(4, 3)], [x(3, 5), x(2, 5)]]),
    "fold": (lambda a: F.fold(a, (3, 4), 2, padding=1), [[x(2, 8, 20)], [x(1, 12, 20)]]),
    "cumulative_sum": (lambda a: lm.cumulative_sum(a, axis=0, include_initial=True), EMPTY),
    "flatten of a slice": (
        lambda a: [lm.flatten(a[:3]), lm.ravel(a[:3]), a[:3].reshape([3, -1])],
        [[x(4, 3)], [x(2, 3)]],
    ),
    "unflatten of a slice": (lambda a: lm.unflatten(a[:4], 0, (2, -1)), [[x(6, 3)], [x(2, 3)]]),
    "heads in groups": (
        lambda q, k: lm.scaled_dot_product_attention(q, k, k, enable_gqa=True, scale=0.3),
        [[x(2, 4, 3, 8), x(2, 2, 5, 8)], [x(2, 6, 3, 8), x(2, 3, 5, 8)], [x(2, 2, 3, 8), x(2, 1, 5, 8)]],
    ),
    "heads in groups of a known key": (
        lambda q, k: lm.scaled_dot_product_attention(q, k, k, enable_gqa=True),
        [[x(1, 4, 3, 8), x(1, 2, 5, 8)], [x(1, 2, 3, 8), x(1, 2, 5, 8)]],
    ),
    "bags": (
        lambda n, w, o: [F.embedding_bag(n, w, o, mode=m, include_last_offset=True) for m in ("sum", "mean", "max")],
        [
            [i(0, 1, 2, 3, 1, 0), x(4, 3), i(0, 2, 2, 5)],
            [i(0, 1, 2), x(4, 3), i(0, 3)],
            [i(3, 1, 2), x(4, 3), i(0, 1, 1, 1, 2)],
        ],
    ),
    "bags without a row": (
        lambda n, w, o: F.embedding_bag(n, w, o, mode="sum", padding_idx=-3),
        [[i(0, 1, 2, 3, 1, 0), x(4, 3), i(0, 2, 2)], [i(0, 1, 2), x(5, 3), i(0, 1)]],
    ),
}


@pytest.mark.parametrize(
    ("f", "inputs"), [pytest.param(*case, id=name) for name, case in {**LOSSES, **REDUCTIONS, **SHAPES}.items()]
)
def test_open_sizes(f: Callable[..., Any], inputs: list[list[lm.Tensor]]) -> None:
    names = [f"x{k}" for k in range(len(inputs[0]))]
    open_ = {
        name: [axis for axis in range(each[0].ndim) if len({y.shape[axis] for y in each}) > 1]
        for name, each in zip(names, zip(*inputs, strict=True), strict=True)
    }
    model = lm.onnx.export(f, tuple(inputs[0]), input_names=names, dynamic_axes=open_)
    for given in inputs:
        compare(f, given, model)


POOLS: list[tuple[Any, ...]] = [(2, 2, 1), (1, 2, 0), (2, 3, 1), (3, 2, 1), (3, 2, 1, 2), (1, 3, 0), (3, 1, 1)]


@pytest.mark.parametrize("settings", POOLS, ids=str)
def test_windows_of_max_pools(settings: tuple[Any, ...]) -> None:
    """With ceil_mode ONNX's inference of shapes counts windows behind the end, which nobody computes."""
    kernel, stride, padding, dilation = (*settings, 1)[:4]

    def line(a: lm.Tensor) -> Any:
        y = lm.max_pool1d(a, kernel, stride, padding, dilation, ceil_mode=True)
        return y.var(axis=-1), lm.roll(y, 1, 2), lm.max_pool1d_with_indices(a, kernel, stride, padding, dilation, True)

    def image(a: lm.Tensor) -> Any:
        return lm.max_pool2d_with_indices(a, (kernel, 1), (stride, 2), (padding, 0), (dilation, 1), True)

    for n in range(5, 11):
        compare(line, [x(2, 3, n)], lm.onnx.export(line, x(2, 3, n)))
    for open_ in ([2], [3], [0, 2, 3]):
        model = lm.onnx.export(image, x(2, 3, 8, 8), dynamic_axes={"a": open_})
        for n in range(5, 11):
            compare(image, [x(2, 3, n if 2 in open_ else 8, n if 3 in open_ else 8)], model)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "float64"])
def test_max_pools_of_other_dtypes(dtype: str) -> None:
    given = lm.asarray(np.array([[[-3, 7, 7, 100]]], dtype=dtype) * (1 if dtype in ("int8", "float16") else 2**22 + 1))
    compare(lambda a: lm.max_pool1d(a, 2), [given], lm.onnx.export(lambda a: lm.max_pool1d(a, 2), given))


@pytest.mark.parametrize("scale", [0.3, 0.35, 0.7, 0.9, 1.1, 2.3])
def test_sizes_of_images(scale: float) -> None:
    """Before the scale is rounded to float32, which is what engines and the inference of shapes multiply."""

    def image(a: lm.Tensor) -> lm.Tensor:
        return F.interpolate(a, scale_factor=(scale, 0.5), mode="bilinear").var(axis=(2, 3))

    for n in (10, 20, 31, 50, 60, 90):
        compare(image, [x(1, 1, n, n)], lm.onnx.export(image, x(1, 1, n, n)))


@pytest.mark.parametrize(
    "layer",
    [lm.nn.AdaptiveAvgPool2d((None, 2)), lm.nn.AdaptiveMaxPool2d((None, 2), return_indices=True)],
    ids=lambda layer: type(layer).__name__,
)
def test_pools_that_keep_an_axis(layer: lm.nn.Module) -> None:
    model = lm.onnx.export(layer, x(2, 3, 6, 5), dynamic_axes={"x": [0]})
    for n in (2, 5):
        compare(layer, [x(n, 3, 6, 5)], model)
    with pytest.raises(RuntimeError, match=r"\[adaptive_\w+\] output_size keeps the size of an axis by None"):
        lm.onnx.export(layer, x(2, 3, 6, 5), dynamic_axes={"x": [2]})
