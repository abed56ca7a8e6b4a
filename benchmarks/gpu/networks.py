"""Networks of the training steps that are timed on a GPU: one definition for both frameworks, which share names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Work:
    """A network, which ``build(framework)`` makes, its inputs, of which the last is the target, and how it trains."""

    name: str
    build: Callable[[ModuleType], Any]
    inputs: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
    optimizer: str = "Adam"
    autocast: bool = False  # products in bfloat16


def digits(framework: ModuleType) -> Any:
    """Digits of 8 x 8 pixels, as tutorial 01 has them."""
    nn = framework.nn
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def convolutional(framework: ModuleType) -> Any:
    """Blocks of convolutions with batch normalization over images of 32 x 32, halved between them."""
    nn = framework.nn
    layers: list[Any] = []
    before = 3
    for channels in (64, 128, 256):
        for _ in range(2):
            layers += [nn.Conv2d(before, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
            before = channels
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(256 * 16, 10))


def transformer(framework: ModuleType, *, width: int, heads: int, layers: int, causal: bool, head: int) -> Any:
    """Blocks of attention and a perceptron, each after a normalization, over word embeddings."""
    nn = framework.nn
    functional = nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]  # the framework's own class
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(width)
            self.qkv = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)
            self.norm2 = nn.LayerNorm(width)
            self.inner = nn.Linear(width, 4 * width)
            self.outer = nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            split = self.qkv(self.norm1(x)).reshape(batch, length, 3, heads, width // heads)
            q, k, v = (split[:, :, i].swapaxes(1, 2) for i in range(3))
            seen = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            x = x + self.out(seen.swapaxes(1, 2).reshape(batch, length, width))
            return x + self.outer(functional.gelu(self.inner(self.norm2(x))))

    class Transformer(nn.Module):  # type: ignore[misc, name-defined]  # the framework's own class
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(512, width)
            self.places = nn.Parameter(framework.zeros((256, width)))
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, head)

        def forward(self, tokens: Any) -> Any:
            x = self.blocks(self.words(tokens) + self.places[: tokens.shape[1]])
            if not causal:
                x = x.mean(1)
            y = self.head(self.norm(x))
            return y.reshape(-1, head)

    return Transformer()


def _tokens(
    batch: int, length: int, classes: int = 0
) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    def inputs(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x = random.integers(0, 512, (batch, length))
        return x, random.integers(0, classes, batch) if classes else np.roll(x, -1, 1).reshape(-1)

    return inputs


def _features(*shape: int) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    return lambda random: (random.standard_normal(shape).astype(np.float32), random.integers(0, 10, shape[0]))


def _encoder(framework: ModuleType) -> Any:
    return transformer(framework, width=512, heads=8, layers=4, causal=False, head=10)


def _gpt(framework: ModuleType) -> Any:
    return transformer(framework, width=384, heads=6, layers=6, causal=True, head=512)


WORKS = (
    Work("digits, batch 64", digits, _features(64, 64)),
    Work("digits, batch 64, SGD", digits, _features(64, 64), optimizer="SGD"),
    Work("convolutional, batch 128", convolutional, _features(128, 3, 32, 32)),
    Work("convolutional, batch 128, bfloat16", convolutional, _features(128, 3, 32, 32), autocast=True),
    Work("transformer, batch 32 x 128", _encoder, _tokens(32, 128, 10)),
    Work("transformer, batch 32 x 128, bfloat16", _encoder, _tokens(32, 128, 10), autocast=True),
    Work("GPT, batch 32 x 256", _gpt, _tokens(32, 256), optimizer="AdamW"),
    Work("GPT, batch 32 x 256, bfloat16", _gpt, _tokens(32, 256), optimizer="AdamW", autocast=True),
)


def step_of(
    framework: ModuleType, work: Work, weights: dict[str, np.ndarray] | None = None, device: str = "cuda"
) -> tuple[Any, Any]:
    """Returns the network, on the device, and a function that trains it by a step and returns the loss."""
    x, target = work.inputs(np.random.default_rng(1))
    network = work.build(framework)
    tensor = framework.as_tensor if hasattr(framework, "as_tensor") else framework.tensor
    if weights is not None:
        network.load_state_dict({name: tensor(value) for name, value in weights.items()})
    network = network.to(device)
    images, classes = tensor(x).to(device), tensor(target).to(device)
    rate = {"lr": 0.01} if work.optimizer == "SGD" else {"lr": 1e-3}
    optimizer = getattr(framework.optim, work.optimizer)(network.parameters(), **rate)
    loss_of = framework.nn.functional.cross_entropy

    def step() -> Any:
        optimizer.zero_grad()
        if work.autocast:
            with framework.autocast(device, dtype=framework.bfloat16):
                loss = loss_of(network(images), classes)
        else:
            loss = loss_of(network(images), classes)
        loss.backward()
        optimizer.step()
        return loss

    return network, step
