"""A trained network learns a second task by matrices of low rank, and forgets nothing."""

from __future__ import annotations

from pathlib import Path

import pictures

import lamella as lm
from lamella import data, nn, optim


class LowRank(lm.PyLayer):
    """``x @ (weight + up @ down).T + bias``, where only ``down`` and ``up`` are trained.

    The sum of matrices is never built, and there is no gradient of ``weight``, which stays as it is.

    Source: Hu et al. 2021, "LoRA: low-rank adaptation of large language models".
    """

    @staticmethod
    def forward(ctx, x, weight, bias, down, up):
        few = x @ down.mT
        ctx.save_for_backward(x, few, weight, down, up)
        return lm.linear(x, weight, bias) + few @ up.mT

    @staticmethod
    def backward(ctx, dy):
        x, few, weight, down, up = ctx.saved_tensor()
        dfew = dy @ up
        dx = dy @ weight + dfew @ down if ctx.needs_input_grad[0] else None
        return dx, None, None, dfew.mT @ x, dy.mT @ few


class Adapted(nn.Module):
    """A frozen linear layer with an adapter, which begins at nothing: ``up`` is zero."""

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.linear = linear
        outputs, inputs = linear.weight.shape
        self.down = nn.Parameter(lm.normal([rank, inputs], 0.0, inputs**-0.5))
        self.up = nn.Parameter(lm.zeros([outputs, rank]))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        return LowRank.apply(x, self.linear.weight, self.linear.bias, self.down, self.up)

    @lm.no_grad()
    def merged(self) -> nn.Linear:
        """Returns a plain layer that computes the same: after training an adapter costs nothing."""
        linear = nn.Linear(self.linear.weight.shape[1], self.linear.weight.shape[0])
        linear.weight.copy_(self.linear.weight + self.up @ self.down)
        linear.bias.copy_(self.linear.bias)
        return linear


def train(network: nn.Module, images: lm.Tensor, digits: lm.Tensor, epochs: int) -> None:
    """Trains the parameters of a network that are not frozen."""
    optimizer = optim.Adam([p for p in network.parameters() if not p.stop_gradient], lr=5e-3)
    loader = data.DataLoader(data.TensorDataset(images, digits), batch_size=64, shuffle=True)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            lm.cross_entropy(network(x), y).backward()
            optimizer.step()


def turned(images: lm.Tensor) -> lm.Tensor:
    """Turns images by a quarter: a task that the first network knows nothing of."""
    return lm.rot90(images.reshape([-1, 8, 8]), axes=(1, 2)).reshape([-1, 64])


def run(out: Path, short: bool) -> None:
    """Teaches a network that reads digits to read turned ones, with adapters of several ranks."""
    lm.seed(0)
    small = [lm.randn(shape, dtype="float64") for shape in ([5, 3], [4, 3], [4], [2, 3], [4, 2])]
    for place in (0, 3, 4):  # the weight and its bias are frozen
        small[place].stop_gradient = False
    assert lm.autograd.gradcheck(LowRank.apply, small)
    images, digits, held_out_images, held_out_digits = pictures.load_digits()
    epochs = 2 if short else 20
    base = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    train(base, images, digits, epochs)
    for parameter in base.parameters():
        parameter.stop_gradient = True
    whole = sum(p.size for p in base.parameters())
    upright = pictures.accuracy(base, held_out_images, held_out_digits)
    unprepared = pictures.accuracy(base, turned(held_out_images), held_out_digits)
    print(f"upright digits {upright:.1%}, turned ones {unprepared:.1%}")

    rows = []
    for rank in (1, 2, 4, 8, 16):
        adapted = nn.Sequential(*(Adapted(part, rank) if isinstance(part, nn.Linear) else part for part in base))
        train(adapted, turned(images), digits, epochs)
        merged = nn.Sequential(*(part.merged() if isinstance(part, Adapted) else part for part in adapted))
        assert lm.allclose(merged(images), adapted(images), atol=1e-3).item()
        trained = sum(p.size for p in adapted.parameters() if not p.stop_gradient)
        rows.append((rank, trained / whole, pictures.accuracy(adapted, turned(held_out_images), held_out_digits)))
        print(f"rank {rank:2}: {rows[-1][1]:4.0%} of the parameters, turned digits {rows[-1][2]:.1%}")
    # The base was not touched: without its adapters it reads as before.
    assert pictures.accuracy(base, held_out_images, held_out_digits) == upright
    assert short or rows[-1][2] > 0.9

    figure, panels = pictures.figure(1)
    if figure is None:
        return
    ranks, shares, reached = zip(*rows, strict=True)
    panels[0].plot(ranks, reached, "o-", label="turned digits, adapters")
    panels[0].plot(ranks, shares, "o-", label="share of parameters trained")
    panels[0].axhline(upright, color="gray", linestyle=":", label="upright digits, base network")
    panels[0].set_xscale("log", base=2)
    panels[0].set_xticks(ranks, [str(rank) for rank in ranks])
    panels[0].set(xlabel="rank", title="held-out accuracy, and share of parameters")
    panels[0].legend(loc="center left")
    pictures.save(figure, out / "lora.png")
