"""Networks and training steps, compiled and as they are: the same losses, parameters and gradients after some steps."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

STEPS = 8


class Squared(lm.PyLayer):
    """relu(x)², with a backward of its own."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        y = lm.relu(x)
        ctx.save_for_backward(y)
        return y * y

    @staticmethod
    def backward(ctx: Any, grad: lm.Tensor) -> lm.Tensor:
        (y,) = ctx.saved_tensor()
        return grad * 2 * y


class Block(lm.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = lm.nn.LayerNorm(width), lm.nn.LayerNorm(width)
        self.qkv, self.out = lm.nn.Linear(width, 3 * width), lm.nn.Linear(width, width)
        self.up, self.down = lm.nn.Linear(width, 4 * width), lm.nn.Linear(4 * width, width)
        self.dropout = lm.nn.Dropout(0.1)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        n, t, c = x.shape
        parts = lm.split(self.qkv(self.norm1(x)), 3, axis=-1)
        q, k, v = (part.reshape(n, t, 4, c // 4).permute_dims((0, 2, 1, 3)) for part in parts)
        y = lm.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(y.permute_dims((0, 2, 1, 3)).reshape(n, t, c)))
        return x + self.down(Squared.apply(self.up(self.norm2(x))))


class GPT(lm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = lm.nn.Embedding(17, 16), lm.nn.Embedding(8, 16)
        self.blocks = lm.nn.ModuleList([Block(16) for _ in range(4)])
        self.norm = lm.nn.LayerNorm(16)
        self.head = lm.nn.Linear(16, 17, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: lm.Tensor) -> lm.Tensor:
        x = self.tokens(ids) + self.places(lm.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Tagger(lm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = lm.nn.Embedding(17, 12)
        self.lstm = lm.nn.LSTM(12, 10, num_layers=2, batch_first=True)
        self.head = lm.nn.Linear(10, 17)

    def forward(self, ids: lm.Tensor) -> lm.Tensor:
        y, _ = self.lstm(self.embedding(ids))
        return self.head(y)


def convolutional() -> lm.nn.Module:
    return lm.nn.Sequential(
        lm.nn.Conv2d(1, 8, 3, padding=1),
        lm.nn.BatchNorm2d(8),
        lm.nn.ReLU(),
        lm.nn.MaxPool2d(2),
        lm.nn.Conv2d(8, 8, 3),
        lm.nn.GELU(),
        lm.nn.Dropout(0.2),
        lm.nn.Flatten(),
        lm.nn.Linear(32, 10),
    )


def perceptron() -> lm.nn.Module:
    return lm.nn.Sequential(lm.nn.Linear(64, 32), lm.nn.Tanh(), lm.nn.Linear(32, 10))


def images(rng: np.random.Generator) -> tuple[lm.Tensor, lm.Tensor]:
    return lm.tensor(rng.normal(size=(5, 1, 8, 8)).astype(np.float32)), lm.tensor(rng.integers(0, 10, 5))


def rows(rng: np.random.Generator) -> tuple[lm.Tensor, lm.Tensor]:
    return lm.tensor(rng.normal(size=(5, 64)).astype(np.float32)), lm.tensor(rng.integers(0, 10, 5))


def sentences(rng: np.random.Generator) -> tuple[lm.Tensor, lm.Tensor]:
    ids = rng.integers(0, 17, (3, 9))
    return lm.tensor(ids[:, :-1]), lm.tensor(ids[:, 1:])


NETWORKS: dict[str, tuple[Callable[[], lm.nn.Module], Callable[..., Any]]] = {
    "perceptron": (perceptron, rows),
    "convolutional": (convolutional, images),
    "lstm": (Tagger, sentences),
    "gpt": (GPT, sentences),
}


def step_of(net: lm.nn.Module, optimizer: Any, schedule: Any) -> Callable[..., Any]:
    def step(x: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        y = net(x)
        loss = lm.nn.functional.cross_entropy(y.reshape(-1, y.shape[-1]), target.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.detach()

    return step


def trained(net: lm.nn.Module, batches: Any, compile_: Any, dtype: Any, optimizer_of: Any) -> tuple[Any, Any]:
    net = copy.deepcopy(net).to(dtype)
    optimizer = optimizer_of(net.parameters())
    schedule = lm.optim.lr.StepLR(optimizer, 3)
    step = compile_(step_of(net, optimizer, schedule))
    lm.random.seed(3)
    rng = np.random.default_rng(0)
    losses = []
    for _ in range(STEPS):
        x, target = batches(rng)
        x = x.astype(dtype) if x.dtype == lm.float32 else x
        losses.append(float(step(x, target)))
    tensors = [x.detach().numpy() for x in [*net.parameters(), *net.buffers()]]
    return (losses, tensors), step


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NETWORKS)
def test_training_steps(name, dtype):
    make, batches = NETWORKS[name]
    lm.random.seed(1)
    net = make()
    for optimizer in (lambda ps: lm.optim.Adam(ps, lr=1e-2), lambda ps: lm.optim.SGD(ps, lr=0.1, momentum=0.9)):
        given = getattr(lm, dtype)
        expected, _ = trained(net, batches, lambda f: f, given, optimizer)
        got, step = trained(net, batches, lm.compile, given, optimizer)
        explanation = lm.compile.explain(step)
        assert len(explanation.graphs) == 1 and not explanation.breaks, str(explanation)
        close = 2e-4 if dtype == "float32" else 1e-10
        np.testing.assert_allclose(got[0], expected[0], close)
        for a, b in zip(got[1], expected[1], strict=True):
            np.testing.assert_allclose(a, b, close, close)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_compiled_module(name):
    make, batches = NETWORKS[name]
    lm.random.seed(1)
    net = make().eval()
    compiled = lm.compile(net)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, target = batches(rng)
        outcomes = []
        for run in (net, compiled):
            net.zero_grad()
            y = run(x)
            lm.nn.functional.cross_entropy(y.reshape(-1, y.shape[-1]), target.reshape(-1)).backward()
            outcomes.append([y.detach().numpy(), *(p.grad.numpy() for p in net.parameters())])
        for a, b in zip(*outcomes, strict=True):
            np.testing.assert_allclose(a, b, 1e-4, 1e-5)
    assert len(lm.compile.explain(compiled).graphs) == 1
    assert list(compiled.parameters()) == list(net.parameters())
