"""Calls of the operators for networks, for the checks of their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm

Calls = dict[str, list[tuple[Callable[..., Any], list[lm.Tensor]]]]


def x(*shape: int, low: float = -2.0, high: float = 2.0) -> lm.Tensor:
    """A leaf of distinct values, in an order that no formula follows."""
    values = np.linspace(low, high, int(np.prod(shape)))
    return lm.tensor(np.random.default_rng(3).permutation(values).reshape(shape), stop_gradient=False)


def other(*shape: int, low: float = -1.7, high: float = 1.9) -> lm.Tensor:
    """The same with other values in another order."""
    values = np.linspace(low, high, int(np.prod(shape)))
    return lm.tensor(np.random.default_rng(8).permutation(values).reshape(shape), stop_gradient=False)


def index(*values: Any) -> lm.Tensor:
    return lm.asarray(np.array(values))


SIGNS = lm.asarray([1.0, -1.0, 1.0], dtype="float64")
CLASS_WEIGHT = lm.asarray([0.5, 1.0, 2.0, 1.5], dtype="float64")
MASK = lm.asarray([[True, False, True], [True, True, True]])
FEW = index(0, 2, 1)


def seeded(f: Callable[[lm.Tensor, lm.Generator], lm.Tensor]) -> Callable[[lm.Tensor], lm.Tensor]:
    return lambda a: f(a, lm.Generator(seed=5))


def attention(**settings: Any) -> Callable[..., lm.Tensor]:
    return lambda q, k, v: lm.scaled_dot_product_attention(q, k, v, **settings)


def dropped_attention(q: lm.Tensor, k: lm.Tensor, v: lm.Tensor) -> lm.Tensor:
    return lm.scaled_dot_product_attention(q, k, v, dropout_p=0.3, generator=lm.Generator(seed=5))


def network(kind: str, **settings: Any) -> Callable[..., tuple[lm.Tensor, ...]]:
    return lambda a, *rest: getattr(lm, kind)(
        a, *rest[: 2 if kind == "lstm" else 1], list(rest[2 if kind == "lstm" else 1 :]), **settings
    )


QKV = [x(2, 2, 3), other(2, 3, 3), x(2, 3, 2)]
IMAGE = x(1, 2, 4, 5)
GRID = x(1, 2, 3, 2, low=-1.27, high=1.31)

NN_CALLS: Calls = {
    "relu6": [(lambda a: lm.relu6(a * 3.3), [x(2, 3)])],
    "prelu": [(lm.prelu, [x(2, 3), x(3, low=0.1)]), (lm.prelu, [x(2, 3), x(1, low=0.3)])],
    "glu": [(lm.glu, [x(3, 4)]), (lambda a: lm.glu(a, axis=0), [x(4, 3)])],
    "softmin": [(lambda a: lm.softmin(a, axis=0), [x(3, 2)])],
    "gumbel_softmax": [(seeded(lambda a, g: lm.gumbel_softmax(a, tau=0.7, generator=g)), [x(2, 3)])],
    "l1_loss": [(lm.l1_loss, [x(2, 3), other(2, 3)])],
    "smooth_l1_loss": [(lambda a, b: lm.smooth_l1_loss(a, b, beta=0.9), [x(2, 3), other(2, 3)])],
    "huber_loss": [(lambda a, b: lm.huber_loss(a, b, delta=0.9), [x(2, 3), other(2, 3)])],
    "binary_cross_entropy": [
        (lambda a, t, w: lm.binary_cross_entropy(a, t, w), [x(5, low=0.1, high=0.9), other(5, low=0.2, high=0.7), x(5)])
    ],
    "binary_cross_entropy_with_logits": [
        (lm.binary_cross_entropy_with_logits, [x(5), other(5, low=0.1, high=0.8)]),
        (
            lambda a, t: lm.binary_cross_entropy_with_logits(a, t, pos_weight=lm.asarray(2.5, dtype="float64")),
            [x(5), other(5, low=0.1, high=0.8)],
        ),
    ],
    "kl_div": [
        (lambda a, t: lm.kl_div(a, t, reduction="batchmean"), [x(2, 3), other(2, 3, low=0.1)]),
        (lambda a, t: lm.kl_div(a, t, log_target=True), [x(2, 3), other(2, 3)]),
    ],
    "poisson_nll_loss": [
        (lm.poisson_nll_loss, [x(5), other(5, low=0.2)]),
        (lambda a, t: lm.poisson_nll_loss(a, t, log_input=False, full=True), [x(5, low=0.3), other(5, low=0.2)]),
    ],
    "gaussian_nll_loss": [
        (lm.gaussian_nll_loss, [x(2, 3), other(2, 3), x(2, 1, low=0.3)]),
        (lambda a, b, v: lm.gaussian_nll_loss(a, b, v, full=True), [x(2, 3), other(2, 3), x(2, 3, low=0.3)]),
    ],
    "soft_margin_loss": [(lambda a: lm.soft_margin_loss(a, SIGNS), [x(3)])],
    "nll_loss": [
        (lambda a: lm.nll_loss(a * a, index(1, 0, 3), CLASS_WEIGHT), [x(3, 4)]),
        (lambda a: lm.nll_loss(a * a, index([1, 0], [-100, 2]), reduction="none"), [x(2, 3, 2)]),
    ],
    "ctc_loss": [
        (
            lambda a: lm.ctc_loss(a, index([1, 1, 2], [2, 0, 0]), index(6, 4), index(3, 1), reduction="none"),
            [x(6, 2, 3)],
        ),
    ],
    "hinge_embedding_loss": [(lambda a: lm.hinge_embedding_loss(a * a, SIGNS, margin=0.7), [x(3)])],
    "margin_ranking_loss": [(lambda a, b: lm.margin_ranking_loss(a * a, b, SIGNS, margin=0.2), [x(3), other(3)])],
    "cosine_embedding_loss": [
        (lambda a, b: lm.cosine_embedding_loss(a, b, SIGNS, reduction="none"), [x(3, 4), other(3, 4)])
    ],
    "triplet_margin_loss": [
        (lambda a, b, c: lm.triplet_margin_loss(a, b, c, margin=3.1), [x(2, 3), other(2, 3), x(2, 3, low=0.2)]),
        (
            lambda a, b, c: lm.triplet_margin_loss(a, b, c, margin=4.1, p=3, swap=True),
            [x(2, 3), other(2, 3), x(2, 3, low=0.2)],
        ),
    ],
    "multi_margin_loss": [
        (lambda a: lm.multi_margin_loss(a, index(1, 0, 3), p=2, weight=CLASS_WEIGHT), [x(3, 4)]),
        (lambda a: lm.multi_margin_loss(a * a, index(1, 0, 3)), [x(3, 4)]),
    ],
    "cosine_similarity": [
        (lm.cosine_similarity, [x(2, 3), other(2, 3)]),
        (lm.cosine_similarity, [x(2, 3, 2), other(3, 1)]),
    ],
    "pairwise_distance": [
        (lm.pairwise_distance, [x(2, 3), other(2, 3)]),
        (lambda a, b: lm.pairwise_distance(a, b, p=3.0, keepdims=True), [x(2, 3), other(3)]),
    ],
    "embedding": [
        (lambda w: lm.embedding(index([0, 2], [2, 1]), w * w), [x(3, 2)]),
    ],
    "embedding_bag": [
        (lambda w: lm.embedding_bag(index([0, 2], [2, 1]), w * w), [x(3, 2)]),
        (
            lambda w, s: lm.embedding_bag(FEW, w * w, index(0, 1), "sum", s),
            [x(3, 2), x(3)],
        ),
    ],
    "scaled_dot_product_attention": [
        (attention(), QKV),
        (attention(is_causal=True, scale=0.4), QKV),
        (attention(attn_mask=MASK), QKV),
        (dropped_attention, QKV),
        (
            lambda q, k, v, m: lm.scaled_dot_product_attention(q, k, v, attn_mask=m),
            [x(2, 3), other(3, 3), x(3, 2), x(2, 3, low=-1.0)],
        ),
    ],
    "rnn_cell": [(lm.rnn_cell, [x(2, 3), other(2, 2), x(2, 3), x(2, 2), x(2), other(2)])],
    "lstm_cell": [(lm.lstm_cell, [x(2, 3), other(2, 2), x(2, 2), x(8, 3), other(8, 2), x(8), other(8)])],
    "gru_cell": [(lm.gru_cell, [x(2, 3), other(2, 2), x(6, 3), other(6, 2), x(6), other(6)])],
    "rnn": [
        (
            network("rnn", has_biases=False, bidirectional=True),
            [x(3, 2), other(2, 2), x(2, 2), other(2, 2), x(2, 2), x(2, 2)],
        )
    ],
    "lstm": [
        (
            network("lstm", num_layers=2, has_biases=False),
            [x(2, 2), x(2, 1), other(2, 1), x(4, 2), other(4, 1), x(4, 1), other(4, 1)],
        )
    ],
    "gru": [(network("gru"), [x(2, 2, 2), other(1, 2, 2), x(6, 2), other(6, 2), x(6), other(6)])],
    "pad": [
        (lambda a, m=m: lm.pad(a * a, (1, 2, 2, 1), mode=m, value=1.5), [x(4, 3)])
        for m in ("constant", "reflect", "replicate", "circular")
    ],
    "unfold": [(lambda a: lm.unfold(a * a, (2, 3), 1, 1, 2), [IMAGE])],
    "fold": [(lambda a: lm.fold(a * a, (3, 4), 2, stride=1), [x(8, 6)])],
    "pixel_shuffle": [(lambda a: lm.pixel_shuffle(a * a, 2), [x(1, 4, 2, 1)])],
    "pixel_unshuffle": [(lambda a: lm.pixel_unshuffle(a * a, 2), [x(1, 1, 2, 4)])],
    "dynamic_interpolate": [
        (lambda a: lm.dynamic_interpolate(a * a, lm.asarray([3, 2]), mode="bilinear"), [x(1, 2, 2, 3)])
    ],
    "interpolate": [
        (lambda a: lm.interpolate(a * a, (3, 7)), [IMAGE]),
        (lambda a: lm.interpolate(a * a, (3, 7), mode="area"), [IMAGE]),
        (lambda a: lm.interpolate(a * a, scale_factor=1.5, mode="bilinear"), [IMAGE]),
        (lambda a: lm.interpolate(a * a, (3, 7), mode="bicubic", align_corners=True), [IMAGE]),
    ],
    "grid_sample": [
        (lambda a, g, m=m, p=p: lm.grid_sample(a, g, mode=m, padding_mode=p), [IMAGE, GRID])
        for m, p in (("bilinear", "zeros"), ("bilinear", "reflection"), ("bicubic", "border"), ("nearest", "border"))
    ],
    "affine_grid": [(lambda t: lm.affine_grid(t * t, (1, 1, 2, 3)), [x(1, 2, 3)])],
}
