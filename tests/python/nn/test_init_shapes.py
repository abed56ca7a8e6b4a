"""Starting values of every function for every shape: those of an empty tensor are none, and no arithmetic error."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.nn import init

FUNCTIONS = {name: f for name, f in inspect.getmembers(init, inspect.isfunction) if name.endswith("_")}
SHAPES = [
    (),
    (0,),
    (3,),
    (0, 0),
    (0, 4),
    (4, 0),
    (2, 3),
    (0, 2, 3),
    (2, 3, 0),
    (2, 0, 3),
    (2, 3, 2, 2),
    (1, 1),
    (0, 0, 0),
]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "constant_": [{"value": 2.0}],
    "xavier_uniform_": [{}, {"gain": 2.0}],
    "xavier_normal_": [{}, {"gain": 2.0}],
    "kaiming_uniform_": [{}, {"mode": "fan_out"}, {"a": 0.5, "nonlinearity": "relu"}],
    "kaiming_normal_": [{}, {"mode": "fan_out"}, {"a": 0.5, "nonlinearity": "relu"}],
}
BY_FANS = {"xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_"}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_shape(name: str, shape: tuple[int, ...]) -> None:
    for options in OPTIONS.get(name, [{}]):
        for dtype in ("float32", "float64", "float16", "bfloat16"):
            x = lm.full(shape, math.nan, dtype=dtype)
            if name in BY_FANS and len(shape) < 2:
                with pytest.raises(ValueError, match=r"\[init\].*at least two axes"):
                    FUNCTIONS[name](x, **options)
                continue
            assert FUNCTIONS[name](x, **options) is x
            assert x.shape == shape and np.isfinite(x.astype("float64").numpy()).all()


@pytest.mark.parametrize("name", sorted(BY_FANS))
def test_spread(name: str) -> None:
    """The standard deviation of many numbers is the formula's."""
    x = lm.zeros([300, 200])
    FUNCTIONS[name](x, generator=lm.Generator(seed=3))
    expected = math.sqrt(2 / (300 + 200)) if name.startswith("xavier") else math.sqrt(2 / 200)
    assert abs(x.std().item() / expected - 1) < 0.02
