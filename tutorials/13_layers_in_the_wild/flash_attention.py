"""Attention whose matrix of scores is never whole, forward and backward."""

from __future__ import annotations

from pathlib import Path

import pictures

import lamella as lm

TILE = 64


def plain(q: lm.Tensor, k: lm.Tensor, v: lm.Tensor) -> lm.Tensor:
    """Attention as it is written: of n queries and keys it builds n * n scores."""
    return lm.softmax(q @ k.mT * q.shape[-1] ** -0.5, axis=-1) @ v


class TiledAttention(lm.PyLayer):
    """Attention, ``(heads, n, size)`` to the same, by tiles of keys.

    A softmax can be summed up piece by piece: where a later tile has a larger score, what was summed before is scaled
    down. Kept for backward are the result and, for each query, the logarithm of its sum of exponentials, from which
    the weights of any tile are computed again.

    Source: Dao et al. 2022, "FlashAttention: fast and memory-efficient exact attention with IO-awareness"; Milakov and
    Gimelshein 2018, "Online normalizer calculation for softmax".
    """

    @staticmethod
    def forward(ctx, q, k, v):
        scale = q.shape[-1] ** -0.5
        total = lm.zeros_like(v)
        largest = lm.full([*q.shape[:-1], 1], -lm.inf, dtype=q.dtype)
        summed = lm.zeros_like(largest)
        for start in range(0, k.shape[-2], TILE):
            keys, values = k[..., start : start + TILE, :], v[..., start : start + TILE, :]
            scores = q @ keys.mT * scale
            above = lm.maximum(largest, scores.max(axis=-1, keepdims=True))
            weights, shrink = lm.exp(scores - above), lm.exp(largest - above)
            summed = summed * shrink + weights.sum(axis=-1, keepdims=True)
            total = total * shrink + weights @ values
            largest = above
        y = total / summed
        ctx.save_for_backward(q, k, v, y, largest + lm.log(summed))
        return y

    @staticmethod
    def backward(ctx, dy):
        q, k, v, y, log_sum = ctx.saved_tensor()
        scale = q.shape[-1] ** -0.5
        # A softmax's gradient has the sum of dy * y over a row in it, which needs no matrix.
        mean = (dy * y).sum(axis=-1, keepdims=True)
        dq = lm.zeros_like(q)
        dk, dv = [], []
        for start in range(0, k.shape[-2], TILE):
            keys, values = k[..., start : start + TILE, :], v[..., start : start + TILE, :]
            weights = lm.exp(q @ keys.mT * scale - log_sum)
            dscores = weights * (dy @ values.mT - mean) * scale
            dq = dq + dscores @ keys
            dk.append(dscores.mT @ q)
            dv.append(weights.mT @ dy)
        return dq, lm.concat(dk, axis=-2), lm.concat(dv, axis=-2)


WAYS = {
    "plain": plain,
    "this layer": TiledAttention.apply,
    "lm.scaled_dot_product_attention": lm.scaled_dot_product_attention,
}


def step(way: str, length: int, heads: int = 2, size: int = 32) -> tuple[float, list[lm.Tensor]]:
    """Runs forward and backward once. Returns megabytes held at most beyond the inputs, and result and gradients."""
    lm.seed(length)
    parts = [lm.randn([heads, length, size]) for _ in range(3)]
    for part in parts:
        part.stop_gradient = False
    wanted = lm.randn([heads, length, size])
    before = lm.memory_allocated()
    lm.reset_peak_memory()
    y = WAYS[way](*parts)
    y.backward(wanted)
    return (lm.max_memory_allocated() - before) / 1e6, [y.detach(), *(part.grad for part in parts)]


def run(out: Path, short: bool) -> None:
    """Compares the memory of three ways to compute attention, and their results."""
    lm.seed(0)
    small = [lm.randn([2, TILE + 3, 2], dtype="float64") for _ in range(3)]
    for part in small:
        part.stop_gradient = False
    assert lm.autograd.gradcheck(TiledAttention.apply, small, fast_mode=True)
    lengths = (64, 128, 256) if short else (128, 256, 512, 1024, 2048)
    held: dict[str, list[float]] = {way: [] for way in WAYS}
    for length in lengths:
        found = {}
        for way in WAYS:
            megabytes, found[way] = step(way, length)
            held[way].append(megabytes)
        off = max(lm.abs(a - b).max().item() for a, b in zip(found["plain"], found["this layer"], strict=True))
        megabytes = ", ".join(f"{way} {held[way][-1]:.1f} MB" for way in WAYS)
        print(f"{length:4} places: {megabytes}; off by {off:.0e}")
        assert off < 1e-4
    assert held["this layer"][-1] < held["plain"][-1] / 2

    figure, panels = pictures.figure(1)
    if figure is None:
        return
    for way in WAYS:
        panels[0].loglog(lengths, held[way], "o-", base=2, label=way)
    panels[0].set(xlabel="places in the sequence", title="memory of one step (MB)")
    for axis in (panels[0].xaxis, panels[0].yaxis):
        axis.set_major_formatter("{x:g}")
    panels[0].grid(alpha=0.3)
    panels[0].legend(loc="upper left", fontsize="small")
    pictures.save(figure, out / "flash_attention.png")
