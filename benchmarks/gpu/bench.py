"""Times Lamella on a GPU beside the PyTorch that is there, on the same work in one process, and writes a report.

python -m benchmarks.gpu.bench [--output FOLDER] [--only PART...]

Each row is the median of 20 runs after 5, between synchronizations; small operators are timed by the thousand. Columns:
what was run, Lamella's and PyTorch's time, Lamella's by PyTorch's, and what Lamella reached of the memory or the
processors.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lamella as lm
from benchmarks.gpu.networks import WORKS, step_of

try:
    import torch
except ImportError:
    torch = None

GIBIBYTE = 1 << 30


def seconds(function: Callable[[], Any], synchronize: Callable[[], Any], count: int = 1) -> float:
    """Returns the median time of a call."""
    for _ in range(5):
        function()
    synchronize()
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(count):
            function()
        synchronize()
        times.append((time.perf_counter() - begin) / count)
    return statistics.median(times)


class Table:
    """The rows of a report."""

    def __init__(self) -> None:
        self.lines = ["| work | Lamella | PyTorch | ratio | reached |", "|---|---|---|---|---|"]

    def row(
        self, name: str, ours: Callable[[], Any], theirs: Callable[[], Any], *, count: int = 1, **of: float
    ) -> None:
        """Times both and adds a line; `bytes` or `operations` say what a call moves or computes."""
        try:
            own = seconds(ours, lm.cuda.synchronize, count)
        except (NotImplementedError, RuntimeError, TypeError) as error:
            self.lines.append(f"| {name} | {type(error).__name__}: {str(error)[:90]} | | | |")
            return
        other = seconds(theirs, torch.cuda.synchronize, count) if torch else float("nan")
        reached = ""
        if "bytes" in of:
            reached = f"{of['bytes'] / own / 1e12:.2f} TB/s"
        if "operations" in of:
            reached = f"{of['operations'] / own / 1e12:.0f} TFLOP/s"
        self.lines.append(f"| {name} | {own * 1e6:.1f} µs | {other * 1e6:.1f} µs | {own / other:.2f} | {reached} |")
        print(self.lines[-1], flush=True)


def memory_bound(table: Table) -> None:
    """Elementwise operators and reductions over a gibibyte."""
    n = GIBIBYTE // 4
    x, t = lm.rand([n], device="cuda"), torch.rand(n, device="cuda")
    table.row("copy of 1 GiB", x.clone, t.clone, bytes=2 * GIBIBYTE)
    table.row("add 1 GiB float32", lambda: x + x, lambda: t + t, bytes=2 * GIBIBYTE)
    table.row("exp 1 GiB float32", lambda: lm.exp(x), lambda: torch.exp(t), bytes=2 * GIBIBYTE)
    table.row("sum 1 GiB float32", lambda: x.sum(), lambda: t.sum(), bytes=GIBIBYTE)
    a, b = x.reshape([n // 4096, 4096]), t.reshape(n // 4096, 4096)
    table.row("sum of rows of 4096", lambda: a.sum(axis=1), lambda: b.sum(dim=1), bytes=GIBIBYTE)
    table.row("sum over rows, 4096 columns", lambda: a.sum(axis=0), lambda: b.sum(dim=0), bytes=GIBIBYTE)
    table.row(
        "softmax of rows of 4096", lambda: lm.softmax(a, axis=1), lambda: torch.softmax(b, dim=1), bytes=2 * GIBIBYTE
    )
    w, v = lm.ones([4096], device="cuda"), torch.ones(4096, device="cuda")
    table.row(
        "layer_norm of rows of 4096",
        lambda: lm.layer_norm(a, [4096], w, w),
        lambda: torch.nn.functional.layer_norm(b, (4096,), v, v),
        bytes=2 * GIBIBYTE,
    )


def products(table: Table) -> None:
    """Matrix products."""
    for name in ("float32", "bfloat16", "float16"):
        for n in (1024, 8192):
            x = lm.randn([n, n], device="cuda").astype(name)
            t = torch.randn(n, n, device="cuda").to(getattr(torch, name))
            table.row(f"matmul {n}³ {name}", lambda x=x: x @ x, lambda t=t: t @ t, operations=2.0 * n**3)


def small(table: Table) -> None:
    """Operators on few elements, where calls cost more than kernels."""
    x, t = lm.ones([64], device="cuda"), torch.ones(64, device="cuda")
    table.row("add of 64", lambda: x + x, lambda: t + t, count=1000)
    g, h = lm.ones([64], device="cuda"), torch.ones(64, device="cuda", requires_grad=True)
    g.stop_gradient = False
    table.row("mul of 64 on the tape", lambda: g * x, lambda: h * t, count=1000)
    table.row(
        "backward of a chain of 10",
        lambda: _chain(g).sum().backward(),
        lambda: _chain(h).sum().backward(),
        count=20,
    )


def _chain(x: Any) -> Any:
    for _ in range(10):
        x = x * 1.5
    return x


def spatial(table: Table) -> None:
    """Convolutions, pools and resampling of images, with their gradients; float32 without TF32, as products are."""
    torch.backends.cudnn.allow_tf32 = False
    there = torch.nn.functional
    for name in ("float32", "bfloat16"):
        dtype = getattr(torch, name)
        for channels, size, kernel, groups in ((64, 56, 3, 1), (256, 14, 3, 1), (256, 56, 1, 1), (128, 56, 3, 128)):
            x = lm.randn([32, channels, size, size], device="cuda").astype(name)
            w = lm.randn([channels, channels // groups, kernel, kernel], device="cuda").astype(name)
            u, v = torch.randn(x.shape, device="cuda", dtype=dtype), torch.randn(w.shape, device="cuda", dtype=dtype)
            work = f"conv2d {channels}x{size}² {kernel}x{kernel}" + (" depthwise" if groups > 1 else "") + f" {name}"
            operations = 2.0 * x.size * (channels // groups) * kernel**2
            both = dict(padding=kernel // 2, groups=groups)
            table.row(
                work,
                lambda x=x, w=w, both=both: lm.conv2d(x, w, **both),
                lambda u=u, v=v, both=both: there.conv2d(u, v, **both),
                operations=operations,
            )
            _with_gradients(
                table,
                work,
                lambda x, w, both=both: lm.conv2d(x, w, **both),
                (x, w),
                lambda u, v, both=both: there.conv2d(u, v, **both),
                (u, v),
                operations=3 * operations,
            )
    x, u = lm.randn([32, 64, 112, 112], device="cuda"), torch.randn(32, 64, 112, 112, device="cuda")
    moved = 4.0 * x.size
    _with_gradients(
        table,
        "max_pool2d 3x3",
        lambda x: lm.max_pool2d(x, 3, 2, 1),
        (x,),
        lambda u: there.max_pool2d(u, 3, 2, 1),
        (u,),
        bytes=2 * moved,
    )
    _with_gradients(
        table,
        "avg_pool2d 3x3",
        lambda x: lm.avg_pool2d(x, 3, 2, 1),
        (x,),
        lambda u: there.avg_pool2d(u, 3, 2, 1),
        (u,),
        bytes=2.5 * moved,
    )
    _with_gradients(
        table,
        "interpolate bilinear 2x",
        lambda x: lm.interpolate(x, scale_factor=2.0, mode="bilinear"),
        (x,),
        lambda u: there.interpolate(u, scale_factor=2.0, mode="bilinear"),
        (u,),
        bytes=10 * moved,
    )


def _with_gradients(
    table: Table,
    name: str,
    ours: Callable[..., Any],
    own: tuple[Any, ...],
    theirs: Callable[..., Any],
    other: tuple[Any, ...],
    **of: float,
) -> None:
    """A row for a call and the gradients of all that it takes."""
    for x in own:
        x.stop_gradient = False
    for t in other:
        t.requires_grad_(True)
    dy, dz = lm.ones_like(ours(*own)), torch.ones_like(theirs(*other))
    table.row(
        f"{name}, with gradients",
        lambda: lm.grad(ours(*own), own, dy),
        lambda: torch.autograd.grad(theirs(*other), other, dz),
        **of,
    )


def training(table: Table) -> None:
    """A step of a network of three layers with Adam."""
    for batch in (64, 4096):
        ours = lm.nn.Sequential(
            *(lm.nn.Linear(512, 2048), lm.nn.ReLU(), lm.nn.Linear(2048, 2048), lm.nn.ReLU(), lm.nn.Linear(2048, 10))
        )
        ours.to("cuda")
        own = lm.optim.Adam(ours.parameters(), lr=1e-3)
        x, y = lm.randn([batch, 512], device="cuda"), lm.zeros([batch], dtype="int64", device="cuda")

        def step(ours: Any = ours, own: Any = own, x: Any = x, y: Any = y) -> None:
            own.zero_grad()
            lm.nn.functional.cross_entropy(ours(x), y).backward()
            own.step()

        nn = torch.nn
        theirs = nn.Sequential(
            nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10)
        ).cuda()
        other = torch.optim.Adam(theirs.parameters(), lr=1e-3)
        u, v = torch.randn(batch, 512, device="cuda"), torch.zeros(batch, dtype=torch.int64, device="cuda")

        def their_step(theirs: Any = theirs, other: Any = other, u: Any = u, v: Any = v) -> None:
            other.zero_grad()
            torch.nn.functional.cross_entropy(theirs(u), v).backward()
            other.step()

        table.row(f"step of an MLP, batch {batch}", step, their_step, count=10)


def steps(table: Table) -> None:
    """Steps of the networks of training, from the same weights; a loss that is not PyTorch's makes the row an error."""
    for work in WORKS:
        network, their_step = step_of(torch, work)
        weights = {name: value.detach().cpu().numpy().copy() for name, value in network.state_dict().items()}
        _, step = step_of(lm, work, weights)
        mine, theirs = ([run().item() for _ in range(2)] for run in (step, their_step))
        if not np.allclose(mine, theirs, rtol=0.05 if work.autocast else 1e-3):
            table.lines.append(f"| step: {work.name} | losses {mine}, PyTorch's {theirs} | | | |")
            print(table.lines[-1], flush=True)
            continue
        table.row(f"step: {work.name}", step, their_step, count=5)


