"""Parameters, gradients and state in parts: several processes do what one does with all of their samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
import lamella.distributed as dist
from lamella.distributed._units import chosen_units

from .running import by_mpirun, needs_gloo, needs_mpi, together


@needs_gloo
@pytest.mark.parametrize("n", [2, 4])
def test_processes_train_as_one_does(n: int, tmp_path: Path) -> None:
    checks = (
        [] if n == 2 else ["as_one_process", "states", "beside_global_tensors"]
    )  # the others depend little on the number
    done = together("sharded", n, tmp_path, *checks)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == n


@needs_mpi
def test_processes_train_as_one_does_over_mpi() -> None:
    done = by_mpirun("sharded", 2, "as_one_process", LAMELLA_TEST_BACKEND="mpi")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == 2


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_one_process_trains_as_without(stage: int, rng: np.random.Generator) -> None:
    layer = lm.nn.Linear(3, 2)
    start = {key: x.numpy().copy() for key, x in layer.state_dict().items()}
    model = dist.FullyShardedDataParallel(layer, stage=stage, group="self", group_by=lambda name, p: p.ndim)
    x = lm.asarray(rng.normal(size=(4, 3)).astype("float32"))
    with model.no_sync(), model.summon_full_params():
        model(x).sum().backward()
    np.testing.assert_allclose(layer.bias.grad.numpy(), [4.0, 4.0])  # type: ignore[union-attr]
    assert model.shards(1) == [layer.bias] and list(model.parameters()) == list(layer.parameters())
    norm = np.sqrt(sum(np.sum(p.grad.numpy() ** 2) for p in layer.parameters()))  # type: ignore[union-attr]
    np.testing.assert_allclose(model.clip_grad_norm_(1.0).item(), norm, rtol=1e-6)
    optimizer = lm.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    optimizer.step()
    for states in (model.sharded_state_dict(), model.state_dict()):
        assert list(states) == list(start)
        model.load_state_dict({key: lm.asarray(x) for key, x in start.items()})
    state = model.optimizer_state_dict(optimizer)
    assert list(state["state"]) == ["weight", "bias"]
    other = lm.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    model.load_optimizer_state_dict(other, state)
    for p in layer.parameters():
        assert other.state[id(p)]["momentum_buffer"].tolist() == optimizer.state[id(p)]["momentum_buffer"].tolist()
    assert other.param_groups[0]["lr"] == 0.1


def test_one_process_computes_in_another_dtype(rng: np.random.Generator) -> None:
    layer = lm.nn.Linear(3, 2)
    start = layer.weight.detach().numpy().copy()
    model = dist.FullyShardedDataParallel(layer, group="self", dtype="bfloat16")
    x = lm.asarray(rng.normal(size=(4, 3)).astype("float32"))
    assert model(x).dtype == lm.bfloat16
    model(x).sum().backward()
    lm.optim.SGD(model.parameters(), lr=1.0).step()
    expected = start - x.astype("bfloat16").astype("float32").numpy().sum(0)
    np.testing.assert_allclose(model.state_dict()["weight"].numpy(), expected, rtol=1e-2, atol=2e-2)
    assert model.state_dict()["weight"].dtype == lm.float32


def _net() -> lm.nn.Module:
    return lm.nn.Sequential(
        lm.nn.Linear(2, 2), lm.nn.Sequential(lm.nn.Linear(2, 2), lm.nn.Linear(2, 2)), lm.nn.ModuleList([lm.nn.ReLU()])
    )


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        (None, ["0", "1", "2.0"]),
        (lm.nn.Linear, ["0", "1.0", "1.1"]),
        ((lm.nn.Linear, lm.nn.ReLU), ["0", "1.0", "1.1", "2.0"]),
        (lambda part: isinstance(part, lm.nn.Sequential), ["1"]),
    ],
)
def test_units(units: Any, expected: list[str]) -> None:
    net = _net()
    names = {id(part): name for name, part in net.named_modules()}
    assert [names[id(part)] for part in chosen_units(net, units)] == expected


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dist.FullyShardedDataParallel(lm.nn.ReLU(), group="self"), "no parameter of the model wants"),
        (lambda: dist.FullyShardedDataParallel(lm.nn.Linear(1, 1), stage=True, group="self"), "stage is 1, 2 or 3"),
        (lambda: dist.FullyShardedDataParallel(lm.nn.Linear(1, 1), stage=4, group="self"), "stage is 1, 2 or 3, not 4"),
        (
            lambda: dist.FullyShardedDataParallel(
                dist.FullyShardedDataParallel(lm.nn.Linear(1, 1), group="self"), group="self"
            ),
            "the model is one already",
        ),
        (
            lambda: dist.FullyShardedDataParallel(lm.nn.Linear(1, 1), group="self").shards("a"),
            "group_by returned 'a' for no parameter",
        ),
        (
            lambda: dist.FullyShardedDataParallel(lm.nn.Linear(1, 1), group="self").clip_grad_norm_(-1.0),
            "max_norm is at least 0",
        ),
    ],
)
def test_mistakes_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_arguments_of_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match=r"module is an nn\.Module, not Tensor"):
        dist.FullyShardedDataParallel(lm.ones([1]), group="self")  # type: ignore[arg-type]
    for units in (3, (lm.nn.Linear, "x")):
        with pytest.raises(TypeError, match="units are types of modules or a function, not"):
            dist.FullyShardedDataParallel(lm.nn.Linear(1, 1), group="self", units=units)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ignored has modules and parameters, not str"):
        dist.FullyShardedDataParallel(lm.nn.Linear(1, 1), group="self", ignored=["weight"])  # type: ignore[list-item]
    for options in ({"dtype": "int32"}, {"reduce_dtype": lm.bool}):
        with pytest.raises(TypeError, match="dtype and reduce_dtype are floating ones, not"):
            dist.FullyShardedDataParallel(lm.nn.Linear(1, 1), group="self", **options)


def test_a_scaler_of_one_process_is_the_plain_one() -> None:
    layer = lm.nn.Linear(1, 1)
    optimizer = lm.optim.SGD(layer.parameters(), lr=0.1)
    scaler = dist.ShardedGradScaler(group="self", init_scale=2.0)
    scaler.scale(layer(lm.ones([1, 1])).sum()).backward()
    layer.bias.grad.fill_(float("nan"))  # type: ignore[union-attr]
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 1.0
