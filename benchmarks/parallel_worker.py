"""A process of a training step that several may share.

`python -m benchmarks.parallel_worker FRAMEWORK NETWORK WAY SECONDS [first]`: the way is "plain" or "ddp"; the processes
are those that RANK and WORLD_SIZE tell of. Rank 0 prints, as JSON, the losses of the first steps, the seconds of one,
and those that the processors took for it, in the mean over the processes. With "first" the timed steps come before what
else runs on the machine, by the real-time class of its scheduler.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: Steps whose losses are shown, which also warm up.
SHOWN = 5


@dataclass(frozen=True)
class Network:
    """A network, by its layers' names and arguments in both frameworks, and the shape of a batch."""

    layers: tuple[tuple[Any, ...], ...]
    inputs: tuple[int, ...]
    #: Number of classes; of tokens, where the inputs are such.
    classes: int = 10
    tokens: bool = False


NETWORKS = {
    "mlp64": Network(
        (("Linear", 784, 256), ("ReLU",), ("Linear", 256, 256), ("ReLU",), ("Linear", 256, 10)), (64, 784)
    ),
    "mlp1024": Network(
        (("Linear", 784, 256), ("ReLU",), ("Linear", 256, 256), ("ReLU",), ("Linear", 256, 10)), (1024, 784)
    ),
    "conv": Network(
        (
            ("Conv2d", 1, 32, 3),
            ("ReLU",),
            ("MaxPool2d", 2),
            ("Conv2d", 32, 64, 3),
            ("ReLU",),
            ("MaxPool2d", 2),
            ("Flatten",),
            ("Linear", 1600, 10),
        ),
        (64, 1, 28, 28),
    ),
    "gpt": Network(
        (("Embedding", 128, 96), *[("Block", 96, 4)] * 4, ("LayerNorm", 96), ("Linear", 96, 128)), (8, 64), 128, True
    ),
}


def block_of(framework: Any) -> Any:
    """Returns the class of a transformer's blocks, of attention to what comes before and of two products."""
    nn = framework.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, size: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
            self.query, self.key, self.value, self.out = (nn.Linear(size, size) for _ in range(4))
            self.up, self.gelu, self.down = nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size)

        def forward(self, x: Any) -> Any:
            n, length, size = x.shape
            y = self.norm1(x)
            q, k, v = (
                layer(y).reshape((n, length, self.heads, size // self.heads)).swapaxes(1, 2)
                for layer in (self.query, self.key, self.value)
            )
            y = framework.attention(q, k, v, is_causal=True)
            x = x + self.out(y.swapaxes(1, 2).reshape((n, length, size)))
            return x + self.down(self.gelu(self.up(self.norm2(x))))

    return Block


class Lamella:
    """Functions of Lamella that a step calls."""

    def __init__(self) -> None:
        import lamella as lm

        self.nn, self.optim, self.no_grad, self.tensor = lm.nn, lm.optim, lm.no_grad, lm.tensor
        self.cross_entropy, self.attention = lm.cross_entropy, lm.scaled_dot_product_attention
        self._lm = lm

    def parallel(self, model: Any) -> Any:
        """Returns the model in data parallel form."""
        self._lm.distributed.init_process_group("gloo")
        return self._lm.distributed.DistributedDataParallel(model)

    def mean(self, value: float) -> float:
        """Returns the mean of the processes' values."""
        return float(self._lm.distributed.all_reduce(self._lm.tensor(value), "mean").item())


class Torch:
    """Functions of PyTorch that a step calls."""

    def __init__(self) -> None:
        import torch

        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        self.nn, self.optim, self.no_grad, self.tensor = torch.nn, torch.optim, torch.no_grad, torch.tensor
        self.cross_entropy = torch.nn.functional.cross_entropy
        self.attention = torch.nn.functional.scaled_dot_product_attention
        self._torch = torch

    def parallel(self, model: Any) -> Any:
        """Returns the model in data parallel form."""
        self._torch.distributed.init_process_group("gloo")
        return self._torch.nn.parallel.DistributedDataParallel(model)

    def mean(self, value: float) -> float:
        """Returns the mean of the processes' values."""
        x = self._torch.tensor(value)
        self._torch.distributed.all_reduce(x)
        return float(x.item()) / int(os.environ["WORLD_SIZE"])


FRAMEWORKS: dict[str, Callable[[], Any]] = {"lamella": Lamella, "torch": Torch}


def step_of(framework: Any, network: Network, way: str, rank: int, size: int) -> Callable[[], Any]:
    """Returns a training step on this process's share of the batch, which returns the loss."""
    import numpy as np  # the driver, which knows the networks, may have none

    rng = np.random.default_rng(0)
    made = {"Block": block_of(framework)}
    layers = [(made.get(name) or getattr(framework.nn, name))(*given) for name, *given in network.layers]
    model = framework.nn.Sequential(*layers)
    with framework.no_grad():
        for p in model.parameters():
            p.copy_(framework.tensor((rng.standard_normal(tuple(p.shape)) * 0.05).astype(np.float32)))
    count = network.inputs[0] // size
    share = slice(rank * count, (rank + 1) * count)
    if network.tokens:
        text = rng.integers(0, network.classes, network.inputs)
        x, target = framework.tensor(text[share]), framework.tensor(np.roll(text, -1, axis=1)[share].reshape(-1))
    else:
        x = framework.tensor(rng.standard_normal(network.inputs).astype(np.float32)[share])
        target = framework.tensor(rng.integers(0, network.classes, network.inputs[0])[share])
    if way == "ddp":
        model = framework.parallel(model)
    optimizer = framework.optim.SGD(model.parameters(), lr=0.01)

    def step() -> Any:
        optimizer.zero_grad()
        loss = framework.cross_entropy(model(x).reshape((-1, network.classes)), target)
        loss.backward()
        optimizer.step()
        return loss

    return step


def schedule(policy: int, priority: int) -> None:
    """Puts all threads of this process into a class of the scheduler."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setscheduler(int(thread), policy, os.sched_param(priority))


def main(name: str, network: str, way: str, seconds: float, *, first: bool = False) -> None:
    """Prints losses and the time of a step."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a framework prints must not get into the answer
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    framework = FRAMEWORKS[name]()
    step = step_of(framework, NETWORKS[network], way, rank, size)
    shared = framework.mean if way == "ddp" else float
    losses = [shared(step().item()) for _ in range(SHOWN)]
    if first:
        schedule(os.SCHED_RR, 1)
    start = time.perf_counter()
    for _ in range(SHOWN):
        step()
    # All processes take as many steps.
    count = max(1, round(SHOWN * seconds / shared(time.perf_counter() - start)))
    start, processors = time.perf_counter(), time.process_time()
    for _ in range(count):
        step()
    taken = shared((time.perf_counter() - start) / count)
    processors = shared((time.process_time() - processors) / count)
    if first:
        schedule(os.SCHED_OTHER, 0)
    if rank == 0:
        print(json.dumps({"losses": losses, "seconds": taken, "processors": processors}), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), first=sys.argv[5:] == ["first"])
    # PyTorch's threads of Gloo may end the process by a signal as the interpreter ends, when all has been said.
    sys.stderr.flush()
    os._exit(0)
