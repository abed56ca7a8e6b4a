"""Trains on 1, 2 and 4 processes: digits with data parallelism, and a GPT whose layout changes on its way."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np

import lamella as lm
import lamella.distributed as dist
from lamella import data, nn, optim

HERE = Path(__file__).resolve().parent
COUNTS = (1, 2, 4)
TOLERANCE = 2e-3  # of losses in float32, whose sums are made in another order


# 1. Digits: every process has the whole network, and its share of each batch.


class Digits(nn.Module):
    """A small convolutional network for images of 8 x 8."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.head = nn.Linear(16 * 4, 10)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        x = lm.max_pool2d(lm.relu(self.first(x)), 2)
        return self.head(lm.flatten(lm.max_pool2d(lm.relu(self.second(x)), 2), 1))


def train_digits(epochs: int) -> list[float]:
    """Returns the mean loss of each epoch, of all processes together."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = (bunch.data[:1536].reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    dataset = data.TensorDataset(images, bunch.target[:1536].astype(np.int64))
    sampler = data.DistributedSampler(dataset, shuffle=True, seed=1)
    # Each step sees 64 images, whatever the number of processes.
    loader = data.DataLoader(dataset, batch_size=64 // dist.get_world_size(), sampler=sampler)
    lm.seed(0)
    model = dist.DistributedDataParallel(Digits())
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        total = lm.zeros([])
        for x, digit in loader:
            optimizer.zero_grad()
            loss = lm.cross_entropy(model(x), digit)
            loss.backward()
            optimizer.step()
            total = total + loss.detach()
        losses.append(dist.all_reduce(total / len(loader), "mean").item())
    return losses


# 2. A GPT: one process has it whole, two keep a half each, four are two pipelines of two stages.

LENGTH, WIDTH, BATCH = 32, 32, 8


class Beginning(nn.Module):
    """Characters and their places, as vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(128, WIDTH), nn.Embedding(LENGTH, WIDTH)

    def forward(self, text: lm.Tensor) -> lm.Tensor:
        return self.letters(text) + self.places(lm.arange(text.shape[1]))


class Block(nn.Module):
    """Attention to what came before, then a network of each position."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.network = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        y = self.norm1(x)
        x = x + self.attention(y, y, y, is_causal=True)[0]
        return x + self.network(self.norm2(x))


def gpt() -> nn.Sequential:
    """Returns the network, the same on every process."""
    lm.seed(0)
    return nn.Sequential(Beginning(), *(Block() for _ in range(4)), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 128))


def surprise(scores: lm.Tensor, following: lm.Tensor) -> lm.Tensor:
    """Returns how surprising the following characters were, in nats for a character."""
    return lm.cross_entropy(scores.reshape([-1, 128]), following.reshape([-1]))


def batch(step: int) -> tuple[lm.Tensor, lm.Tensor]:
    """Returns the characters of a step, and those that follow them, from the sources of Python's library."""
    text = np.frombuffer((Path(sysconfig.get_path("stdlib")) / "inspect.py").read_bytes(), np.uint8) % 128
    starts = np.random.default_rng(step).integers(0, len(text) - LENGTH - 1, BATCH)
    rows = np.stack([text[start : start + LENGTH + 1] for start in starts]).astype(np.int64)
    return lm.asarray(rows[:, :-1]), lm.asarray(rows[:, 1:])


class Whole:
    """One process has everything."""

    def __init__(self) -> None:
        self.model = gpt()
        self.optimizer = optim.AdamW(self.model.parameters(), lr=3e-3)

    def gradients(self, text: lm.Tensor, following: lm.Tensor) -> lm.Tensor:
        """Adds the gradients of a batch. Returns its loss."""
        loss = surprise(self.model(text), following)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        return loss.detach()

    def held(self) -> dict[str, Any]:
        """Returns what this process keeps: of each parameter from where to where, as parts of it."""
        return {name: [0.0, 1.0] for name, _ in self.model.named_parameters()}


