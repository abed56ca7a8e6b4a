"""Steps of kinds of tensors that bring their own: a registry that is no part of the ordinary step."""

from __future__ import annotations

import copy

import pytest

import lamella as lm
from lamella.optim import _steps


class Counted(lm.nn.Parameter):
    """A parameter of which steps are counted."""


class Derived(Counted):
    """A parameter of a type derived from it."""


@pytest.fixture
def counted(monkeypatch):
    """The registry for one test, and the numbers of parameters of the steps that were counted."""
    monkeypatch.setattr(_steps, "_own", dict(_steps._own))
    monkeypatch.setattr(_steps, "step", lm._C._optimizer_step)
    calls = []

    def step(formula, parameters, *rest):
        calls.append(len(parameters))
        lm._C._optimizer_step(formula, parameters, *rest)

    assert _steps.step is lm._C._optimizer_step
    _steps.register_step(Counted, step)
    yield calls
    _steps._step_of.cache_clear()


MAKERS = [
    lambda p: lm.optim.SGD(p, lr=0.1),
    lambda p: lm.optim.SGD(p, lr=0.1, momentum=0.9),
    lambda p: lm.optim.AdamW(p, lr=0.1, weight_decay=0.1),
    lambda p: lm.optim.Lion(p, lr=0.1),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([lm.nn.Parameter], []),
        ([Counted, Derived], [2]),
        ([lm.nn.Parameter, Counted, lm.nn.Parameter, Derived], [2]),
    ],
)
def test_each_kind_is_moved_by_its_own_step(make, kinds, expected, counted, rng):
    starts = [lm.asarray(rng.normal(size=3)) for _ in kinds]
    ours = [kind(copy.deepcopy(x)) for kind, x in zip(kinds, starts, strict=True)]
    plain = [lm.nn.Parameter(copy.deepcopy(x)) for x in starts]
    steps = 3
    for parameters in (ours, plain):
        optimizer = make(parameters)
        for _ in range(steps):
            optimizer.zero_grad()
            sum((p * p).sum() for p in parameters).backward()
            optimizer.step()
    assert [p.tolist() for p in ours] == [p.tolist() for p in plain]
    assert counted == expected * steps


@pytest.mark.parametrize("kind", [int, lm.Tensor, 3])
def test_a_kind_is_a_subclass_of_tensor(kind, counted):
    with pytest.raises(TypeError, match="kind is a subclass of Tensor"):
        _steps.register_step(kind, lm._C._optimizer_step)
