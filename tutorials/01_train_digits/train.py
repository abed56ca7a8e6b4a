"""Trains a network with two layers of its own, one in Python and one in C++, to read handwritten digits."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import lamella as lm
from lamella import optim
from lamella.progress import progress

HERE = Path(__file__).resolve().parent
HELD_OUT = 360  # of 1797 images
REQUIRED_ACCURACY = 0.97

try:
    from layers import Digits
except ModuleNotFoundError as error:
    if error.name != "digits_layers":
        raise
    sys.exit("The layer in scaled_tanh.cc has not been compiled yet. `./dev train` does that; or see README.md here.")


def load_data(seed: int) -> tuple[np.ndarray, ...]:
    """Training images and digits, then held-out ones; pixels from 0 to 1."""
    from sklearn.datasets import load_digits

    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.target))
    images = (data.data[order] / 16).astype(np.float32)
    digits = data.target[order].astype(np.int64)
    return images[HELD_OUT:], digits[HELD_OUT:], images[:HELD_OUT], digits[:HELD_OUT]


def shifted(images: np.ndarray, rng: np.random.Generator, share: float = 0.3) -> np.ndarray:
    """Moves a share of the images by one pixel in a random direction, so that they cannot be learned by heart."""
    count = len(images)
    framed = np.pad(images.reshape(count, 8, 8), ((0, 0), (1, 1), (1, 1)))
    moves = np.where(rng.random(count) < share, rng.integers(0, 3, (2, count)), 1)
    rows, columns = moves[:, :, None] + np.arange(8)
    return framed[np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]].reshape(count, 64)


def train_epoch(
    network: Digits, optimizer: optim.Optimizer, images: np.ndarray, digits: np.ndarray, order: np.ndarray, batch: int
) -> tuple[float, float]:
    """One pass over the training images in the given order. Returns the mean loss and the accuracy."""
    losses, right = 0.0, 0
    network.train()
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        x, y = lm.asarray(images[chosen]), lm.asarray(digits[chosen])
        optimizer.zero_grad()
        scores = network(x)
        loss = lm.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()
        losses += loss.item() * len(chosen)
        right += int((scores.detach().numpy().argmax(axis=1) == digits[chosen]).sum())
    return losses / len(order), right / len(order)


@lm.no_grad()
def evaluate(network: Digits, images: np.ndarray, digits: np.ndarray) -> tuple[float, float]:
    """Returns the mean loss and the accuracy on images that the network does not learn from."""
    network.eval()
    scores = network(lm.asarray(images))
    loss = lm.cross_entropy(scores, lm.asarray(digits)).item()
    return loss, float((scores.numpy().argmax(axis=1) == digits).mean())


def draw_curves(history: dict[str, list[float]], path: Path) -> None:
    """Loss and accuracy by epoch, for both sets, as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), constrained_layout=True)
    epochs = range(1, len(history["loss"]) + 1)
    for axis, name in zip(axes, ("loss", "accuracy"), strict=True):
        axis.plot(epochs, history[name], label="training")
        axis.plot(epochs, history[f"held-out {name}"], label="held out")
        axis.set(xlabel="epoch", title=name)
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training images (default: 30)")
    parser.add_argument("--batch", type=int, default=32, help="images in one step (default: 32)")
    parser.add_argument("--lr", type=float, default=3e-3, help="learning rate at the start (default: 0.003)")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the start and the order (default: 0)")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="folder for the results (default: out, here)")
    options = parser.parse_args()
    if options.epochs < 1 or options.batch < 1:
        parser.error("--epochs and --batch are at least 1")

    images, digits, held_out_images, held_out_digits = load_data(options.seed)
    lm.seed(options.seed)
    rng = np.random.default_rng(options.seed)
    network = Digits()
    optimizer = optim.AdamW(network.parameters(), lr=options.lr)
    schedule = optim.CosineAnnealingLR(optimizer, options.epochs)
    print(network)
    print(f"{len(images)} images to learn from, {len(held_out_images)} held out")

    history: dict[str, list[float]] = {}
    began = time.perf_counter()
    bar = progress(range(1, options.epochs + 1), description="training", unit="epoch", file=sys.stdout)
    for epoch in bar:
        order = rng.permutation(len(images))
        seen = shifted(images, rng)
        loss, accuracy = train_epoch(network, optimizer, seen, digits, order, options.batch)
        held_out_loss, held_out_accuracy = evaluate(network, held_out_images, held_out_digits)
        schedule.step()
        figures = {
            "loss": loss,
            "accuracy": accuracy,
            "held-out loss": held_out_loss,
            "held-out accuracy": held_out_accuracy,
        }
        for name, value in figures.items():
            history.setdefault(name, []).append(value)
        bar.set(loss=loss, accuracy=f"{accuracy:.1%}")
        bar.write(
            f"epoch {epoch:3}   loss {loss:.4f}   accuracy {accuracy:6.2%}   "
            f"held out: loss {held_out_loss:.4f}   accuracy {held_out_accuracy:6.2%}"
        )
    seconds = time.perf_counter() - began

    options.out.mkdir(parents=True, exist_ok=True)
    lm.io.save(network.state_dict(), options.out / "digits.safetensors", {"accuracy": f"{held_out_accuracy:.4f}"})
    draw_curves(history, options.out / "curves.png")
    print(f"learned in {seconds:.1f} s; curves.png and digits.safetensors are in {options.out}")
    print(f"accuracy on held-out images: {held_out_accuracy:.2%}")
    if held_out_accuracy < REQUIRED_ACCURACY:
        print(f"that is below {REQUIRED_ACCURACY:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
