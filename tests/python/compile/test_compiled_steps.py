"""Training steps with every optimizer and schedule, compiled and as they are."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import nn, optim

STEPS = 8
OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    **{
        name: lambda params, kind=kind: kind(params, lr=0.01)
        for name in optim.__all__
        if isinstance(kind := getattr(optim, name), type)
        and issubclass(kind, optim.Optimizer)
        and kind not in (optim.Optimizer, optim.LBFGS)
    },
    "momentum": lambda params: optim.SGD(params, lr=0.05, momentum=0.9, nesterov=True),
    "centered": lambda params: optim.RMSprop(params, centered=True, momentum=0.5, weight_decay=0.1),
}
SCHEDULES: dict[str, Callable[[optim.Optimizer], Any]] = {
    "step": lambda optimizer: optim.lr.StepLR(optimizer, 3),
    "one cycle": lambda optimizer: optim.lr.OneCycleLR(optimizer, 0.1, STEPS),
    "sequence": lambda optimizer: optim.lr.SequentialLR(
        optimizer, [optim.lr.LinearLR(optimizer), optim.lr.ExponentialLR(optimizer, 0.5)], [3]
    ),
    "swa": lambda optimizer: optim.swa_utils.SWALR(optimizer, 0.3, 4),
}


def network() -> nn.Module:
    lm.random.seed(2)
    return nn.Sequential(nn.Linear(4, 6, bias=False), nn.Tanh(), nn.Linear(6, 3, bias=False))


def trained(
    compiled: Callable[[Any], Any], make: Callable[[Any], Any], schedule_of: Callable[[Any], Any]
) -> tuple[Any, Any]:
    net = network()
    optimizer = make(net.parameters())
    schedule = schedule_of(optimizer)

    def step(x: lm.Tensor) -> lm.Tensor:
        loss = (net(x) ** 2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        schedule.step()
        return loss.detach()

    function = compiled(step)
    rng = np.random.default_rng(7)
    losses = [function(lm.asarray(rng.normal(size=(5, 4)))).item() for _ in range(STEPS)]
    return [losses, [p.tolist() for p in net.parameters()], schedule.get_last_lr()], function


def assert_same(found: Any, expected: Any) -> None:
    for a, b in zip(found, expected, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, 1e-5, 1e-7)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_optimizers(name: str) -> None:
    expected, _ = trained(lambda f: f, OPTIMIZERS[name], SCHEDULES["step"])
    found, function = trained(lm.compile, OPTIMIZERS[name], SCHEDULES["step"])
    assert_same(found, expected)
    explanation = lm.compile.explain(function)
    assert len(explanation.graphs) == 1 and not explanation.breaks, str(explanation)


@pytest.mark.parametrize("name", SCHEDULES)
def test_steps_of_schedules(name: str) -> None:
    expected, _ = trained(lambda f: f, OPTIMIZERS["momentum"], SCHEDULES[name])
    found, function = trained(lm.compile, OPTIMIZERS["momentum"], SCHEDULES[name])
    assert_same(found, expected)
    explanation = lm.compile.explain(function)
    assert len(explanation.graphs) == 1 and not explanation.breaks, str(explanation)


def quietly(compiled: Callable[..., Any], *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lm.CompileWarning)
        return compiled(*args)


def with_closure(net: nn.Module) -> Callable[[lm.Tensor], Any]:
    optimizer = optim.LBFGS(net.parameters(), max_iter=3, line_search_fn="strong_wolfe")

    def step(x: lm.Tensor) -> lm.Tensor:
        def closure() -> lm.Tensor:
            optimizer.zero_grad()
            loss = (net(x) ** 2).mean()
            loss.backward()
            return loss

        return optimizer.step(closure).detach()

    return step


def with_metric(net: nn.Module) -> Callable[[lm.Tensor], Any]:
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    schedule = optim.lr.ReduceLROnPlateau(optimizer, patience=1, threshold=0.5)

    def step(x: lm.Tensor) -> lm.Tensor:
        loss = (net(x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step(loss.detach())
        return loss.detach() * schedule.get_last_lr()[0]

    return step


def with_average(net: nn.Module) -> Callable[[lm.Tensor], Any]:
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    average = optim.swa_utils.AveragedModel(net, decay=0.5)

    def step(x: lm.Tensor) -> lm.Tensor:
        loss = (net(x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update_parameters(net)
        return average(x).sum().detach()

    return step


@pytest.mark.parametrize(("make", "graphs"), [(with_closure, 0), (with_metric, 0), (with_average, 1)])
def test_closures_and_metrics_run_as_they_are(
    make: Callable[[nn.Module], Callable[[lm.Tensor], Any]], graphs: int
) -> None:
    """And updates of averages are replayed as a whole, as steps are."""
    nets = [network(), network()]
    step, compiled = make(nets[0]), lm.compile(make(nets[1]))
    rng = np.random.default_rng(8)
    for _ in range(STEPS):
        x = lm.asarray(rng.normal(size=(5, 4)))
        np.testing.assert_allclose(quietly(compiled, copy.copy(x)).item(), step(x).item(), 1e-5)
    assert len(lm.compile.explain(compiled).graphs) == graphs
    for a, b in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        np.testing.assert_allclose(a.tolist(), b.tolist(), 1e-5, 1e-7)
