"""Pictures and data that the layers of this folder share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import lamella as lm

HELD_OUT = 360  # of 1797 images


def figure(columns: int) -> tuple[Any, Any]:
    """Returns a figure of matplotlib and its panels; None and None where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return None, None
    made = Figure(figsize=(4.2 * columns, 3.6), layout="constrained")
    return made, np.atleast_1d(made.subplots(1, columns))


def save(made: Any, path: Path) -> None:
    """Writes a figure."""
    made.savefig(path, dpi=100)
    print(f"picture: {path}")


def load_digits() -> tuple[lm.Tensor, lm.Tensor, lm.Tensor, lm.Tensor]:
    """Returns images of 64 pixels from 0 to 1 and their digits, to learn from and held out."""
    from sklearn.datasets import load_digits as load

    bunch = load()
    order = np.random.default_rng(0).permutation(len(bunch.target))
    images = lm.asarray((bunch.data[order] / 16).astype(np.float32))
    digits = lm.asarray(bunch.target[order].astype(np.int64))
    return images[HELD_OUT:], digits[HELD_OUT:], images[:HELD_OUT], digits[:HELD_OUT]


@lm.no_grad()
def accuracy(network: Any, images: lm.Tensor, digits: lm.Tensor) -> float:
    """Returns the share of images that are read correctly."""
    return (network(images).argmax(axis=1) == digits).astype("float32").mean().item()
