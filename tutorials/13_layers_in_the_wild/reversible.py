"""A stack of blocks that keeps no activations: backward computes them again, from the last to the first."""

from __future__ import annotations

from pathlib import Path

import pictures

import lamella as lm
from lamella import nn


class Block(nn.Module):
    """``y1 = x1 + f(x2)``, ``y2 = x2 + g(y1)``, from which ``x2 = y2 - g(y1)`` and ``x1 = y1 - f(x2)``."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.f, self.g = (
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
            for _ in range(2)
        )

    def forward(self, x1: lm.Tensor, x2: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
        y1 = x1 + self.f(x2)
        return y1, x2 + self.g(y1)


def gradients_of(network: nn.Module, x: lm.Tensor, dy: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor, list[lm.Tensor]]:
    """Runs a network again, and backward. Returns its value and the gradients of its input and its parameters."""
    with lm.enable_grad():
        x = x.detach()
        x.stop_gradient = False
        y = network(x)
        dx, *others = lm.grad(y, [x, *network.parameters()], dy)
    return y.detach(), dx, others


class Reversible(lm.PyLayer):
    """Runs blocks one after the other, and keeps only what comes out of the last.

    The parameters are arguments, so that they have gradients.

    Source: Gomez et al. 2017, "The reversible residual network: backpropagation without storing activations".
    """

    @staticmethod
    def forward(ctx, x1, x2, blocks, *parameters):
        for block in blocks:
            x1, x2 = block(x1, x2)
        ctx.blocks = blocks
        ctx.save_for_backward(x1, x2)
        return x1, x2

    @staticmethod
    def backward(ctx, dy1, dy2):
        y1, y2 = ctx.saved_tensor()
        found = []
        for block in reversed(ctx.blocks):
            g, dg, of_g = gradients_of(block.g, y1, dy2)
            dy1, y2 = dy1 + dg, y2 - g
            f, df, of_f = gradients_of(block.f, y2, dy1)
            dy2, y1 = dy2 + df, y1 - f
            found[:0] = of_f + of_g
        return dy1, dy2, None, *found


class Stack(nn.Module):
    """Blocks one after the other, run in one of three ways: "plain", "checkpoint" or "reversible"."""

    def __init__(self, width: int, depth: int, way: str) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.way = way

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        x1, x2 = lm.split(x, 2, axis=-1)
        if self.way == "reversible":
            x1, x2 = Reversible.apply(x1, x2, list(self.blocks), *self.parameters())
        else:
            for block in self.blocks:
                x1, x2 = lm.checkpoint(block, x1, x2) if self.way == "checkpoint" else block(x1, x2)
        return lm.concat([x1, x2], axis=-1)


def step(depth: int, way: str, rows: int, width: int = 64) -> tuple[float, list[lm.Tensor]]:
    """Runs forward and backward once. Returns megabytes held at most beyond the model, and all gradients."""
    lm.seed(depth)
    stack = Stack(width, depth, way)
    x = lm.randn([rows, 2 * width])
    x.stop_gradient = False
    for parameter in stack.parameters():
        parameter.grad = lm.zeros_like(parameter)
    before = lm.memory_allocated()
    lm.reset_peak_memory()
    lm.square(stack(x)).mean().backward()
    return (lm.max_memory_allocated() - before) / 1e6, [x.grad, *(p.grad for p in stack.parameters())]


def run(out: Path, short: bool) -> None:
    """Compares the memory of three ways to run a stack, and their gradients."""
    depths, rows = ((2, 8), 512) if short else ((2, 4, 8, 16, 32), 1024)
    ways = ("plain", "checkpoint", "reversible")
    held: dict[str, list[float]] = {way: [] for way in ways}
    for depth in depths:
        gradients = {}
        for way in ways:
            megabytes, gradients[way] = step(depth, way, rows)
            held[way].append(megabytes)
        # The subtractions on the way back round a little differently from the additions on the way there.
        off = max(
            (lm.abs(a - b).max() / lm.abs(a).max()).item()
            for a, b in zip(gradients["plain"], gradients["reversible"], strict=True)
        )
        print(
            f"{depth:2} blocks: " + ", ".join(f"{way} {held[way][-1]:.1f} MB" for way in ways) + f"; off by {off:.0e}"
        )
        assert off < 1e-3
    growth = {way: megabytes[-1] - megabytes[0] for way, megabytes in held.items()}
    assert growth["reversible"] < growth["plain"] / 3, "depth should cost gradients of parameters only"

    figure, panels = pictures.figure(1)
    if figure is None:
        return
    for way in ways:
        panels[0].plot(depths, held[way], "o-", label=way)
    panels[0].set(xlabel="blocks", title="memory of one step (MB)")
    panels[0].set_xscale("log", base=2)
    panels[0].set_xticks(depths, [str(depth) for depth in depths])
    panels[0].grid(alpha=0.3)
    panels[0].legend()
    pictures.save(figure, out / "reversible.png")