def attention(table: Table) -> None:
    """Attention of long sequences, forward and with gradients; a causal one counts half of the products."""
    for name in ("bfloat16", "float32"):
        for batch, heads, length, width in ((4, 16, 4096, 64), (4, 16, 4096, 128), (8, 12, 512, 64)):
            for causal in (False, True):
                if name == "float32" and (length, width) == (4096, 128):
                    continue
                shape = (batch, heads, length, width)
                own = tuple(lm.randn(shape, device="cuda").astype(name) for _ in range(3))
                other = tuple(torch.randn(shape, device="cuda", dtype=getattr(torch, name)) for _ in range(3))
                operations = 4.0 * batch * heads * length**2 * width / (2 if causal else 1)
                work = f"attention {batch}x{heads}x{length}x{width}{' causal' if causal else ''} {name}"

                _attention(table, work, own, other, causal, operations)


def _attention(
    table: Table, work: str, own: tuple[Any, ...], other: tuple[Any, ...], causal: bool, operations: float
) -> None:
    def ours(q: Any, k: Any, v: Any) -> Any:
        return lm.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def theirs(q: Any, k: Any, v: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    table.row(work, lambda: ours(*own), lambda: theirs(*other), operations=operations)
    _with_gradients(table, work, ours, own, theirs, other, operations=3.5 * operations)


PARTS = (small, memory_bound, products, spatial, training, steps, attention)


def main() -> None:
    """Runs all and writes the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--only", nargs="+", choices=[part.__name__ for part in PARTS], help="parts of the report")
    options = parser.parse_args()
    output = options.output
    if not lm.cuda.is_available():
        raise SystemExit("there is no CUDA device")
    if torch is None:
        raise SystemExit("there is no PyTorch to compare with")
    table = Table()
    for part in PARTS:
        if options.only and part.__name__ not in options.only:
            continue
        try:
            part(table)
        except Exception as error:  # the others are timed all the same
            table.lines.append(f"| {part.__name__} | {type(error).__name__}: {str(error)[:120]} | | | |")
    name = subprocess.run(
        ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True
    ).stdout.strip()
    head = f"# On {name}, {datetime.date.today().isoformat()}, beside PyTorch {torch.__version__}\n\n"
    text = head + "\n".join(table.lines) + "\n"
    output.mkdir(parents=True, exist_ok=True)
    (output / f"gpu-{datetime.date.today().isoformat()}.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
