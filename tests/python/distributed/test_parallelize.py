"""Plain models over meshes: losses and parameters are those of one process."""

from __future__ import annotations

import copy
import functools
import threading
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.distributed import GlobalParameter, distribute, parallelize, sbp
from lamella.distributed.mesh import placement

from .models import LAYOUTS, TENSOR_PARALLEL, Transformer, made, train_parallel, train_whole
from .ranks import run

_whole = functools.cache(train_whole)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_training_is_that_of_one_process(layout: str) -> None:
    name, shape, plan, given = LAYOUTS[layout]
    losses, expected = _whole(name)
    model = made(name)
    lock = threading.Lock()  # threads deep-copy the one model

    def work(rank: int) -> Any:
        with lock:
            own = copy.deepcopy(model)
        return train_parallel(own, name, shape, plan, given)

    for found, parameters in run(int(np.prod(shape)), work):
        np.testing.assert_allclose(found, losses, rtol=1e-9)
        for key, value in expected.items():
            np.testing.assert_allclose(parameters[key], value, rtol=1e-6, atol=1e-9, err_msg=key)


OPTIMIZERS: list[Any] = [
    lambda p: lm.optim.AdamW(p, lr=0.05, weight_decay=0.1),
    lambda p: lm.optim.SGD(p, lr=0.05),
    lambda p: lm.optim.Adagrad(p, lr=0.05),
    lambda p: lm.optim.LAMB(p, lr=0.05),
    lambda p: lm.optim.Muon(p, lr=0.05),
]


@pytest.mark.parametrize("make", OPTIMIZERS, ids=lambda make: make.__code__.co_names[1])
def test_optimizers(make: Any) -> None:
    """Those that move element by element move parts; others see whole tensors."""
    rng = np.random.default_rng(3)
    start, x = rng.standard_normal((4, 6)), rng.standard_normal((5, 6))

    def steps(w: Any, x: Any) -> Any:
        optimizer = make([w])
        for _ in range(3):
            optimizer.zero_grad()
            (lm.linear(x, w) ** 2).mean().backward()
            optimizer.step()
        return w.detach().numpy()

    expected = steps(nn.Parameter(lm.asarray(start)), lm.asarray(x))

    def work(rank: int) -> Any:
        mesh = placement("cpu", [0, 1])
        holder = nn.Module()
        holder.w = nn.Parameter(lm.asarray(start))
        parallelize(holder, mesh, {"w": "S(0)"})
        return steps(holder.w, distribute(lm.asarray(x), mesh, "B"))

    for found in run(2, work):
        np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_states_are_whole_and_loaded_from_one_process() -> None:
    model = Transformer()
    state = {key: x.numpy() for key, x in model.state_dict().items()}
    lock = threading.Lock()

    def work(rank: int) -> None:
        with lock:
            other = copy.deepcopy(model)
        parallelize(other, placement("cpu", [0, 1]), TENSOR_PARALLEL)
        assert isinstance(other.tokens.weight, GlobalParameter) and isinstance(other.tokens.weight, nn.Parameter)
        assert other.tokens.weight.to_local().shape == ((7, 16) if rank == 0 else (6, 16))
        assert other.blocks[0].up.bias.sbp == (sbp.split(0),) and other.blocks[0].down.bias.sbp == (sbp.broadcast,)
        for key, x in other.state_dict().items():
            np.testing.assert_array_equal(x.numpy(), state[key])
        other.load_state_dict({key: lm.asarray(x * 2) for key, x in state.items()})
        for key, x in other.state_dict().items():
            np.testing.assert_array_equal(x.numpy(), 2 * state[key])

    run(2, work)


@pytest.mark.parametrize("plan", [{}, {"0": "S(0)", "1": "S(0)"}], ids=str)
@pytest.mark.parametrize("given", ["S(0)", "B"])
def test_batch_norm_sees_all_samples(plan: Any, given: str) -> None:
    x = np.random.default_rng(6).standard_normal((6, 3, 4, 4)) * 2 + 1

    def result(model: nn.Module, x: lm.Tensor) -> list[Any]:
        for _ in range(2):
            loss = (model(x) ** 2 * model[1].weight.sum()).mean()
            loss.backward()
        found = [loss.item(), *(x.numpy() for x in model.state_dict().values())]
        found += [p.grad.numpy() for p in model.parameters()]  # type: ignore[union-attr]
        model.eval()
        return [*found, model(x).detach().numpy()]

    def make() -> nn.Module:
        lm.random.seed(0)
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Tanh()).to("float64")

    model = make()
    states = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    expected = result(model, lm.asarray(x))

    def work(rank: int) -> Any:
        mesh = placement("cpu", [0, 1])
        own = make()
        own.load_state_dict({key: lm.asarray(value) for key, value in states.items()})
        return result(parallelize(own, mesh, plan), distribute(lm.asarray(x), mesh, given))

    for found in run(2, work):
        for value, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-7, atol=1e-9)


def test_shared_parameters_stay_shared() -> None:
    def work(rank: int) -> None:
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        model[1].weight = model[0].weight
        parallelize(model, placement("cpu", [0, 1]), {"*.weight": "S(0)"})
        assert model[1].weight is model[0].weight and len(list(model.parameters())) == 3

    run(2, work)


def test_a_star_leaves_what_has_no_such_axis_whole() -> None:
    """A batch norm counts its batches in a tensor of no axes."""

    def work(rank: int) -> None:
        for pattern in ("*", "norm", "n*"):
            model = nn.ModuleDict({"norm": nn.BatchNorm1d(4)})
            parallelize(model, placement("cpu", [0, 1]), {pattern: "S(0)"})
            found = {name: x.sbp[0].short for name, x in model.state_dict().items()}
            assert found.pop("norm.num_batches_tracked") == "B" and set(found.values()) == {"S(0)"}

    run(2, work)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"nothing": "S(0)"}, r"fit no parameter of Linear that has the axis: \['nothing'\]"),
        ({"*": "B", "": "S(2)"}, r"fit no parameter of Linear that has the axis: \[''\]"),
        ({"weight": "S(2)"}, "out of range for a tensor of 2 axes"),
        ({"w*": "S(2)"}, r"fit no parameter of Linear that has the axis: \['w\*'\]"),
        ({"weight": "P"}, "would be partial"),
        ({"weight": ("S(0)", "B")}, "2 signatures for a mesh of 1 axes"),
    ],
)
def test_mistakes_leave_the_model_as_it_was(plan: Any, words: str) -> None:
    def work(rank: int) -> None:
        model = nn.Linear(4, 4)
        with pytest.raises(ValueError, match=words):
            parallelize(model, placement("cpu", [0, 1]), plan)
        assert type(model.weight) is nn.Parameter

    run(2, work)
