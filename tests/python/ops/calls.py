"""Calls of every operator that is not elementwise: what the tests of gradients and of forward mode both run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm

from . import assembly_calls, moving, special_calls
from .distributed_calls import DISTRIBUTED_CALLS
from .linalg_calls import LINALG_CALLS, LINALG_WITHOUT_GRADIENT
from .nn_calls import NN_CALLS
from .random_calls import RANDOM_CALLS, RANDOM_WITHOUT_GRADIENT


def leaf(*shape: int, low: float = -2.0, high: float = 2.0) -> lm.Tensor:
    """A leaf of distinct values, in an order that no formula follows."""
    values = np.linspace(low, high, int(np.prod(shape)))
    return lm.tensor(np.random.default_rng(3).permutation(values).reshape(shape), stop_gradient=False)


def index(*values: Any) -> lm.Tensor:
    return lm.asarray(np.array(values))


def in_place(name: str) -> Callable[..., lm.Tensor]:
    """An operator that writes into its argument, on a copy."""
    return lambda a, *rest: getattr(a * a, name)(*rest)


def seeded_dropout(a: lm.Tensor) -> lm.Tensor:
    return lm.dropout(a * a, 0.5, generator=lm.Generator(seed=5))


def _instance_norm_with_statistics(use_input_stats: bool) -> Callable[..., lm.Tensor]:
    """With running statistics, new ones at each call: one in training overwrites them."""

    def call(a: lm.Tensor, w: lm.Tensor, b: lm.Tensor) -> lm.Tensor:
        mean, var = lm.asarray([0.5, -1.0], dtype="float64"), lm.asarray([1.0, 2.0], dtype="float64")
        return lm.instance_norm(a, w, b, running_mean=mean, running_var=var, use_input_stats=use_input_stats)

    return call


# For each operator that is not elementwise, calls of it and leaves to call them on. Most are nonlinear, so that second
# derivatives are not zero. A new operator takes a line here, or in WITHOUT_GRADIENT.
CALLS: dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]] = {
    "tril": [(lambda a: lm.tril(a * a, k=1), [leaf(3, 4)])],
    "triu": [(lambda a: lm.triu(a * a, k=-1), [leaf(2, 3, 3)])],
    "cast": [(lambda a: lm.cast(lm.cast(a * a, "complex128"), "float64"), [leaf(3)])],
    "astype": [(lambda a: lm.astype(a * a, "float64"), [leaf(3)])],
    "clone": [(lambda a: lm.clone(a) * a, [leaf(2, 3)])],
    "contiguous": [(lambda a: lm.contiguous(a.T) * a.T, [leaf(2, 3)])],
    "to_device": [(lambda a: lm.to_device(a * a, "cpu"), [leaf(3)])],
    "add_": [(in_place("add_"), [leaf(2, 3), leaf(3)])],
    "sub_": [(in_place("sub_"), [leaf(2, 3), leaf(2, 1)])],
    "mul_": [(in_place("mul_"), [leaf(2, 3), leaf(3)])],
    "div_": [(in_place("div_"), [leaf(2, 3), leaf(3, low=0.5)])],
    "copy_": [(in_place("copy_"), [leaf(2, 3), leaf(3)])],
    "fill_": [(lambda a: (a * 2).fill_(1.0) + a * a, [leaf(3)])],
    "zero_": [(lambda a: (a * 2).zero_() + a * a, [leaf(3)])],
    "masked_fill_": [
        (lambda a, b: (a * a).masked_fill_(index(True, False, True), b * b), [leaf(2, 3), leaf()]),
        (lambda a: (a * a).masked_fill_(index(True, False, True), 2.0), [leaf(2, 3)]),
    ],
    "reshape": [
        (lambda a: lm.reshape(a * a, [3, -1]), [leaf(2, 3)]),
        (lambda a: lm.reshape((a * a).T, [6]), [leaf(2, 3)]),
    ],
    "flatten": [(lambda a: lm.flatten(a * a, 1), [leaf(2, 2, 2)])],
    "squeeze": [(lambda a: lm.squeeze(a * a), [leaf(2, 1, 3)])],
    "expand_dims": [(lambda a: lm.expand_dims(a * a, 1), [leaf(2, 3)])],
    "broadcast_to": [(lambda a: lm.broadcast_to(a * a, [2, 2, 3]), [leaf(2, 1)])],
    "sum_to": [(lambda a: lm.sum_to(a * a, [2, 1]), [leaf(3, 2, 2)])],
    "permute_dims": [(lambda a: lm.permute_dims(a * a, [2, 0, 1]), [leaf(2, 3, 2)])],
    "matrix_transpose": [(lambda a: lm.matrix_transpose(a * a), [leaf(2, 2, 3)])],
    "swapaxes": [(lambda a: lm.swapaxes(a * a, 0, 2), [leaf(2, 3, 2)])],
    "concat": [
        (lambda a, b: lm.concat([a * a, b, a], axis=1), [leaf(2, 2), leaf(2, 3)]),
        (lambda a: lm.concat([a * a, index([1.0], [2.0])], axis=1), [leaf(2, 2)]),
    ],
    "stack": [(lambda a, b: lm.stack([a * a, b * a], axis=1), [leaf(2, 2), leaf(2, 2)])],
    "split": [(lambda a: lm.split(a * a, [1, 2, 1], axis=1), [leaf(2, 4)])],
    "flip": [(lambda a: lm.flip(a * a, 0), [leaf(3, 2)])],
    "roll": [(lambda a: lm.roll(a * a, 2, 0), [leaf(3, 2)])],
    "take": [(lambda a: lm.take(a * a, index(2, 0, 2), axis=1), [leaf(2, 3)])],
    "take_along_axis": [(lambda a: lm.take_along_axis(a * a, index([2, 2], [0, 1]), axis=1), [leaf(2, 3)])],
    "sum": [
        (lambda a: lm.sum(a * a), [leaf(2, 3)]),
        (lambda a: lm.sum(a * a, axis=1, keepdims=True), [leaf(2, 3)]),
    ],
    "mean": [(lambda a: lm.mean(a * a), [leaf(2, 3)]), (lambda a: lm.mean(a * a, axis=0), [leaf(2, 3)])],
    "prod": [(lm.prod, [leaf(5)]), (lambda a: lm.prod(a, axis=1), [leaf(2, 3)])],
    "max": [(lambda a: lm.max(a * a), [leaf(5, low=0.1)]), (lambda a: lm.max(a, axis=1), [leaf(2, 3)])],
    "min": [(lambda a: lm.min(a * a), [leaf(5, low=0.1)]), (lambda a: lm.min(a, axis=0, keepdims=True), [leaf(2, 3)])],
    "matmul": [
        (lm.matmul, [leaf(2, 3), leaf(3, 2)]),
        (lm.matmul, [leaf(3), leaf(2, 3, 2)]),
        (lm.matmul, [leaf(2, 1, 2, 3), leaf(2, 3, 1)]),
        (lambda a: lm.matmul(a, a), [leaf(2, 2)]),
    ],
    "linear": [
        (lm.linear, [leaf(2, 3), leaf(4, 3), leaf(4)]),
        (lm.linear, [leaf(3), leaf(2, 3)]),
        (lambda b: lm.linear(leaf(2, 3).detach(), leaf(4, 3).detach(), b * b), [leaf(4)]),
        (lambda w: lm.linear(leaf(2, 3).detach(), w * w, leaf(4).detach()), [leaf(4, 3)]),
    ],
    "positive": [(lambda a: lm.positive(a * a), [leaf(3)])],
    "deg2rad": [(lambda a: lm.deg2rad(a * a), [leaf(3)])],
    "rad2deg": [(lambda a: lm.rad2deg(a * a), [leaf(3)])],
    "logit": [
        (lm.logit, [leaf(3, low=0.1, high=0.8)]),
        (lambda a: lm.logit(a, eps=0.2), [leaf(4, low=0.1, high=0.87)]),
    ],
    "polygamma": [(lambda a, n=n: lm.polygamma(n, a), [leaf(3, low=0.5)]) for n in (0, 2)],
    "nan_to_num": [(lambda a: lm.nan_to_num(a * a), [leaf(3)])],
    "clip": [
        (lambda a: lm.clip(a * a * a, -1.05, 1.15), [leaf(2, 3)]),
        (lambda a: lm.clip(a, min=0.1), [leaf(4)]),
    ],
    "gelu": [(lm.gelu, [leaf(5)]), (lambda a: lm.gelu(a, approximate="tanh"), [leaf(5)])],
    "softmax": [(lambda a: lm.softmax(a, axis=0), [leaf(3, 2)]), (lm.softmax, [leaf(2, 3)])],
    "log_softmax": [(lambda a: lm.log_softmax(a, axis=0), [leaf(3, 2)]), (lm.log_softmax, [leaf(2, 3)])],
    "cross_entropy": [
        (lambda a, r=r: lm.cross_entropy(a, index(1, 0, 3), reduction=r), [leaf(3, 4)]) for r in ("mean", "sum", "none")
    ],
    "mse_loss": [
        (lambda a, b, r=r: lm.mse_loss(a, b, reduction=r), [leaf(2, 3), leaf(2, 3)]) for r in ("mean", "none")
    ],
    "dropout": [(seeded_dropout, [leaf(3, 4)])],
    **moving.CALLS,
    **assembly_calls.CALLS,
    **special_calls.CALLS,
    "conv1d": [
        (lm.conv1d, [leaf(2, 2, 5), leaf(3, 2, 2), leaf(3)]),
        (lambda a: lm.conv1d(a, a, stride=2, padding=2), [leaf(2, 2, 3)]),
        (lambda b: lm.conv1d(leaf(1, 2, 4).detach(), leaf(2, 2, 3).detach(), b * b), [leaf(2)]),
    ],
    "conv2d": [
        (lambda a, w: lm.conv2d(a, w, None, 2, (1, 0), (1, 2), 2), [leaf(1, 2, 4, 5), leaf(2, 1, 2, 2)]),
        (lambda a, w, b: lm.conv2d(a, w * w, b, padding="same"), [leaf(2, 3, 3), leaf(1, 2, 2, 3), leaf(1)]),
    ],
    "conv3d": [(lambda a, w: lm.conv3d(a, w, stride=(1, 2, 1)), [leaf(1, 2, 2, 3, 2), leaf(1, 2, 2, 2, 1)])],
    "conv_transpose1d": [
        (lambda a, w, b: lm.conv_transpose1d(a, w, b, 2, 1, 1), [leaf(1, 2, 3), leaf(2, 2, 3), leaf(2)]),
        (lambda a, w: lm.conv_transpose1d(a, w, groups=2, dilation=2), [leaf(2, 3), leaf(2, 1, 2)]),
    ],
    "conv_transpose2d": [(lambda a, w: lm.conv_transpose2d(a * a, w, stride=2), [leaf(1, 1, 2, 2), leaf(1, 2, 2, 1)])],
    "conv_transpose3d": [(lm.conv_transpose3d, [leaf(1, 1, 2, 1, 2), leaf(1, 1, 1, 2, 2)])],
    "max_pool1d": [(lambda a: lm.max_pool1d(a * a * a, 3, 2, 1), [leaf(1, 2, 5)])],
    "max_pool2d": [(lambda a: lm.max_pool2d(a * a * a, 2, 1, dilation=(1, 2)), [leaf(1, 2, 3, 4)])],
    "max_pool3d": [(lambda a: lm.max_pool3d(a * a * a, 2, ceil_mode=True), [leaf(1, 3, 2, 2)])],
    "max_pool1d_with_indices": [(lambda a: lm.max_pool1d_with_indices(a * a * a, 2)[0], [leaf(2, 4)])],
    "max_pool2d_with_indices": [(lambda a: lm.max_pool2d_with_indices(a * a * a, 2, 1)[0], [leaf(1, 3, 3)])],
    "max_pool3d_with_indices": [(lambda a: lm.max_pool3d_with_indices(a * a * a, 2)[0], [leaf(1, 2, 2, 4)])],
    "avg_pool1d": [(lambda a: lm.avg_pool1d(a * a, 3, 2, 1), [leaf(2, 5)])],
    "avg_pool2d": [
        (lambda a: lm.avg_pool2d(a * a, 2, 1, 1, count_include_pad=False), [leaf(1, 2, 3)]),
        (lambda a: lm.avg_pool2d(a * a, 2, 2, ceil_mode=True, divisor_override=3), [leaf(1, 3, 3)]),
    ],
    "avg_pool3d": [(lambda a: lm.avg_pool3d(a * a, 2), [leaf(1, 2, 2, 3)])],
    "lp_pool1d": [(lambda a: lm.lp_pool1d(a, 3.0, 2, 1), [leaf(1, 4, low=0.5)])],
    "lp_pool2d": [(lambda a: lm.lp_pool2d(a, 2.0, 2, 1), [leaf(1, 3, 3, low=0.5)])],
    "lp_pool3d": [(lambda a: lm.lp_pool3d(a, 2.0, 2), [leaf(1, 2, 2, 2, low=0.5)])],
    "adaptive_avg_pool1d": [(lambda a: lm.adaptive_avg_pool1d(a * a, 3), [leaf(2, 4)])],
    "adaptive_avg_pool2d": [(lambda a: lm.adaptive_avg_pool2d(a * a, (1, 2)), [leaf(1, 2, 3)])],
    "adaptive_avg_pool3d": [(lambda a: lm.adaptive_avg_pool3d(a * a, 1), [leaf(1, 2, 2, 2)])],
    "adaptive_max_pool1d": [(lambda a: lm.adaptive_max_pool1d(a * a * a, 3), [leaf(2, 4)])],
    "adaptive_max_pool2d": [(lambda a: lm.adaptive_max_pool2d(a * a * a, (1, 2)), [leaf(1, 2, 3)])],
    "adaptive_max_pool3d": [(lambda a: lm.adaptive_max_pool3d(a * a * a, 1), [leaf(1, 2, 2, 2)])],
    "adaptive_max_pool1d_with_indices": [
        (lambda a: lm.adaptive_max_pool1d_with_indices(a * a * a, 3)[0], [leaf(2, 4)])
    ],
    "adaptive_max_pool2d_with_indices": [
        (lambda a: lm.adaptive_max_pool2d_with_indices(a * a * a, 2)[0], [leaf(1, 3, 3)])
    ],
    "adaptive_max_pool3d_with_indices": [
        (lambda a: lm.adaptive_max_pool3d_with_indices(a * a * a, 1)[0], [leaf(1, 2, 2, 2)])
    ],
    "layer_norm": [
        (lambda a, w, b: lm.layer_norm(a, 4, w, b), [leaf(2, 4), leaf(4), leaf(4)]),
        (lambda a, b: lm.layer_norm(a, (2, 2), None, b), [leaf(2, 2, 2), leaf(2, 2)]),
    ],
    "rms_norm": [
        (lambda a, w: lm.rms_norm(a, 4, w), [leaf(2, 4), leaf(4)]),
        (lambda a: lm.rms_norm(a, (2, 3)), [leaf(2, 3)]),
    ],
    "group_norm": [(lambda a, w, b: lm.group_norm(a, 2, w, b), [leaf(2, 4, 2), leaf(4), leaf(4)])],
    "instance_norm": [
        (lm.instance_norm, [leaf(1, 2, 3), leaf(2), leaf(2)]),
        (lambda a, b: lm.instance_norm(a, None, b), [leaf(2, 1, 2, 2), leaf(1)]),
        (_instance_norm_with_statistics(True), [leaf(2, 2, 3), leaf(2), leaf(2)]),
        (_instance_norm_with_statistics(False), [leaf(2, 2, 3), leaf(2), leaf(2)]),
    ],
    "batch_norm": [
        (lambda a, w, b: lm.batch_norm(a, None, None, w, b, True), [leaf(2, 2, 3), leaf(2), leaf(2)]),
        (lambda a, m, w: lm.batch_norm(a, m, w * w, w, m), [leaf(3, 2), leaf(2), leaf(2)]),
        (lambda a: lm.batch_norm(a, training=True), [leaf(4, 2)]),
    ],
    "local_response_norm": [(lambda a: lm.local_response_norm(a, 2, 0.5), [leaf(1, 4, 2)])],
    "var": [
        (lm.var, [leaf(2, 3)]),
        (lambda a: lm.var(a, axis=(0, 2), correction=1, keepdims=True), [leaf(2, 3, 2)]),
    ],
    "std": [(lm.std, [leaf(2, 3)]), (lambda a: lm.std(a, axis=1, correction=0.5), [leaf(2, 3)])],
    "logsumexp": [(lm.logsumexp, [leaf(2, 3)]), (lambda a: lm.logsumexp(a, axis=0, keepdims=True), [leaf(2, 3)])],
    "nansum": [(lambda a: lm.nansum(a * a, axis=0), [leaf(2, 3)])],
    "nanmean": [(lambda a: lm.nanmean(a * a, axis=1), [leaf(2, 3)])],
    "cumulative_sum": [(lambda a: lm.cumulative_sum(a * a, axis=0, include_initial=True), [leaf(3, 2)])],
    "cumulative_prod": [
        (lambda a: lm.cumulative_prod(a, axis=1, include_initial=True), [leaf(2, 4)]),
        (lm.cumulative_prod, [lm.tensor([1.5, 0.0, -2.0, 0.0, 3.0], dtype="float64", stop_gradient=False)]),
    ],
    "cumsum": [(lambda a: lm.cumsum(a * a, 1), [leaf(2, 4)])],
    "cumprod": [(lambda a: lm.cumprod(a, 0), [leaf(4, 2)])],
    "logcumsumexp": [(lambda a: lm.logcumsumexp(a, 0), [leaf(4, 2)]), (lambda a: lm.logcumsumexp(a, -1), [leaf(5)])],
    "cummax": [(lambda a: lm.cummax(a * a, 0)[0], [leaf(4, 2, low=0.1)])],
    "cummin": [(lambda a: lm.cummin(a * a, 1)[0], [leaf(2, 4, low=0.1)])],
    "diff": [
        (lambda a: lm.diff(a * a, axis=0, n=2), [leaf(4, 2)]),
        (lambda a, b: lm.diff(a * a, prepend=b, append=b * a[:, :1]), [leaf(2, 3), leaf(2, 1)]),
    ],
    "sort": [
        (lambda a: lm.sort(a * a), [leaf(2, 4, low=0.1)]),
        (lambda a: lm.sort(a * a, axis=0, descending=True), [leaf(4, 2, low=0.1)]),
    ],
    "topk": [
        (lambda a: lm.topk(a * a, 2)[0], [leaf(2, 4, low=0.1)]),
        (lambda a: lm.topk(a * a, 3, 0, largest=False)[0], [leaf(4, 2, low=0.1)]),
    ],
    "kthvalue": [(lambda a: lm.kthvalue(a * a, 2)[0], [leaf(2, 4, low=0.1)])],
    "mode": [(lambda a: lm.mode(a * a, 0)[0], [leaf(3, 2, low=0.1)])],
    "median": [
        (lambda a: lm.median(a * a), [leaf(2, 3, low=0.1)]),
        (lambda a: lm.median(a * a, axis=0, keepdims=True), [leaf(4, 2, low=0.1)]),
    ],
    "nanmedian": [(lambda a: lm.nanmedian(a * a, axis=1), [leaf(2, 4, low=0.1)])],
    "quantile": [
        (lambda a: lm.quantile(a * a, 0.3), [leaf(2, 3, low=0.1)]),
        (lambda a: lm.quantile(a * a, index(0.0, 0.45, 1.0), axis=0), [leaf(4, 2, low=0.1)]),
    ],
}
CALLS |= NN_CALLS
CALLS |= LINALG_CALLS
CALLS |= RANDOM_CALLS
CALLS |= DISTRIBUTED_CALLS

WITHOUT_GRADIENT = {
    *("zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like", "arange", "linspace"),
    *("logspace", "eye", "nonzero", "argmax", "argmin"),
    *("any", "all", "one_hot"),
    *("count_nonzero", "argsort", "searchsorted", "isin", "unique_all", "unique_counts", "unique_inverse"),
    *("unique", "unique_values", "bincount", "histogram"),
    *assembly_calls.WITHOUT_GRADIENT,
    *LINALG_WITHOUT_GRADIENT,
    *RANDOM_WITHOUT_GRADIENT,
    *("isclose", "allclose"),
}

KEYS = [0, (slice(None), 1), (..., slice(None, None, -1)), (None, slice(1, None)), [1, 0, 1], ([1, 0], slice(1, 3))]


def get_item(key: Any) -> Callable[..., lm.Tensor]:
    return lambda a: (a * a)[key]


def set_item(key: Any) -> Callable[..., lm.Tensor]:
    def assign(a: lm.Tensor, b: lm.Tensor) -> lm.Tensor:
        copy = a * a
        copy[key] = b * b
        return copy * a

    return assign
