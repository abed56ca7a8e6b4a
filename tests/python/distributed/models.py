"""Models and their training, for comparison between one process and several."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import lamella as lm
from lamella import nn
from lamella.distributed import distribute, parallelize
from lamella.distributed.mesh import placement


class Block(nn.Module):
    """Attention and a layer of two products, each beside the values themselves."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attention = nn.MultiheadAttention(size, 4, batch_first=True)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        y = self.norm1(x)
        x = x + self.attention(y, y, y, is_causal=True)[0]
        return x + self.down(lm.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """A small GPT; with `checkpointed`, blocks are run again in backward."""

    def __init__(self, checkpointed: bool = False, vocabulary: int = 13, size: int = 16, length: int = 6) -> None:
        super().__init__()
        self.checkpointed = checkpointed
        self.tokens, self.places = nn.Embedding(vocabulary, size), nn.Embedding(length, size)
        self.blocks = nn.ModuleList([Block(size), Block(size)])
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, vocabulary)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        y = self.tokens(x) + self.places(lm.arange(x.shape[1]))
        for block in self.blocks:
            y = lm.checkpoint(block, y) if self.checkpointed else block(y)
        return lm.reshape(self.head(self.norm(y)), (-1, 13))


class Scale(lm.PyLayer):
    """Doubles, with a rule."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        return x * 2.0

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        return dy * 2.0

    @staticmethod
    def sbp(call: Any) -> Any:
        axes = range(call.tensors[0].ndim)
        return [([f"S({i})"], [f"S({i})"]) for i in axes]


class Convolutional(nn.Module):
    """Convolutions, norms and pools on images of 8 x 8, and a layer of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 6, 3, padding=1), nn.Conv2d(6, 8, 3)
        self.norm, self.head = nn.GroupNorm(2, 6), nn.Linear(8 * 9, 10)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        y = lm.relu(self.norm(self.first(x)))
        y = Scale.apply(lm.max_pool2d(lm.relu(self.second(y)), 2))
        return self.head(lm.flatten(y, 1))


_rng = np.random.default_rng(4)
TOKENS, NEXT = _rng.integers(0, 13, (4, 6)), _rng.integers(0, 13, (4, 6))
IMAGES, LABELS = _rng.standard_normal((6, 1, 8, 8)), _rng.integers(0, 10, 6)

#: By name: what makes the model, its inputs and targets.
MODELS: dict[str, tuple[Callable[[], nn.Module], Any, Any]] = {
    "transformer": (Transformer, TOKENS, NEXT),
    "checkpointed": (lambda: Transformer(checkpointed=True), TOKENS, NEXT),
    "convolutional": (Convolutional, IMAGES, LABELS),
}
#: Megatron-LM's ways.
TENSOR_PARALLEL = {
    "tokens": "S(0)",
    "head": "S(0)",
    "blocks.*.attention.[qkv]_proj": "S(0)",
    "blocks.*.attention.out_proj": "S(1)",
    "blocks.*.up": "S(0)",
    "blocks.*.down": "S(1)",
}


def made(name: str) -> nn.Module:
    """The model, the same each time, in float64."""
    lm.random.seed(0)
    model = MODELS[name][0]()
    return model.to("float64")


def train(model: nn.Module, x: lm.Tensor, target: lm.Tensor, steps: int = 3) -> list[float]:
    """The losses of some steps."""
    optimizer = lm.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        loss = lm.cross_entropy(model(x), lm.reshape(target, (-1,)))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def train_whole(name: str) -> tuple[list[float], dict[str, Any]]:
    """Losses, and parameters afterwards, of one process."""
    model = made(name)
    losses = train(model, lm.asarray(MODELS[name][1]), lm.asarray(MODELS[name][2]))
    return losses, {key: x.numpy() for key, x in model.state_dict().items()}


def train_parallel(
    model: nn.Module, name: str, shape: tuple[int, ...], layout: dict[str, Any], given: Any
) -> tuple[list[float], dict[str, Any]]:
    """The same over a mesh."""
    mesh = placement("cpu", np.arange(int(np.prod(shape))).reshape(shape))
    model = parallelize(copy.deepcopy(model), mesh, layout)
    x, target = (distribute(lm.asarray(one), mesh, given) for one in MODELS[name][1:])
    losses = train(model, x, target)
    return losses, {key: one.numpy() for key, one in model.state_dict().items()}


_BOTH = {key: ("B", one) for key, one in TENSOR_PARALLEL.items()}
#: Model, mesh, signatures of parameters, and of the batch.
LAYOUTS: dict[str, tuple[str, tuple[int, ...], dict[str, Any], Any]] = {
    "data": ("transformer", (2,), {}, "S(0)"),
    "tensor": ("transformer", (2,), TENSOR_PARALLEL, "B"),
    "sequence": ("transformer", (3,), {}, "S(1)"),
    "sharded": ("transformer", (2,), {"*": "S(0)"}, "S(0)"),
    "data and tensor": ("transformer", (2, 2), _BOTH, ["S(0)", "B"]),
    "sharded and tensor": (
        "transformer",
        (2, 2),
        {key: ("S(1)" if key != "blocks.*.up" else "S(0)", one) for key, one in TENSOR_PARALLEL.items()},
        ["S(0)", "B"],
    ),
    "checkpointed": ("checkpointed", (2, 2), _BOTH, ["S(0)", "B"]),
    "images by batch": ("convolutional", (4,), {}, "S(0)"),
    "images by channel": (
        "convolutional",
        (2,),
        {"first": "S(0)", "norm": "S(0)", "second": "S(1)", "head": "S(1)"},
        "B",
    ),
}
