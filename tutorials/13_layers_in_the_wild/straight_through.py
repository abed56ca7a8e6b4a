"""Weights of a few bits, trained through a step function whose true derivative is zero."""

from __future__ import annotations

from pathlib import Path

import pictures

import lamella as lm
from lamella import data, nn, optim


class Quantize(lm.PyLayer):
    """Rounds numbers to the nearest of ``2 ** bits`` levels from -limit to limit, with the gradient of the identity.

    Rounding is flat between its steps: its true derivative is 0, and nothing would be learned. So the gradient of a
    number within the limits passes unchanged. Beyond the limits it is 0, to keep the numbers from growing further.

    Source: Bengio et al. 2013, "Estimating or propagating gradients through stochastic neurons"; Hubara et al. 2016,
    "Quantized neural networks".
    """

    @staticmethod
    def forward(ctx, x, limit, bits):
        ctx.save_for_backward(lm.abs(x) <= limit)
        gap = 2 * limit / (2**bits - 1)
        return lm.round((lm.clip(x, -limit, limit) + limit) / gap) * gap - limit

    @staticmethod
    def backward(ctx, dy):
        (within,) = ctx.saved_tensor()
        return lm.where(within, dy, 0.0)


class QuantizedLinear(nn.Linear):
    """A linear layer that computes with weights of a few bits, and keeps exact ones to learn with."""

    bits: int | None = None  # exact weights

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        if self.bits is None:
            return lm.linear(x, self.weight, self.bias)
        # Twice the mean magnitude. With two or four levels, a wider range would round most weights to the same one.
        limit = 2 * lm.abs(self.weight.detach()).mean().item()
        return lm.linear(x, Quantize.apply(self.weight, limit, self.bits), self.bias)


def network() -> nn.Sequential:
    """From 64 pixels to scores of ten digits."""
    return nn.Sequential(
        QuantizedLinear(64, 64), nn.ReLU(), QuantizedLinear(64, 64), nn.ReLU(), QuantizedLinear(64, 10)
    )


def set_bits(model: nn.Module, bits: int | None) -> None:
    """Has all layers of a network compute with weights of so many bits."""
    for module in model.modules():
        if isinstance(module, QuantizedLinear):
            module.bits = bits


def train(bits: int | None, images: lm.Tensor, digits: lm.Tensor, epochs: int) -> nn.Sequential:
    """Returns a network that was trained with weights of so many bits."""
    lm.seed(0)
    model = network()
    set_bits(model, bits)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    loader = data.DataLoader(data.TensorDataset(images, digits), batch_size=64, shuffle=True)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            lm.cross_entropy(model(x), y).backward()
            optimizer.step()
    return model


def run(out: Path, short: bool) -> None:
    """Compares weights that were trained with few bits with exact ones that were rounded afterwards."""
    images, digits, held_out_images, held_out_digits = pictures.load_digits()
    epochs = 2 if short else 30
    exact = train(None, images, digits, epochs)
    reference = pictures.accuracy(exact, held_out_images, held_out_digits)
    rows = []
    for bits in (1, 2, 3, 4):
        set_bits(exact, bits)
        rounded = pictures.accuracy(exact, held_out_images, held_out_digits)
        trained = pictures.accuracy(train(bits, images, digits, epochs), held_out_images, held_out_digits)
        rows.append((bits, rounded, trained))
        count = "1 bit: " if bits == 1 else f"{bits} bits:"
        print(f"{count} rounded after training {rounded:6.2%}, trained through rounding {trained:6.2%}")
    print(f"exact weights: {reference:.2%}")
    assert short or rows[0][2] > rows[0][1] + 0.05, "one bit should be worth training for"

    figure, panels = pictures.figure(2)
    if figure is None:
        return
    x = lm.linspace(-1.5, 1.5, 601)
    x.stop_gradient = False
    y = Quantize.apply(x, 1.0, 2)
    y.sum().backward()
    panels[0].plot(x.tolist(), y.tolist(), label="output, with two bits")
    panels[0].plot(x.tolist(), x.grad.tolist(), label="gradient that passes")
    panels[0].set(xlabel="weight", title="the layer")
    panels[0].legend()
    bits, rounded, trained = zip(*rows, strict=True)
    panels[1].plot(bits, rounded, "o-", label="rounded after training")
    panels[1].plot(bits, trained, "o-", label="trained through rounding")
    panels[1].axhline(reference, color="gray", linestyle=":", label="exact weights")
    panels[1].set(xlabel="bits of a weight", title="accuracy on held-out digits", xticks=bits)
    panels[1].legend()
    pictures.save(figure, out / "straight_through.png")
