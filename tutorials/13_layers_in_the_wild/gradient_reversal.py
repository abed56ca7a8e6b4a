"""Features that do not tell where an example comes from, learned by a gradient that is turned round."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pictures

import lamella as lm
from lamella import nn, optim


class Reverse(lm.PyLayer):
    """Returns its input unchanged, and reverses the gradient.

    The layers before it then learn to make worse what the layers behind it learn to do better.

    Source: Ganin and Lempitsky 2015, "Unsupervised domain adaptation by backpropagation".
    """

    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.clone()

    @staticmethod
    def backward(ctx, dy):
        return -ctx.strength * dy


def moons(count: int, degrees: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns points of two half circles that reach into each other, turned, and which of them each belongs to."""
    labels = np.arange(count) % 2
    angle = rng.uniform(0, np.pi, count) + np.pi * labels
    points = np.stack([np.cos(angle) + labels - 0.5, np.sin(angle) + 0.5 * labels - 0.25], axis=1)
    points += rng.normal(0, 0.08, points.shape)
    turn = np.radians(degrees)
    points = points @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return points.astype(np.float32), labels


class Network(nn.Module):
    """Features, from which one head tells the half circle, and another the set that a point is from."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.label = nn.Linear(32, 2)
        self.domain = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        return self.label(self.features(x))


def train(strength: float, source: tuple, target: tuple, steps: int) -> tuple[Network, list[float]]:
    """Learns from labels of the source alone. Returns the network and its accuracy on the target as it went."""
    lm.seed(0)
    network = Network()
    optimizer = optim.Adam(network.parameters(), lr=3e-3)
    x, y, other = lm.asarray(source[0]), lm.asarray(source[1]), lm.asarray(target[0])
    domains = lm.concat([lm.zeros([len(x)], dtype="int64"), lm.ones([len(other)], dtype="int64")])
    history = []
    for step in range(steps):
        features = network.features(lm.concat([x, other]))
        # The strength grows from 0, as in the paper: a domain head that knows nothing has nothing to teach.
        now = strength * (2 / (1 + np.exp(-10 * step / steps)) - 1)
        loss = lm.cross_entropy(network.label(features[: len(x)]), y)
        loss = loss + lm.cross_entropy(network.domain(Reverse.apply(features, now)), domains)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(pictures.accuracy(network, other, lm.asarray(target[1])))
    return network, history


def run(out: Path, short: bool) -> None:
    """Adapts from two moons to the same moons, turned, whose labels nobody tells."""
    rng = np.random.default_rng(0)
    source, target = moons(300, 0, rng), moons(300, 35, rng)
    runs = {}
    for title, strength in (("without reversal", 0.0), ("with reversal", 1.0)):
        runs[title] = train(strength, source, target, 5 if short else 800)
        print(f"{title}: accuracy on the turned moons {runs[title][1][-1]:.1%}")
    assert short or runs["with reversal"][1][-1] > runs["without reversal"][1][-1] + 0.05

    figure, panels = pictures.figure(3)
    if figure is None:
        return
    across, up = np.meshgrid(np.linspace(-2.2, 2.2, 150), np.linspace(-1.8, 1.8, 150))
    grid = lm.asarray(np.stack([across, up], axis=-1).astype(np.float32))
    for panel, (title, (network, history)) in zip(panels, runs.items(), strict=False):
        with lm.no_grad():
            first = lm.softmax(network(grid), axis=-1)[..., 1].numpy()
        panel.contourf(across, up, first, levels=[0, 0.5, 1], colors=["#d6e4f2", "#f7dcd2"])
        for (points, labels), marker, name in ((source, ".", "labeled"), (target, "x", "turned, not labeled")):
            panel.scatter(*points.T, c=labels, cmap="coolwarm", marker=marker, s=18, linewidths=0.8, label=name)
        panel.set(title=f"{title}: {history[-1]:.1%}", xticks=[], yticks=[])
        panels[2].plot(history, label=title)
    panels[0].legend(loc="lower left")
    panels[2].set(xlabel="step", title="accuracy on the turned moons")
    panels[2].legend()
    pictures.save(figure, out / "gradient_reversal.png")
