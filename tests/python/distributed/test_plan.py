"""Plans count what formulas and real processes say."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.distributed import Device, GlobalTensor, Link, _carrier, distribute, parallelize, plan
from lamella.distributed.mesh import placement

from .models import LAYOUTS, MODELS, made
from .ranks import run

SIZE, HIDDEN, BATCH = 8, 32, 16


def _mlp(**settings: Any) -> nn.Module:
    return nn.Sequential(
        nn.Linear(SIZE, HIDDEN, bias=False, **settings), nn.Tanh(), nn.Linear(HIDDEN, SIZE, bias=False, **settings)
    )


def _batch() -> lm.Tensor:
    return lm.empty([BATCH, SIZE], device="meta")


def test_data_parallel_by_formula() -> None:
    n, weights = 4, 2 * SIZE * HIDDEN * 4
    found = plan(_mlp(), placement("cpu", range(n)), [_batch()], optimizer=lm.optim.Adam)
    one = found.bottleneck
    assert one.memory["parameters"] == one.memory["gradients"] == weights
    assert one.memory["optimizer state"] == 2 * weights
    assert one.memory["inputs"] == BATCH // n * SIZE * 4
    # What tanh is given, and its result, which serves the product, too.
    assert one.memory["activations"] == 2 * BATCH // n * HIDDEN * 4
    [key] = one.traffic
    assert key == ("backward", "all_reduce", 0) and one.traffic[key].count == 2
    assert one.traffic[key].sent == pytest.approx(2 * (n - 1) / n * weights)
    flops = 4 * (BATCH // n) * SIZE * HIDDEN
    assert one.work["forward"].flops == flops and one.work["backward"].flops == 2 * flops
    assert one.total_memory == sum(one.memory.values()) and found.fits


def test_time_by_formula() -> None:
    link, device = Link(latency=1e-3, bandwidth=1e6), Device(flops=1e6, bandwidth=1e12, memory=100.0, efficiency=0.5)
    found = plan(_mlp(), placement("cpu", range(4)), [_batch()], links=[link], device=device)
    one = found.bottleneck
    weight = SIZE * HIDDEN * 4
    assert one.communication_time == pytest.approx(2 * (4 * 1e-3 + 2 * 3 / 4 * weight / 1e6))
    assert one.compute_time == pytest.approx(3 * 4 * 4 * SIZE * HIDDEN / 0.5e6, rel=1e-3)
    assert found.time == one.time == one.compute_time + one.communication_time
    assert not found.fits and "of 100 B" in repr(found)


def test_tensor_parallel_needs_no_weights_of_others() -> None:
    layout = {"0": "S(0)", "2": "S(1)"}
    found = plan(_mlp(), placement("cpu", range(4)), [_batch()], layout=layout, input_sbp="B")
    one = found.bottleneck
    assert one.memory["parameters"] == 2 * SIZE * HIDDEN * 4 // 4
    assert {name for _, name, _ in one.traffic} <= {"reduce_scatter", "all_reduce", "all_gather"}


def test_the_bottleneck_has_the_largest_parts() -> None:
    found = plan(_mlp(), placement("cpu", range(3)), [_batch()], layout={"*": "S(0)"})
    assert [one.rank for one in found.processes] == [0, 2] and found.bottleneck.rank == 0
    assert found.processes[0].total_memory > found.processes[1].total_memory


@pytest.mark.parametrize("layout", ["tensor", "sharded", "data and tensor", "images by channel"])
def test_collectives_are_those_of_processes(layout: str) -> None:
    name, shape, signatures, given = LAYOUTS[layout]
    x, target = (lm.asarray(one) for one in MODELS[name][1:])

    def loss(result: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        return lm.cross_entropy(result, lm.reshape(target, (-1,)))

    mesh = placement("cpu", np.arange(int(np.prod(shape))).reshape(shape))
    found = plan(made(name), mesh, [x], [target], layout=signatures, input_sbp=given, loss=loss)
    expected: collections.Counter[str] = collections.Counter()
    for (phase, collective, _), traffic in found.processes[0].traffic.items():
        if phase == "forward":
            expected[collective] += traffic.count

    def work(rank: int) -> Any:
        model = parallelize(made(name), mesh, signatures, synchronize=False)
        own = [distribute(one, mesh, given) for one in (x, target)]
        log = _carrier.current().log  # type: ignore[attr-defined]
        log.clear()
        loss(model(own[0]), own[1])
        return collections.Counter(one for one, _ in log)

    # The stand-in's maximum is logged inside its layer, as it is counted here.
    assert run(mesh.size, work)[0] == expected


def test_sixteen_thousand_processes_and_a_model_without_memory() -> None:
    mesh = placement("cuda", np.arange(16384).reshape(2048, 8))
    model = _mlp(device="meta", dtype="bfloat16")
    before = list(model.parameters())
    batch = lm.empty([4096, SIZE], dtype="bfloat16", device="meta")
    found = plan(model, mesh, [batch], layout={"0": ("B", "S(0)"), "2": ("B", "S(1)")}, optimizer=lm.optim.SGD)
    assert [one.rank for one in found.processes] == [0, 16383] and found.bottleneck.memory[
        "parameters"
    ] == 2 * 2 * SIZE * HIDDEN // 8
    assert all(x is y for x, y in zip(before, model.parameters(), strict=True))
    assert not any(isinstance(x, GlobalTensor) for x in model.parameters())
    text = repr(found)
    assert text.startswith("16384 processes in a mesh of [2048, 8]; the bottleneck is process 0")
    assert "activations" in text and "all_reduce" in text and "TFLOP" in text


def test_mistakes_leave_the_model_as_it_was() -> None:
    model = _mlp()
    with pytest.raises(ValueError, match="fit no parameter"):
        plan(model, placement("cpu", [0, 1]), [_batch()], layout={"x": "B"})
    with pytest.raises(RuntimeError, match="has no SBP rule"):
        plan(model, placement("cpu", [0, 1]), [_batch()], loss=lambda y: lm.kron(y, y).sum())
    assert all(type(x) is nn.Parameter for x in model.parameters())
