"""Data parallel training: several processes do what one does with all of their samples."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import lamella as lm
import lamella.distributed as dist

from .running import by_mpirun, needs_gloo, needs_mpi, together


@needs_gloo
def test_processes_train_as_one_does(tmp_path: Path) -> None:
    done = together("training", 2, tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == 2


@needs_gloo
@pytest.mark.skipif(sys.platform != "linux", reason="the bytes of connections are counted as Linux does")
@pytest.mark.parametrize("n", [2, 3])
def test_steps_send_no_more_than_they_must(n: int, tmp_path: Path) -> None:
    """Plain data parallel ones, and those of the three stages of models in parts."""
    done = together("sent", n, tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == n


@needs_mpi
def test_processes_train_as_one_does_over_mpi() -> None:
    done = by_mpirun("training", 2, LAMELLA_TEST_BACKEND="mpi")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == 2


def test_one_process_trains_as_without(rng: np.random.Generator) -> None:
    layer = lm.nn.Linear(3, 2)
    model = dist.DistributedDataParallel(layer, group="self")
    x = lm.asarray(rng.normal(size=(4, 3)).astype("float32"))
    with model.no_sync(), model.join():
        model(x).sum().backward()
    np.testing.assert_allclose(layer.bias.grad.numpy(), [4.0, 4.0])
    assert [name for name, _ in model.named_parameters()] == ["module.weight", "module.bias"]


def test_one_process_costs_one_call_of_python(rng: np.random.Generator) -> None:
    layer = lm.nn.Linear(3, 2)
    x = lm.asarray(rng.normal(size=(4, 3)).astype("float32"))
    seen: list[str] = []

    def calls(model: lm.nn.Module) -> list[str]:
        seen.clear()
        sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_qualname) if event == "call" else None)
        try:
            model(x).sum().backward()
        finally:
            sys.setprofile(None)
        return [name for name in seen if not name.startswith("test_")]

    model = dist.DistributedDataParallel(layer, group="self")
    assert calls(model) == ["DistributedDataParallel.forward", *calls(layer)]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: lm.nn.ReLU(), ValueError, "no parameter of the model wants a gradient"),
        (lambda: lm.nn.Linear(2, 2).requires_grad_(False), ValueError, "no parameter of the model wants a gradient"),
    ],
)
def test_a_model_without_parameters_is_refused(make, error, words) -> None:
    with pytest.raises(error, match=words):
        dist.DistributedDataParallel(make(), group="self")
    for size in (0, "1"):
        with pytest.raises(ValueError, match="bucket_mb is a number of more than 0"):
            dist.DistributedDataParallel(lm.nn.Linear(1, 1), group="self", bucket_mb=size)
    with pytest.raises(TypeError, match=r"module is an nn\.Module, not Tensor"):
        dist.DistributedDataParallel(lm.ones([1]), group="self")