class Halves:
    """Each process keeps its part of parameters, gradients and the optimizer's state, and sees a share of the batch."""

    def __init__(self) -> None:
        self.model = dist.FullyShardedDataParallel(gpt(), stage=3)
        self.optimizer = optim.AdamW(self.model.parameters(), lr=3e-3)

    def gradients(self, text: lm.Tensor, following: lm.Tensor) -> lm.Tensor:
        rank, size = dist.get_rank(), dist.get_world_size()
        share = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
        loss = surprise(self.model(text[share]), following[share])
        loss.backward()
        self.model.clip_grad_norm_(1.0)
        return dist.all_reduce(loss.detach(), "mean")

    def held(self) -> dict[str, Any]:
        found = {}
        for name, part in self.model.sharded_state_dict().items():
            first, size = part.box.starts[0], part.box.sizes[0]
            if size:
                found[name] = [first / part.box.space[0], (first + size) / part.box.space[0]]
        return found


class Pipelines:
    """Two pipelines, each with half of the batch; a pipeline has two stages, each with half of the layers."""

    def __init__(self) -> None:
        mesh = lm.placement("cpu", [[0, 1], [2, 3]])
        twins, line = mesh.group(0), mesh.group(1)
        self.number, _ = mesh.coordinate()
        self.model = dist.Pipeline(
            gpt(),
            microbatches=2,
            loss=surprise,
            group=line,
            wrap=lambda stage: dist.DistributedDataParallel(stage, group=twins),
        )
        self.optimizer = optim.AdamW(self.model.parameters(), lr=3e-3)

    def gradients(self, text: lm.Tensor, following: lm.Tensor) -> lm.Tensor:
        share = slice(self.number * BATCH // 2, (self.number + 1) * BATCH // 2)
        loss = self.model.step(text[share], following[share])
        self.model.clip_grad_norm_(1.0)
        return dist.all_reduce(loss, "mean")

    def held(self) -> dict[str, Any]:
        return {name: [0.0, 1.0] for name in self.model.state_dict()}


def train_gpt(layout: Any, first: int, last: int, folder: Path | None) -> list[float]:
    """Returns the loss of each step; with a folder, goes on from the checkpoint there and leaves one."""
    if folder is not None and first:
        dist.load_checkpoint(folder, model=layout.model, optimizer=layout.optimizer)
    losses = []
    for step in range(first, last):
        layout.optimizer.zero_grad()
        losses.append(layout.gradients(*batch(step)).item())
        layout.optimizer.step()
    if folder is not None:
        dist.save_checkpoint(folder, last, model=layout.model, optimizer=layout.optimizer, keep=1)
    return losses


# 3. What each of the processes runs.


def work(options: argparse.Namespace) -> None:
    """Trains on this process and the others of its group, and has rank 0 write down what came out."""
    dist.init_process_group()
    size = dist.get_world_size()
    found: dict[str, Any] = {"digits": train_digits(options.epochs)}
    layout = {1: Whole, 2: Halves, 4: Pipelines}[size]()
    found["held"] = dist.all_gather_object(layout.held())
    turn = COUNTS.index(size)
    found["gpt"] = train_gpt(layout, turn * options.steps, (turn + 1) * options.steps, options.out / "run")
    if size == 1:
        found["sizes"] = {name: p.size for name, p in layout.model.named_parameters()}
        found["alone"] = train_gpt(Whole(), 0, len(COUNTS) * options.steps, None)
    if dist.get_rank() == 0:
        (options.out / f"{size}.json").write_text(json.dumps(found))


# 4. What starts them, and looks at what they did.


def draw(found: dict[int, dict[str, Any]], path: Path) -> None:
    """The losses; and the mesh of each number of processes, with what each process keeps of the GPT."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        print("no picture: matplotlib is not installed")
        return
    figure = Figure(figsize=(13, 7.6), layout="constrained")
    axes = figure.subplot_mosaic([["digits", "gpt", "mesh"], ["held", "held", "held"]])
    # The curves lie on each other: those below are wider.
    for count, width in zip(COUNTS, (8, 4.5, 1.5), strict=True):
        losses = found[count]["digits"]
        axes["digits"].plot(range(1, len(losses) + 1), losses, ".-", linewidth=width, label=f"processes: {count}")
    axes["digits"].set(title="digits: loss by epoch", xlabel="epoch")
    axes["gpt"].plot(found[1]["alone"], color="0.7", linewidth=4, label="one process")
    start = 0
    for count in COUNTS:
        losses = found[count]["gpt"]
        axes["gpt"].plot(range(start, start + len(losses)), losses, label=f"then on {count}" if start else "on 1")
        start += len(losses)
    axes["gpt"].set(title="GPT: loss by step", xlabel="step")
    for name in ("digits", "gpt"):
        axes[name].grid(alpha=0.3)
        axes[name].legend()

    both = {"arrowstyle": "<->", "color": "0.4"}
    for rank in range(4):
        x, y = rank % 2, -(rank // 2)
        axes["mesh"].text(
            x,
            y,
            f"rank {rank}",
            ha="center",
            va="center",
            color="white",
            bbox={"boxstyle": "round", "facecolor": f"C{rank}"},
        )
    for k in range(2):
        axes["mesh"].annotate("", (0.8, -k), (0.2, -k), arrowprops=both)
        axes["mesh"].text(0.5, 0.08 - k, "activations\nand their gradients", ha="center", fontsize="small")
        axes["mesh"].annotate("", (k, -0.85), (k, -0.15), arrowprops=both)
        axes["mesh"].text(
            k, -0.5, "averages of\ngradients", ha="center", va="center", fontsize="small", backgroundcolor="w"
        )
    axes["mesh"].set(title="4 processes: two pipelines of two stages", xlim=(-0.4, 1.4), ylim=(-1.3, 0.4))
    axes["mesh"].set_axis_off()

    sizes = found[1]["sizes"]
    edges = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
    labels, row = [], 0.0
    for count in COUNTS:
        for rank, held in enumerate(found[count]["held"]):
            for name, (first, last) in held.items():
                left, width = edges[name] + first * sizes[name], (last - first) * sizes[name]
                axes["held"].barh(row, width, left=left, height=0.8, color=f"C{rank}")
            place = f"pipeline {rank // 2}, stage {rank % 2}" if count == 4 else "half" if count == 2 else "whole"
            labels.append((row, f"rank {rank} of {count}: {place}"))
            row += 1.0
        row += 0.5
    for name, edge in edges.items():
        if name.count(".") == 1 or ".norm1.weight" in name:  # where a module begins
            axes["held"].axvline(edge, color="white", linewidth=0.8)
    axes["held"].set(
        title="who keeps which parameters of the GPT, in the order of its layers",
        xlabel="parameters, counted from the first",
        yticks=[at for at, _ in labels],
        yticklabels=[text for _, text in labels],
        xlim=(0, sum(sizes.values())),
    )
    axes["held"].invert_yaxis()
    figure.savefig(path, dpi=100)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8, help="passes over the digits (default: 8)")
    parser.add_argument(
        "--steps", type=int, default=40, help="steps of the GPT on each number of processes (default: 40)"
    )
    parser.add_argument("--short", action="store_true", help="an epoch and two steps, to see that it runs")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="folder for the results (default: out, here)")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.short:
        options.epochs, options.steps = 1, 2
    if options.epochs < 1 or options.steps < 1:
        parser.error("--epochs and --steps are at least 1")
    if options.work:
        work(options)
        return 0

    options.out.mkdir(parents=True, exist_ok=True)
    found = {}
    for count in COUNTS:
        launch = [sys.executable, "-m", "lamella.distributed.launch", "-n", str(count), __file__, "--work"]
        settings = ["--epochs", str(options.epochs), "--steps", str(options.steps), "--out", str(options.out)]
        subprocess.run([*launch, *settings], check=True)
        found[count] = json.loads((options.out / f"{count}.json").read_text())
        digits, losses = found[count]["digits"], found[count]["gpt"]
        print(f"processes: {count}   digits {digits[-1]:.4f}   GPT {losses[0]:.4f} to {losses[-1]:.4f}")
    draw(found, options.out / "mesh.png")
    print(f"mesh.png and the last checkpoint (run) are in {options.out}")

    apart = max(float(np.max(np.abs(np.subtract(found[n]["digits"], found[1]["digits"])))) for n in COUNTS)
    together = [loss for count in COUNTS for loss in found[count]["gpt"]]
    changed = float(np.max(np.abs(np.subtract(together, found[1]["alone"]))))
    print(f"losses differ by at most {max(apart, changed):.0e} from those of one process")
    if max(apart, changed) > TOLERANCE:
        print(f"that is more than {TOLERANCE}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
