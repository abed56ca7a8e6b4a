"""Trains a convolutional network to read handwritten digits, and shows which digits it takes for which."""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np

import lamella as lm
from lamella import data, nn, optim
from lamella.progress import progress

HERE = Path(__file__).resolve().parent
HELD_OUT = 360  # of 1797 images
REQUIRED_ACCURACY = 0.985


# 1. The images: 8 by 8 pixels, in float32 from 0 to 1, of shape (n, 1, 8, 8).


def load_data(seed: int) -> tuple[data.TensorDataset, data.TensorDataset]:
    """Images and digits to learn from, and others that are held out."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.random.default_rng(seed).permutation(len(bunch.target))
    images = (bunch.images[order] / 16).astype(np.float32)[:, None]
    digits = bunch.target[order].astype(np.int64)
    return (
        data.TensorDataset(images[HELD_OUT:], digits[HELD_OUT:]),
        data.TensorDataset(images[:HELD_OUT], digits[:HELD_OUT]),
    )


# 2. The network: a convolution applies the same weights to every pixel and its neighbors.


def block(inputs: int, outputs: int) -> nn.Module:
    """A convolution that keeps the image's size, batch normalization, and a ReLU."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class Network(nn.Module):
    """Scores of the ten digits for images: ``(n, 1, 8, 8)`` to ``(n, 10)``."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            block(1, 32),
            block(32, 32),
            nn.MaxPool2d(2),  # 8 by 8 becomes 4 by 4
            block(32, 64),
            block(64, 64),
            nn.MaxPool2d(2),  # and 2 by 2
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 2 * 2, 10))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        return self.head(self.features(x))


# 3. Augmentation: each image is turned, scaled and moved a little, differently in every epoch.


def augmented(images: lm.Tensor) -> lm.Tensor:
    """Turns images by up to 10 degrees, scales them by up to a tenth, and moves them by up to a pixel."""
    count = images.shape[0]
    angle = lm.uniform([count], -math.pi / 18, math.pi / 18)
    scale = lm.uniform([count], 0.9, 1.1)
    move = lm.uniform([2, count], -0.25, 0.25)  # the image reaches from -1 to 1, a pixel is a quarter
    cos, sin = lm.cos(angle) * scale, lm.sin(angle) * scale
    rows = lm.stack([lm.stack([cos, -sin, move[0]], axis=1), lm.stack([sin, cos, move[1]], axis=1)], axis=1)
    return lm.grid_sample(images, lm.affine_grid(rows, images.shape, align_corners=False), align_corners=False)


# 4. Training, and counting mistakes on held-out images.


def train_epoch(network: Network, loader: data.DataLoader, optimizer: optim.Optimizer, schedule: optim.LRScheduler):
    """One pass over the training images. Returns the mean loss and the accuracy on the images as they were seen."""
    network.train()
    loss_sum, right, seen = 0.0, 0, 0
    for images, digits in loader:
        optimizer.zero_grad()
        scores = network(augmented(images))
        loss = lm.cross_entropy(scores, digits, label_smoothing=0.05)
        loss.backward()
        optimizer.step()
        schedule.step()  # this schedule moves with each step, not with each epoch
        loss_sum += loss.item() * len(digits)
        right += (scores.argmax(axis=1) == digits).sum().item()
        seen += len(digits)
    return loss_sum / seen, right / seen


@lm.no_grad()
def confusion(network: Network, loader: data.DataLoader) -> np.ndarray:
    """Counts how often each digit (row) was read as each digit (column)."""
    network.eval()
    counts = lm.zeros([100], dtype="int64")
    for images, digits in loader:
        counts += lm.bincount(digits * 10 + network(images).argmax(axis=1), minlength=100)
    return counts.reshape([10, 10]).numpy()


# 5. Pictures.


def draw(history: list[dict[str, float]], counts: np.ndarray, path: Path) -> None:
    """Accuracy by epoch, the learning rate, and the confusion matrix."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        print("no picture: matplotlib is not installed")
        return
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    epochs = range(1, len(history) + 1)
    for name in ("training", "held out"):
        left.plot(epochs, [row[name] for row in history], label=name)
    left.set(xlabel="epoch", title="accuracy", ylim=(max(0.0, min(0.9, history[-1]["held out"] - 0.05)), 1.002))
    left.xaxis.get_major_locator().set_params(integer=True)
    left.grid(alpha=0.3)
    rate = left.twinx()
    rate.plot(epochs, [row["lr"] for row in history], color="gray", linestyle=":", label="learning rate")
    rate.set_yticks([])
    lines = [*left.get_lines(), *rate.get_lines()]
    left.legend(lines, [line.get_label() for line in lines], loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3)
    # Only mistakes are colored: on a common scale the diagonal would hide them.
    mistakes = counts - np.diag(np.diag(counts))
    right.imshow(mistakes, cmap="Reds", vmin=0, vmax=max(3, mistakes.max()))
    for row in range(10):
        for column in range(10):
            if counts[row, column]:
                right.text(column, row, counts[row, column], ha="center", va="center")
    right.set(xticks=range(10), yticks=range(10), xlabel="read as", ylabel="digit", title="held-out images")
    figure.savefig(path, dpi=110)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=15, help="passes over the training images (default: 15)")
    parser.add_argument("--short", action="store_true", help="two epochs, to see that it runs")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="folder for the results (default: out, here)")
    options = parser.parse_args()
    epochs = 2 if options.short else options.epochs
    if epochs < 1:
        parser.error("--epochs is at least 1")

    lm.seed(0)
    training, held_out = load_data(seed=0)
    loader = data.DataLoader(training, batch_size=64, shuffle=True, drop_last=True)
    held_out_loader = data.DataLoader(held_out, batch_size=len(held_out))

    network = Network()
    print(network.summary(lm.zeros([1, 1, 8, 8])))
    optimizer = optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = optim.OneCycleLR(optimizer, max_lr=3e-3, total_steps=epochs * len(loader))

    history = []
    began = time.perf_counter()
    bar = progress(range(1, epochs + 1), description="training", unit="epoch", file=sys.stdout)
    for epoch in bar:
        loss, accuracy = train_epoch(network, loader, optimizer, schedule)
        counts = confusion(network, held_out_loader)
        held_out_accuracy = np.trace(counts) / counts.sum()
        history.append({"training": accuracy, "held out": held_out_accuracy, "lr": optimizer.param_groups[0]["lr"]})
        bar.write(f"epoch {epoch:3}   loss {loss:.4f}   accuracy {accuracy:6.2%}   held out {held_out_accuracy:6.2%}")
    seconds = time.perf_counter() - began

    options.out.mkdir(parents=True, exist_ok=True)
    lm.io.save(network.state_dict(), options.out / "digits.safetensors")
    draw(history, counts, options.out / "digits.png")
    print(f"learned in {seconds:.1f} s; digits.png and digits.safetensors are in {options.out}")
    for digit, read in zip(*np.nonzero(counts - np.diag(np.diag(counts))), strict=True):
        print(f"a {digit} was read as {read}: {counts[digit, read]} of {counts[digit].sum()}")
    print(f"accuracy on held-out images: {held_out_accuracy:.2%}")
    if not options.short and held_out_accuracy < REQUIRED_ACCURACY:
        print(f"that is below {REQUIRED_ACCURACY:.1%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
