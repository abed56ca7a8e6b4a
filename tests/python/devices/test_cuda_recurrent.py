"""Recurrent layers on CUDA: a product and a kernel for each step, both ways, with the CPU's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from support import emulation

pytestmark = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")

LAYERS: dict[str, Callable[..., nn.Module]] = {
    "tanh": nn.RNN,
    "relu": lambda *sizes, **settings: nn.RNN(*sizes, nonlinearity="relu", **settings),
    "lstm": nn.LSTM,
    "gru": nn.GRU,
}
STEPS = 7


def run(layer: nn.Module, x: lm.Tensor) -> list[np.ndarray[Any, Any]]:
    """Results and gradients of a layer."""
    x = x.detach()
    x.stop_gradient = False
    y, last = layer(x)
    states = last if isinstance(last, tuple) else (last,)
    loss = (y * y).sum() + sum((s * (i + 2)).sum() for i, s in enumerate(states))
    loss.backward()
    made = [y, *states, x.grad, *(p.grad for p in layer.parameters())]
    return [t.detach().numpy() for t in made if t is not None]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_numbers_are_those_of_the_cpu(name, bidirectional, dtype):
    lm.seed(5)
    layer = LAYERS[name](3, 4, num_layers=2, bidirectional=bidirectional).to("cpu", dtype)
    x = lm.asarray(np.random.default_rng(1).normal(size=(STEPS, 2, 3)).astype(dtype), device="cpu")
    wanted = run(layer, x)
    for p in layer.parameters():
        p.grad = None
    found = run(layer.to("cuda"), x.to("cuda"))
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, tolerance, tolerance)


@pytest.mark.parametrize("name", LAYERS)
def test_a_step_is_two_launches(name):
    def counts(steps: int) -> int:
        x = lm.rand([steps, 2, 3], device="cuda")
        run(layer, x)
        with emulation.counted() as counted:
            run(layer, x)
        return counted["launches"]

    layer = LAYERS[name](3, 4).to("cuda")
    few, many = counts(STEPS), counts(2 * STEPS)
    assert many - few == 4 * STEPS  # two forward, two backward
