"""Training steps of the benchmarks' networks in numpy's float64: the cost, then the weights after the step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

RATE = 0.001


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers as the workloads draw them."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _weight(*shape: int, inputs: int, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) / np.sqrt(inputs)).astype(np.float32)


def _cross_entropy(logits: np.ndarray) -> tuple[float, np.ndarray]:
    """The cost for the workloads' labels, and its gradient."""
    rows = np.arange(len(logits))
    labels = np.random.default_rng(11).integers(0, 10, len(logits))
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return -np.log(p[rows, labels]).mean(), (p - np.eye(10)[labels]) / len(logits)


def _adam(weights: Sequence[np.ndarray], grads: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The first step, whose corrected means are the gradient and its square."""
    return [w - RATE * g / (np.abs(g) + 1e-8) for w, g in zip(weights, grads, strict=True)]


def mlp(batch: int) -> list[np.ndarray]:
    """784-256-256-10 with relu, cross entropy, plain SGD."""
    sizes = (784, 256, 256, 10)
    weights = [_weight(a, b, inputs=a, seed=i) for i, (a, b) in enumerate(pairwise(sizes))]
    inputs = [normal(batch, 784, seed=10).astype(np.float64)]
    for w in weights[:-1]:
        inputs.append(np.maximum(inputs[-1] @ w, 0))
    cost, d = _cross_entropy(inputs[-1] @ weights[-1])
    steps: list[np.ndarray] = []
    for w, given in zip(reversed(weights), reversed(inputs), strict=True):
        steps[:0] = [w - 0.01 * given.T @ d, -0.01 * d.sum(0)]
        d = (d @ w.T) * (given > 0)
    return [np.asarray(cost), *steps]


def _windows(x: np.ndarray) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))


def _conv(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """3x3, padded by 1: [n, in, h, w] and [out, in, 3, 3]."""
    return np.tensordot(_windows(x), w, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def _conv_grads(x: np.ndarray, w: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    dw = np.tensordot(dy, _windows(x), ((0, 2, 3), (0, 2, 3)))
    return _conv(dy, w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)), dw, dy.sum((0, 2, 3))


def _halved(x: np.ndarray) -> np.ndarray:
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


def _halved_grad(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """To the largest; where several are (they are zeros behind relu) relu lets nothing through."""
    spread = np.ones((1, 1, 2, 2))
    return np.kron(dy, spread) * (x == np.kron(_halved(x), spread)) * (x > 0)


def convolutional() -> list[np.ndarray]:
    """Two 3x3 convolutions with relu and maxima of 2x2, a linear layer, cross entropy, Adam."""
    w1, w2 = _weight(32, 1, 3, 3, inputs=9, seed=0), _weight(64, 32, 3, 3, inputs=288, seed=1)
    w3 = _weight(3136, 10, inputs=3136, seed=2)
    x = normal(64, 1, 28, 28, seed=10).astype(np.float64)
    first = np.maximum(_conv(x, w1), 0)
    half = _halved(first)
    second = np.maximum(_conv(half, w2), 0)
    flat = _halved(second).reshape(64, -1)
    cost, d = _cross_entropy(flat @ w3)
    grads = [flat.T @ d, d.sum(0)]
    d, dw2, db2 = _conv_grads(half, w2, _halved_grad(second, (d @ w3.T).reshape(64, 64, 7, 7)))
    _, dw1, db1 = _conv_grads(x, w1, _halved_grad(first, d))
    weights = [w1, np.zeros(32), w2, np.zeros(64), w3, np.zeros(10)]
    return [np.asarray(cost), *_adam(weights, [dw1, db1, dw2, db2, *grads])]


def _normed(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return (x - x.mean(-1, keepdims=True)) * scale, scale


def _normed_grad(y: np.ndarray, scale: np.ndarray, dy: np.ndarray) -> np.ndarray:
    return scale * (dy - dy.mean(-1, keepdims=True) - y * (dy * y).mean(-1, keepdims=True))


def _by_rows(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """The gradient of the weight in `x @ weight`."""
    return x.reshape(-1, x.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])


def transformer() -> list[np.ndarray]:
    """A block with its norms ahead, 4 heads of 64, GELU; mean squared error, Adam."""
    batch, tokens, width, heads, hidden = 8, 64, 256, 4, 1024
    qkv_w, out_w = _weight(width, 3 * width, inputs=width, seed=0), _weight(width, width, inputs=width, seed=1)
    in_w, back_w = _weight(width, hidden, inputs=width, seed=2), _weight(hidden, width, inputs=hidden, seed=3)
    x = normal(batch, tokens, width, seed=10).astype(np.float64)
    target = normal(batch, tokens, width, seed=11)

    def by_head(y: np.ndarray) -> np.ndarray:
        return y.reshape(batch, tokens, heads, -1).swapaxes(1, 2)

    def together(y: np.ndarray) -> np.ndarray:
        return y.swapaxes(1, 2).reshape(batch, tokens, width)

    n1, _ = _normed(x)
    q, k, v = (by_head(part) for part in np.split(n1 @ qkv_w, 3, -1))
    scores = np.exp(q @ k.swapaxes(2, 3) / 8)
    p = scores / scores.sum(-1, keepdims=True)
    mixed = together(p @ v)
    middle = x + mixed @ out_w
    n2, scale2 = _normed(middle)
    inner = n2 @ in_w
    phi = (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
    activated = inner * phi
    y = middle + activated @ back_w
    cost = np.square(y - target).mean()

    dy = 2 * (y - target) / y.size
    d_inner = (dy @ back_w.T) * (phi + inner * np.exp(-np.square(inner) / 2) / math.sqrt(2 * math.pi))
    d_n2 = d_inner @ in_w.T
    d_middle = dy + _normed_grad(n2, scale2, d_n2)
    d_mixed = by_head(d_middle @ out_w.T)
    d_p = d_mixed @ v.swapaxes(2, 3)
    d_scores = p * (d_p - (d_p * p).sum(-1, keepdims=True)) / 8
    d_qkv = [d_scores @ k, d_scores.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ d_mixed]
    d_projected = np.concatenate([together(part) for part in d_qkv], -1)
    d_n1 = d_projected @ qkv_w.T
    one, zero = np.ones(width), np.zeros(width)
    weights = [one, zero, qkv_w, out_w, zero, one, zero, in_w, np.zeros(hidden), back_w, zero]
    grads = [(d_n1 * n1).sum((0, 1)), d_n1.sum((0, 1)), _by_rows(n1, d_projected), _by_rows(mixed, d_middle)]
    grads += [d_middle.sum((0, 1)), (d_n2 * n2).sum((0, 1)), d_n2.sum((0, 1)), _by_rows(n2, d_inner)]
    grads += [d_inner.sum((0, 1)), _by_rows(activated, dy), dy.sum((0, 1))]
    return [np.asarray(cost), *_adam(weights, grads)]
