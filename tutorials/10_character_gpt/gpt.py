"""A GPT that writes Python, one character at a time, after reading the sources of the standard library."""

from __future__ import annotations

import argparse
import math
import re
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import lamella as lm
from lamella import data, nn, optim
from lamella.progress import progress

HERE = Path(__file__).resolve().parent
REQUIRED_LOSS = 2.2  # nats for a character; 3.6 is what knowing how common each is would give


# 1. The text, as numbers: the sources of Python's own library, most of which is ASCII.

ALPHABET = "\t\n" + "".join(map(chr, range(32, 127)))  # what is not in it becomes a space
LETTERS = np.frombuffer(ALPHABET.encode("ascii"), np.uint8)


def encode(text: str) -> np.ndarray:
    """Returns the place of each character in the alphabet, as uint8; a step of indentation is one character, a tab."""
    text = re.sub(r"^(?: {4})+", lambda match: "\t" * (len(match[0]) // 4), text.expandtabs(4), flags=re.MULTILINE)
    table = np.full(256, ALPHABET.index(" "), np.uint8)
    table[LETTERS] = np.arange(len(LETTERS))
    return table[np.frombuffer(text.encode("latin-1", "replace"), np.uint8)]


def decode(places: np.ndarray) -> str:
    """Returns the text of places in the alphabet."""
    return LETTERS[places].tobytes().decode("ascii").expandtabs(4)


def load_text(files: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Returns the characters of the library's modules to learn from, and those of every tenth, held out."""
    library = Path(sysconfig.get_path("stdlib"))
    paths = sorted(library.glob("*.py"))[:files]
    texts = [encode(path.read_text("utf-8", errors="replace") + "\n") for path in paths]
    return np.concatenate([t for i, t in enumerate(texts) if i % 10]), np.concatenate(texts[::10])


class Windows(data.Dataset):
    """Pieces of a text: ``length`` characters, and for each the one that follows it."""

    def __init__(self, text: np.ndarray, length: int, stride: int) -> None:
        self.text = np.lib.stride_tricks.sliding_window_view(text, length + 1)[::stride]

    def __len__(self) -> int:
        return len(self.text)

    def __getbatch__(self, numbers) -> tuple[lm.Tensor, lm.Tensor]:
        # The windows overlap in memory: only those of this batch are copied.
        rows = self.text[np.asarray(numbers)].astype(np.int64)
        return lm.asarray(rows[:, :-1]), lm.asarray(rows[:, 1:])


# 2. The network: causal attention, with a cache of keys and values for writing.


@dataclass
class Sizes:
    length: int = 128
    width: int = 128
    heads: int = 4
    layers: int = 3


class Cache:
    """Keys and values of the characters seen so far, for one layer of attention."""

    def __init__(self) -> None:
        self.keys: lm.Tensor | None = None
        self.values: lm.Tensor | None = None

    def extend(self, keys: lm.Tensor, values: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
        """Adds those of new characters. Returns all."""
        if self.keys is not None:
            keys, values = lm.concat([self.keys, keys], axis=2), lm.concat([self.values, values], axis=2)
        self.keys, self.values = keys, values
        return keys, values


class Attention(nn.Module):
    """Each character looks at those before it. Source: Vaswani et al. 2017, "Attention is all you need"."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.qkv = nn.Linear(sizes.width, 3 * sizes.width, bias=False)
        self.out = nn.Linear(sizes.width, sizes.width, bias=False)

    def forward(self, x: lm.Tensor, cache: Cache | None = None) -> lm.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(x).reshape([batch, length, 3, self.heads, width // self.heads]).permute_dims([2, 0, 3, 1, 4])
        q, k, v = lm.unstack(qkv)
        if cache is not None:
            k, v = cache.extend(k, v)
        # A single new character may see everything in the cache. Several at once need the causal mask.
        y = lm.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        return self.out(y.permute_dims([0, 2, 1, 3]).reshape([batch, length, width]))


class Block(nn.Module):
    """Attention, then a network of each position, both added to what comes in."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(sizes.width), nn.LayerNorm(sizes.width)
        self.attention = Attention(sizes)
        self.network = nn.Sequential(
            nn.Linear(sizes.width, 4 * sizes.width), nn.GELU(), nn.Linear(4 * sizes.width, sizes.width)
        )

    def forward(self, x: lm.Tensor, cache: Cache | None = None) -> lm.Tensor:
        x = x + self.attention(self.norm1(x), cache)
        return x + self.network(self.norm2(x))


class GPT(nn.Module):
    """Scores of the next character.

    Source: Radford et al. 2019, "Language models are unsupervised multitask learners".
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.letters = nn.Embedding(len(ALPHABET), sizes.width)
        self.places = nn.Embedding(sizes.length, sizes.width)
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(sizes.width)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                # Layers whose output is added to the residual stream begin smaller, so that the sum does not grow with
                # the number of blocks.
                added = name.endswith(("attention.out.weight", "network.2.weight"))
                nn.init.normal_(parameter, 0.0, 0.02 / math.sqrt(2 * sizes.layers) if added else 0.02)

    def forward(self, text: lm.Tensor, caches: list[Cache] | None = None, start: int = 0) -> lm.Tensor:
        """Returns scores of what follows each character, ``(batch, length, len(ALPHABET))``.

        Args:
            text: places in the alphabet, ``(batch, length)``.
            caches: one for each block, which know the characters before ``text`` and learn those in it.
            start: the place of the first character.
        """
        place = lm.arange(start, start + text.shape[1])
        x = self.letters(text) + self.places(place)
        for number, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[number])
        # The embedding of the letters is also the weight of the last layer.
        return self.norm(x) @ self.letters.weight.mT


# 3. Training, with a checkpoint from which the same command goes on.


def loss_of(model: GPT, text: lm.Tensor, following: lm.Tensor) -> lm.Tensor:
    """Returns how surprising the following characters were, in nats for a character."""
    return lm.cross_entropy(model(text).reshape([-1, len(ALPHABET)]), following.reshape([-1]))


@lm.no_grad()
def held_out_loss(model: GPT, windows: Windows, batches: int = 16) -> float:
    """Returns the mean loss on some windows of held-out text, the same ones each time."""
    numbers = np.linspace(0, len(windows) - 1, batches * 8).astype(np.int64).reshape(batches, 8)
    return float(np.mean([loss_of(model, *windows.__getbatch__(row)).item() for row in numbers]))


def endless(loader: data.DataLoader) -> Iterator[tuple[lm.Tensor, lm.Tensor]]:
    """Yields batches, epoch after epoch."""
    while True:
        yield from loader


def train(model: GPT, training: Windows, held_out: Windows, steps: int, out: Path) -> list[dict[str, float]]:
    """Trains for as many steps in all, from where the newest checkpoint in ``out`` stands. Returns the losses."""
    # Matrices decay, biases and norms do not.
    matrices = [p for p in model.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if p.ndim != 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = optim.AdamW(groups, lr=2e-3, betas=(0.9, 0.98))
    schedule = optim.OneCycleLR(optimizer, max_lr=2e-3, total_steps=steps, pct_start=0.1)
    loader = data.DataLoader(training, batch_size=16, shuffle=True, drop_last=True)
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule, "loader": loader}
    first, history = 0, []
    if (out / "run").exists():
        found = lm.io.load_checkpoint(out / "run", **parts)
        first, history = found.step, found.values["history"]
        print(f"going on from step {first}")
    bar = progress(range(first + 1, steps + 1), description="training", unit="step", file=sys.stdout)
    for step, (text, following) in zip(bar, endless(loader), strict=False):
        loss = loss_of(model, text, following)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        bar.set(loss=loss.item())
        if step == 1 or step % 100 == 0 or step == steps:
            history.append({"step": step, "loss": loss.item(), "held out": held_out_loss(model, held_out)})
            bar.write("step {step:4}   loss {loss:.3f}   held out {held out:.3f}".format(**history[-1]))
        if step % 200 == 0 or step == steps:
            lm.io.save_checkpoint(out / "run", step, **parts, history=history, keep=1)
    return history


# 4. Writing. With a cache the network computes each character once, without one all characters again each time.


@lm.no_grad()
def write(model: GPT, beginning: str, count: int, cached: bool, temperature: float = 0.0, seed: int = 0) -> str:
    """Goes on with a text by ``count`` characters.

    Args:
        model: says what may follow.
        beginning: the text, which together with what is added is no longer than the model's ``length``.
        count: the number of characters.
        cached: keep keys and values of what has been seen.
        temperature: 0 takes the likeliest character; 1 draws each as often as the model expects it.
        seed: of the draws.
    """
    generator = lm.Generator(seed=seed)
    text = lm.asarray(encode(beginning).astype(np.int64)[None])
    caches = [Cache() for _ in model.blocks] if cached else None
    seen = 0
    for _ in range(count):
        scores = model(text[:, seen:], caches, start=seen)[:, -1]
        if cached:
            seen = text.shape[1]
        if temperature == 0.0:
            chosen = scores.argmax(axis=1, keepdims=True)
        else:
            chosen = lm.multinomial(lm.softmax(scores / temperature), 1, generator=generator)
        text = lm.concat([text, chosen], axis=1)
    return decode(text[0].numpy())


def draw(history: list[dict[str, float]], text: np.ndarray, path: Path) -> None:
    """The loss by step on training and held-out text, beside the losses of two simple guesses."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        print("no picture: matplotlib is not installed")
        return
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    axes = figure.subplots()
    for name, label in (("loss", "a training batch"), ("held out", "held-out text")):
        axes.plot([row["step"] for row in history], [row[name] for row in history], label=label)
    shares = np.bincount(text, minlength=len(ALPHABET)) / len(text)
    common = -np.sum(shares * np.log(shares, where=shares > 0, out=np.zeros_like(shares)))
    for level, label in (
        (math.log(len(ALPHABET)), "if all were equally likely"),
        (common, "knowing how common each is"),
    ):
        axes.axhline(level, color="0.6", linestyle=":")
        axes.annotate(label, (0.98, level), (0, 3), ("axes fraction", "data"), "offset points", ha="right", color="0.4")
    axes.set(xlabel="step", title="surprise at the next character (nats)", ylim=(0, 5.2))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000, help="steps in all (default: 1000)")
    parser.add_argument("--short", action="store_true", help="a small network and twenty steps, to see that it runs")
    parser.add_argument("--seed", type=int, default=0, help="of the start, the order and the samples (default: 0)")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="folder for the results (default: out, here)")
    options = parser.parse_args()
    if options.steps < 1:
        parser.error("--steps is at least 1")
    sizes, steps = (Sizes(64, 32, 2, 2), 20) if options.short else (Sizes(), options.steps)

    lm.seed(options.seed)
    text, held_out_text = load_text(20 if options.short else None)
    training, held_out = (Windows(part, sizes.length, stride=16) for part in (text, held_out_text))
    model = GPT(sizes)
    print(f"{len(text) + len(held_out_text):,} characters; {sum(p.size for p in model.parameters()):,} parameters")
    options.out.mkdir(parents=True, exist_ok=True)
    history = train(model, training, held_out, steps, options.out)
    draw(history, text, options.out / "loss.png")

    model.eval()
    for beginning in ("def read(self", "class ", "    if not isinstance("):
        print(f"--- {beginning}")
        count = sizes.length - len(encode(beginning))
        print(write(model, beginning, count, cached=True, temperature=0.7, seed=options.seed))
    seconds, texts = {}, {}
    for cached in (False, True):
        began = time.perf_counter()
        texts[cached] = write(model, "import ", sizes.length - len("import "), cached)
        seconds[cached] = time.perf_counter() - began
    agree = texts[True] == texts[False]
    print(f"--- with a cache {seconds[True]:.2f} s, without {seconds[False]:.2f} s; the texts agree: {agree}")
    print(f"loss.png and checkpoints (run) are in {options.out}")
    print(f"surprise at held-out text: {history[-1]['held out']:.3f} nats for a character")
    if not agree or (not options.short and history[-1]["held out"] > REQUIRED_LOSS):
        print(f"the texts have to agree, and the surprise to be below {REQUIRED_LOSS}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
