"""Models whose parameters are cut where they are: several processes do what one does with all of their samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamella as lm
import lamella.distributed as dist

from .running import needs_gloo, together


@needs_gloo
@pytest.mark.parametrize("n", [2, 4])
def test_processes_train_as_one_does(n: int, tmp_path: Path) -> None:
    checks = (
        [] if n == 2 else ["as_one_process", "options", "replicas", "two_axes"]
    )  # the others depend little on the number
    done = together("fully_shard", n, tmp_path, *checks)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == n


def test_one_process_trains_as_without(rng: np.random.Generator) -> None:
    layer = lm.nn.Linear(3, 2)
    start = {key: x.numpy().copy() for key, x in layer.state_dict().items()}
    model = dist.fully_shard(layer)
    assert model is layer and [key for key, _ in model.named_parameters()] == ["weight", "bias"]
    x = lm.asarray(rng.normal(size=(4, 3)).astype("float32"))
    with dist.no_gradient_sync(model):
        model(x).sum().backward()
    model(x).sum().backward()
    np.testing.assert_allclose(model.bias.grad.whole().numpy(), [8.0, 8.0])  # type: ignore[union-attr]
    lm.optim.SGD(model.parameters(), lr=0.5).step()
    np.testing.assert_allclose(model.state_dict()["bias"].whole().numpy(), start["bias"] - 4.0, rtol=1e-6)
    expected = start["weight"] - np.stack([x.numpy().sum(0)] * 2)
    np.testing.assert_allclose(model.state_dict()["weight"].whole().numpy(), expected, rtol=1e-5, atol=1e-6)
